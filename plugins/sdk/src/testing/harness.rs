//! The harness, which replaces the host of a provider under test.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use wardian_value::{Path, PathStep, Type, Value};

use super::config::Config;
use super::{contract, proposed};
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::provider::WithSchema;
use crate::service::Service;
use crate::{DeferredReason, Diagnostic, Diagnostics, FunctionError, Object, Severity, codec};

/// A provider under test; see the [module](super) documentation.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use wardian_sdk::{Context, Provider, Resource, Result, Schema};
/// # use wardian_sdk::testing::{ProviderHarness, hcl, json};
/// # #[derive(Serialize, Deserialize, Schema)]
/// # struct Server {
/// #     #[attr(force_new)]
/// #     name: String,
/// #     #[attr(computed)]
/// #     id: Option<String>,
/// # }
/// # struct Servers;
/// # impl Resource for Servers {
/// #     type State = Server;
/// #     fn schema(&self) -> Schema { Schema::for_type::<Server>() }
/// #     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
/// #         Ok(Server { id: Some(format!("srv-{}", plan.name)), ..plan })
/// #     }
/// # }
/// # let harness = ProviderHarness::new(Provider::new("cloud").resource("cloud_server", Servers));
/// let state = harness.create("cloud_server", hcl("name = \"web\""))?;
/// assert_eq!(state.get::<String>("id"), "srv-web");
/// assert!(harness.read("cloud_server", &state)?.is_some());
/// # Ok::<(), wardian_sdk::testing::HarnessError>(())
/// ```
pub struct ProviderHarness {
    pub(super) service: Service,
    pub(super) capabilities: types::ClientCapabilities,
}

/// An object in the form in which a host stores it.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use wardian_sdk::{Context, Provider, Resource, Result, Schema};
/// # use wardian_sdk::testing::{ProviderHarness, hcl, json};
/// # #[derive(Serialize, Deserialize, Schema)]
/// # struct Server {
/// #     #[attr(force_new)]
/// #     name: String,
/// #     #[attr(computed)]
/// #     id: Option<String>,
/// # }
/// # struct Servers;
/// # impl Resource for Servers {
/// #     type State = Server;
/// #     fn schema(&self) -> Schema { Schema::for_type::<Server>() }
/// #     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
/// #         Ok(Server { id: Some(format!("srv-{}", plan.name)), ..plan })
/// #     }
/// # }
/// # let harness = ProviderHarness::new(Provider::new("cloud").resource("cloud_server", Servers));
/// let state = harness.create("cloud_server", json!({ "name": "web" }))?;
/// assert_eq!(state.get::<String>("id"), "srv-web");
/// assert!(state.private().is_empty() && state.warnings.is_empty());
/// # Ok::<(), wardian_sdk::testing::HarnessError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    object: Object,
    private: Vec<u8>,
    identity: Option<Vec<u8>>,
    /// Warnings of the operation that returned the object.
    pub warnings: Diagnostics,
    /// Set if the operation is deferred to a later run.
    pub deferred: Option<DeferredReason>,
}

impl State {
    /// Decodes an attribute as a Rust type.
    ///
    /// # Panics
    ///
    /// Panics if the attribute does not have that type.
    #[track_caller]
    #[expect(clippy::panic, reason = "fails the calling test")]
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> T {
        match self.object.get(name) {
            Ok(value) => value,
            Err(errors) => panic!("{errors}"),
        }
    }

    /// Returns the object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Returns the private data.
    pub fn private(&self) -> &[u8] {
        &self.private
    }
}

/// The action of a plan.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use wardian_sdk::{Context, Provider, Resource, Result, Schema};
/// # use wardian_sdk::testing::{ProviderHarness, hcl, json};
/// # #[derive(Serialize, Deserialize, Schema)]
/// # struct Server {
/// #     #[attr(force_new)]
/// #     name: String,
/// #     #[attr(computed)]
/// #     id: Option<String>,
/// # }
/// # struct Servers;
/// # impl Resource for Servers {
/// #     type State = Server;
/// #     fn schema(&self) -> Schema { Schema::for_type::<Server>() }
/// #     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
/// #         Ok(Server { id: Some(format!("srv-{}", plan.name)), ..plan })
/// #     }
/// # }
/// # let harness = ProviderHarness::new(Provider::new("cloud").resource("cloud_server", Servers));
/// use wardian_sdk::testing::PlannedAction;
///
/// let state = harness.create("cloud_server", json!({ "name": "web" }))?;
/// let plan = harness.plan("cloud_server", Some(&state), json!({ "name": "db" }))?;
/// assert_eq!(plan.action, PlannedAction::Replace);
/// # Ok::<(), wardian_sdk::testing::HarnessError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedAction {
    /// No action: the object matches the configuration.
    NoOp,
    /// Create the object.
    Create,
    /// Change the object in place.
    Update,
    /// Destroy the object and create a new one.
    Replace,
    /// Destroy the object.
    Delete,
}

/// A plan, which the harness can apply.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use wardian_sdk::{Context, Provider, Resource, Result, Schema};
/// # use wardian_sdk::testing::{ProviderHarness, hcl, json};
/// # #[derive(Serialize, Deserialize, Schema)]
/// # struct Server {
/// #     #[attr(force_new)]
/// #     name: String,
/// #     #[attr(computed)]
/// #     id: Option<String>,
/// # }
/// # struct Servers;
/// # impl Resource for Servers {
/// #     type State = Server;
/// #     fn schema(&self) -> Schema { Schema::for_type::<Server>() }
/// #     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
/// #         Ok(Server { id: Some(format!("srv-{}", plan.name)), ..plan })
/// #     }
/// # }
/// # let harness = ProviderHarness::new(Provider::new("cloud").resource("cloud_server", Servers));
/// let plan = harness.plan("cloud_server", None, json!({ "name": "web" }))?;
/// assert!(plan.object.as_ref().unwrap().is_unknown("id"));
/// let state = harness.apply(&plan)?.unwrap();
/// assert_eq!(state.get::<String>("id"), "srv-web");
/// # Ok::<(), wardian_sdk::testing::HarnessError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Planned {
    /// The planned action.
    pub action: PlannedAction,
    /// The planned object; `None` for a destroy.
    pub object: Option<Object>,
    /// The paths whose change replaces the object.
    pub requires_replace: Vec<Path>,
    /// Warnings of the plan.
    pub warnings: Diagnostics,
    /// Set if the change is deferred to a later run. Such a plan is not applied.
    pub deferred: Option<DeferredReason>,
    type_name: String,
    config: Value,
    prior: Option<State>,
    private: Vec<u8>,
    identity: Option<Vec<u8>>,
}

/// The data that a data source has read. It dereferences to the object.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use wardian_sdk::{Context, DataSource, Provider, Result, Schema};
/// # use wardian_sdk::testing::{ProviderHarness, json};
/// # #[derive(Serialize, Deserialize, Schema)]
/// # struct Zone { name: String, #[attr(computed)] region: Option<String> }
/// # struct Zones;
/// # impl DataSource for Zones {
/// #     type State = Zone;
/// #     fn schema(&self) -> Schema { Schema::for_type::<Zone>() }
/// #     fn read(&self, config: Zone, _: &mut Context<'_>) -> Result<Zone> {
/// #         Ok(Zone { region: Some("north".to_owned()), ..config })
/// #     }
/// # }
/// # let harness = ProviderHarness::new(Provider::new("cloud").data_source("cloud_zone", Zones));
/// let zone = harness.read_data_source("cloud_zone", json!({ "name": "a" }))?;
/// assert_eq!(zone.get::<String>("region").unwrap(), "north");
/// assert!(zone.warnings.is_empty());
/// # Ok::<(), wardian_sdk::testing::HarnessError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DataRead {
    /// The attributes of the data source.
    pub object: Object,
    /// Warnings of the read.
    pub warnings: Diagnostics,
    /// Set if the read is deferred to a later run.
    pub deferred: Option<DeferredReason>,
}

impl std::ops::Deref for DataRead {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.object
    }
}

/// The failure of an operation.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use wardian_sdk::{Context, Provider, Resource, Result, Schema};
/// # use wardian_sdk::testing::{ProviderHarness, hcl, json};
/// # #[derive(Serialize, Deserialize, Schema)]
/// # struct Server {
/// #     #[attr(force_new)]
/// #     name: String,
/// #     #[attr(computed)]
/// #     id: Option<String>,
/// # }
/// # struct Servers;
/// # impl Resource for Servers {
/// #     type State = Server;
/// #     fn schema(&self) -> Schema { Schema::for_type::<Server>() }
/// #     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
/// #         Ok(Server { id: Some(format!("srv-{}", plan.name)), ..plan })
/// #     }
/// # }
/// # let harness = ProviderHarness::new(Provider::new("cloud").resource("cloud_server", Servers));
/// let failed = harness.create("cloud_server", json!({})).unwrap_err();
/// failed.assert_at("name", "must be set");
/// assert!(failed.state.is_none());
/// ```
#[derive(Clone, PartialEq)]
pub struct HarnessError {
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
    /// The object that a host would store: the saved partial state, or else the prior state.
    pub state: Option<State>,
}

impl fmt::Debug for HarnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.diagnostics)
    }
}

impl From<Diagnostics> for HarnessError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self { diagnostics, state: None }
    }
}

const CLIENT: types::ClientCapabilities =
    types::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true };

impl ProviderHarness {
    /// Creates a harness for a provider.
    pub fn new(provider: impl Into<Service>) -> Self {
        Self { service: provider.into(), capabilities: CLIENT }
    }

    /// Allows the provider to defer changes.
    ///
    /// ```
    /// use wardian_sdk::Provider;
    /// use wardian_sdk::testing::ProviderHarness;
    ///
    /// let harness = ProviderHarness::new(Provider::new("cloud")).allowing_deferral();
    /// ```
    #[must_use]
    pub fn allowing_deferral(mut self) -> Self {
        self.capabilities.deferral_allowed = true;
        self
    }

    /// Returns the identity of an object, if its resource type has one and the provider has set it.
    pub fn identity(&self, type_name: &str, state: &State) -> Result<Option<Object>, HarnessError> {
        let Some(ty) = self.resource(type_name)?.part.identity().map(|schema| schema.ty()) else {
            return Ok(None);
        };
        let Some(bytes) = &state.identity else { return Ok(None) };
        Ok(Some(Object::new(decode(bytes, &ty)?, ty)))
    }

    /// Validates and applies the provider's configuration.
    pub fn configure(&self, config: impl Into<Config>) -> Result<(), HarnessError> {
        let (bytes, _) = config_bytes(&self.service.parts.schema, &config.into())?;
        passed(self.service.validate_provider_config(&bytes))?;
        let request = protocol::ConfigureProviderRequest {
            terraform_version: "1.14.0".into(),
            config: bytes,
            client_capabilities: self.capabilities,
        };
        passed(self.service.configure_provider(&request)).map(drop)
    }

    /// Validates a resource's configuration and returns all diagnostics.
    pub fn validate(&self, type_name: &str, config: impl Into<Config>) -> Diagnostics {
        let checked = self.resource(type_name).and_then(|resource| {
            let (config, _) = config_bytes(resource, &config.into())?;
            Ok(self.service.validate_resource(&validation(type_name, config)))
        });
        checked.map_or_else(|failed| failed.diagnostics, diagnostics)
    }

    /// Plans a configuration. Without a prior state, plans the creation of an object.
    pub fn plan(
        &self,
        type_name: &str,
        prior: Option<&State>,
        config: impl Into<Config>,
    ) -> Result<Planned, HarnessError> {
        let resource = self.resource(type_name)?;
        let (bytes, config) = config_bytes(resource, &config.into())?;
        passed(self.service.validate_resource(&validation(type_name, bytes)))?;
        let first = self.plan_once(type_name, prior, config.clone())?;
        if first.action != PlannedAction::Replace {
            return Ok(first);
        }
        let again = self.plan_once(type_name, None, config)?;
        Ok(Planned {
            action: PlannedAction::Replace,
            requires_replace: first.requires_replace,
            prior: first.prior,
            ..again
        })
    }

    /// Plans the destruction of an object.
    pub fn plan_destroy(&self, type_name: &str, prior: &State) -> Result<Planned, HarnessError> {
        let resource = self.resource(type_name)?;
        self.plan_once(type_name, Some(prior), Value::null(resource.ty().clone()))
    }

    fn plan_once(
        &self,
        type_name: &str,
        prior: Option<&State>,
        config: Value,
    ) -> Result<Planned, HarnessError> {
        let resource = self.resource(type_name)?;
        let ty = resource.ty();
        let schema = resource.schema();
        let prior_value =
            prior.map_or_else(|| Value::null(ty.clone()), |state| state.object.as_value().clone());
        let proposed = if config.is_null() {
            config.clone()
        } else {
            proposed::proposed_new(&schema.root, &prior_value, &config)
        };
        let response = self.service.plan_resource(&protocol::PlanResourceChangeRequest {
            type_name: type_name.to_owned(),
            prior_state: encode(&prior_value, ty)?,
            proposed_new_state: encode(&proposed, ty)?,
            config: encode(&config, ty)?,
            prior_private: prior.map(|state| state.private.clone()).unwrap_or_default(),
            provider_meta: Vec::new(),
            client_capabilities: self.capabilities,
            prior_identity: prior.and_then(|state| state.identity.clone()),
        });
        let warnings = passed(response.diagnostics)?;
        let planned = decode(&response.planned_state, ty)?;
        if !config.is_null() {
            contract::plan_honours(schema, &config, &prior_value, &planned)?;
        }
        let requires_replace: Vec<Path> = response
            .requires_replace
            .iter()
            .map(|steps| path(steps))
            .filter(|path| !prior_value.is_null() && path.apply(&prior_value) != path.apply(&planned))
            .collect();
        let action = match (prior_value.is_null(), planned.is_null()) {
            (true, true) => PlannedAction::NoOp,
            (true, false) => PlannedAction::Create,
            (false, true) => PlannedAction::Delete,
            _ if planned == prior_value => PlannedAction::NoOp,
            _ if requires_replace.is_empty() => PlannedAction::Update,
            _ => PlannedAction::Replace,
        };
        Ok(Planned {
            action,
            object: (!planned.is_null()).then(|| Object::new(planned, ty.clone())),
            requires_replace,
            warnings,
            deferred: response.deferred.map(deferred_reason),
            type_name: type_name.to_owned(),
            config,
            prior: prior.cloned(),
            private: response.planned_private,
            identity: response.planned_identity,
        })
    }

    /// Applies a plan. Returns `None` if the object is destroyed.
    pub fn apply(&self, plan: &Planned) -> Result<Option<State>, HarnessError> {
        if plan.deferred.is_some() {
            return Err(
                Diagnostics::error("Deferred change", "A host does not apply a deferred change.").into()
            );
        }
        match plan.action {
            PlannedAction::NoOp => Ok(plan.prior.clone()),
            PlannedAction::Replace => {
                if let Some(prior) = &plan.prior {
                    self.delete(&plan.type_name, prior)?;
                }
                self.apply_once(plan, None)
            }
            _ => self.apply_once(plan, plan.prior.as_ref()),
        }
    }

    fn apply_once(&self, plan: &Planned, prior: Option<&State>) -> Result<Option<State>, HarnessError> {
        let resource = self.resource(&plan.type_name)?;
        let ty = resource.ty();
        let planned =
            plan.object.as_ref().map_or_else(|| Value::null(ty.clone()), |object| object.as_value().clone());
        let prior_value =
            prior.map_or_else(|| Value::null(ty.clone()), |state| state.object.as_value().clone());
        let response = self.service.apply_resource(&protocol::ApplyResourceChangeRequest {
            type_name: plan.type_name.clone(),
            prior_state: encode(&prior_value, ty)?,
            planned_state: encode(&planned, ty)?,
            config: encode(&plan.config, ty)?,
            planned_private: plan.private.clone(),
            provider_meta: Vec::new(),
            planned_identity: plan.identity.clone(),
        });
        let new = decode(&response.new_state, ty)?;
        let diagnostics = diagnostics(response.diagnostics);
        let state = (!new.is_null()).then(|| State {
            object: Object::new(new.clone(), ty.clone()),
            private: response.private,
            identity: response.new_identity,
            warnings: diagnostics.clone(),
            deferred: None,
        });
        if diagnostics.has_errors() {
            return Err(HarnessError { diagnostics, state });
        }
        contract::apply_honours(&planned, &new)?;
        contract::has_id(&planned, &new)?;
        Ok(state)
    }

    /// Plans and applies the creation of an object.
    pub fn create(&self, type_name: &str, config: impl Into<Config>) -> Result<State, HarnessError> {
        let plan = self.plan(type_name, None, config)?;
        self.apply(&plan)?.ok_or_else(|| Diagnostics::error("No object was created", "").into())
    }

    /// Plans and applies a change to an object, in place or by replacement.
    pub fn update(
        &self,
        type_name: &str,
        prior: &State,
        config: impl Into<Config>,
    ) -> Result<State, HarnessError> {
        let plan = self.plan(type_name, Some(prior), config)?;
        self.apply(&plan)?.ok_or_else(|| Diagnostics::error("The object no longer exists", "").into())
    }

    /// Plans and applies the destruction of an object.
    pub fn delete(&self, type_name: &str, prior: &State) -> Result<(), HarnessError> {
        let plan = self.plan_destroy(type_name, prior)?;
        self.apply(&plan).map(drop)
    }

    /// Reads an object; `None` if it no longer exists.
    pub fn read(&self, type_name: &str, state: &State) -> Result<Option<State>, HarnessError> {
        let resource = self.resource(type_name)?;
        let ty = resource.ty();
        let response = self.service.read_resource(&protocol::ReadResourceRequest {
            type_name: type_name.to_owned(),
            current_state: encode(state.object.as_value(), ty)?,
            private: state.private.clone(),
            provider_meta: Vec::new(),
            client_capabilities: self.capabilities,
            current_identity: state.identity.clone(),
        });
        let warnings = passed(response.diagnostics)?;
        let read = decode(&response.new_state, ty)?;
        Ok((!read.is_null()).then(|| State {
            object: Object::new(read, ty.clone()),
            private: response.private,
            identity: response.new_identity,
            warnings,
            deferred: response.deferred.map(deferred_reason),
        }))
    }

    /// Imports an object with an identifier, and reads it.
    pub fn import(&self, type_name: &str, id: &str) -> Result<State, HarnessError> {
        self.import_target(type_name, protocol::ImportTarget::Id(id.to_owned()), id)
    }

    /// Imports an object with an identity, and reads it.
    pub fn import_by_identity(&self, type_name: &str, identity: &Json) -> Result<State, HarnessError> {
        let schema = self.resource(type_name)?.part.identity();
        let schema = schema.ok_or_else(|| Diagnostics::error("No identity", type_name))?;
        let ty = schema.ty();
        let bytes = encode(&crate::stored::from_json(identity, &ty)?, &ty)?;
        self.import_target(type_name, protocol::ImportTarget::Identity(bytes), &identity.to_string())
    }

    fn import_target(
        &self,
        type_name: &str,
        target: protocol::ImportTarget,
        shown: &str,
    ) -> Result<State, HarnessError> {
        let resource = self.resource(type_name)?;
        let ty = resource.ty();
        let mut response = self.service.import_resource(&protocol::ImportResourceStateRequest {
            type_name: type_name.to_owned(),
            target,
            client_capabilities: self.capabilities,
        });
        let warnings = passed(response.diagnostics)?;
        let Some(imported) = response.imported_resources.pop() else {
            return Err(Diagnostics::error("Import returned no resources", "").into());
        };
        let state = State {
            object: Object::new(decode(&imported.state, ty)?, ty.clone()),
            private: imported.private,
            identity: imported.identity,
            warnings,
            deferred: response.deferred.map(deferred_reason),
        };
        if state.deferred.is_some() {
            return Ok(state);
        }
        self.read(type_name, &state)?
            .ok_or_else(|| Diagnostics::error("Cannot import non-existent remote object", shown).into())
    }

    /// Loads an object from a state: JSON that was stored with this schema version.
    pub fn load_state(&self, type_name: &str, version: i64, json: &Json) -> Result<State, HarnessError> {
        let resource = self.resource(type_name)?;
        let ty = resource.ty();
        let response = self.service.upgrade_state(&protocol::UpgradeResourceStateRequest {
            type_name: type_name.to_owned(),
            version,
            raw_state: types::RawState::Json(json.to_string().into_bytes()),
        });
        let warnings = passed(response.diagnostics)?;
        let object = Object::new(decode(&response.upgraded_state, ty)?, ty.clone());
        Ok(State { object, private: Vec::new(), identity: None, warnings, deferred: None })
    }

    /// Validates and reads a data source.
    pub fn read_data_source(
        &self,
        type_name: &str,
        config: impl Into<Config>,
    ) -> Result<DataRead, HarnessError> {
        let source = self.service.parts.data_sources.get(type_name);
        let source = source.ok_or_else(|| Diagnostics::error("Unknown data source", type_name))?;
        let (config, _) = config_bytes(source, &config.into())?;
        passed(self.service.validate_data_source(&validation(type_name, config.clone())))?;
        let response = self.service.read_data_source(&protocol::ReadDataSourceRequest {
            type_name: type_name.to_owned(),
            config,
            provider_meta: Vec::new(),
            client_capabilities: self.capabilities,
        });
        let warnings = passed(response.diagnostics)?;
        let object = Object::new(decode(&response.state, source.ty())?, source.ty().clone());
        Ok(DataRead { object, warnings, deferred: response.deferred.map(deferred_reason) })
    }

    /// Calls a function.
    pub fn call_function(&self, name: &str, arguments: &[Value]) -> Result<Value, FunctionError> {
        let Some(function) = self.service.parts.functions.get(name) else {
            return Err(FunctionError::new("unknown function"));
        };
        let signature = &function.signature;
        let parameters = signature.parameters.iter().chain(signature.variadic.iter().cycle());
        let encoded = arguments
            .iter()
            .zip(parameters)
            .map(|(argument, parameter)| codec::encode(argument, &parameter.ty).map_err(FunctionError::new))
            .collect::<Result<Vec<_>, _>>()?;
        let answer = self
            .service
            .call_function(name, &encoded)
            .map_err(|error| FunctionError { text: error.text, argument: error.function_argument })?;
        codec::decode(&answer, &signature.returns).map_err(FunctionError::new)
    }

    pub(super) fn resource(
        &self,
        type_name: &str,
    ) -> Result<&WithSchema<dyn crate::resource::AnyResource>, HarnessError> {
        let resource = self.service.parts.resources.get(type_name);
        Ok(resource.ok_or_else(|| Diagnostics::error("Unknown resource", type_name))?)
    }
}

pub(super) fn config_bytes<T: ?Sized>(
    part: &WithSchema<T>,
    config: &Config,
) -> Result<(Vec<u8>, Value), HarnessError> {
    let value = config.value(part.schema())?;
    Ok((encode(&value, part.ty())?, value))
}

pub(super) fn validation(type_name: &str, config: Vec<u8>) -> protocol::ValidateConfigRequest {
    protocol::ValidateConfigRequest { type_name: type_name.to_owned(), config, client_capabilities: CLIENT }
}

pub(super) fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, Diagnostics> {
    codec::encode(value, ty).map_err(|error| Diagnostics::error("Value does not match the schema", error))
}

pub(super) fn decode(bytes: &[u8], ty: &Type) -> Result<Value, Diagnostics> {
    codec::decode(bytes, ty).map_err(|error| Diagnostics::error("Response does not match the schema", error))
}

/// Returns the warnings if there are no errors, and otherwise an error.
pub(super) fn passed(records: Vec<types::Diagnostic>) -> Result<Diagnostics, HarnessError> {
    let diagnostics = diagnostics(records);
    if diagnostics.has_errors() { Err(diagnostics.into()) } else { Ok(diagnostics) }
}

pub(super) fn diagnostics(records: Vec<types::Diagnostic>) -> Diagnostics {
    records
        .into_iter()
        .map(|record| Diagnostic {
            severity: match record.severity {
                types::Severity::Error => Severity::Error,
                types::Severity::Warning => Severity::Warning,
            },
            summary: record.summary,
            detail: record.detail,
            path: record.attribute.as_deref().map(path),
        })
        .collect()
}

pub(super) fn deferred_reason(reason: types::DeferredReason) -> DeferredReason {
    match reason {
        types::DeferredReason::Unknown => DeferredReason::Unknown,
        types::DeferredReason::ResourceConfigUnknown => DeferredReason::ResourceConfigUnknown,
        types::DeferredReason::ProviderConfigUnknown => DeferredReason::ProviderConfigUnknown,
        types::DeferredReason::AbsentPrerequisite => DeferredReason::AbsentPrerequisite,
    }
}

fn path(steps: &[types::PathStep]) -> Path {
    steps
        .iter()
        .map(|step| match step {
            types::PathStep::AttributeName(name) => PathStep::Attribute(name.as_str().into()),
            types::PathStep::ElementKeyString(key) => PathStep::Key(key.as_str().into()),
            types::PathStep::ElementKeyInt(index) => PathStep::Index(u64::try_from(*index).unwrap_or(0)),
        })
        .collect::<Vec<_>>()
        .into()
}
