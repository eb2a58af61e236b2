//! Managed resources: types whose objects a provider creates, changes and destroys.

use wardian_value::{Path, Type, Value};

use crate::context::Call;
use crate::import::Import;
use crate::model::{Convert, Unknowns};
use crate::upgrade::{MoveSource, StateUpgrader};
use crate::{Context, Diagnostics, IdentitySchema, Model, ModelError, Object, Result, Schema};

/// A managed resource type.
///
/// Only [`Resource::schema`] and [`Resource::create`] are mandatory. A resource whose objects can
/// be changed in place also implements [`Update`] and is registered with
/// [`crate::Provider::updatable_resource`]; in all other resources, every configurable attribute
/// must be `force_new`, which [`crate::assert_valid_provider`] checks.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::{Context, Resource, Result, Schema};
///
/// #[derive(Serialize, Deserialize, Schema)]
/// struct Server {
///     #[attr(force_new)]
///     name: String,
///     #[attr(computed, use_state_for_unknown)]
///     id: Option<String>,
/// }
///
/// struct Servers;
///
/// impl Resource for Servers {
///     type State = Server;
///
///     fn schema(&self) -> Schema {
///         Schema::for_type::<Server>()
///     }
///
///     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
///         Ok(Server { id: Some(format!("srv-{}", plan.name)), ..plan })
///     }
///
///     fn delete(&self, state: Server, _: &mut Context<'_>) -> Result<()> {
///         wardian_sdk::log::info(&format!("deleting {}", state.name));
///         Ok(())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource type of a provider whose client is `{Client}`",
    label = "does not implement `Resource<{Client}>`",
    note = "implement `Resource<{Client}>`: all types of a provider have the client that `Provider::with_config` creates"
)]
pub trait Resource<Client: 'static = ()>: 'static {
    /// The Rust type of an object: a struct with a field for each attribute and block. Use
    /// `Option<T>` for a value that can be null. In `create` and `update`, a value that the
    /// operation must still compute is also `None`. Use [`Object`] if the schema is built at run
    /// time.
    type State: Model;

    /// Returns the schema of the resource.
    fn schema(&self) -> Schema;

    /// Checks a configuration in addition to the validators of the attributes. The check must
    /// accept unknown values. An `Err` may contain only warnings.
    fn validate(&self, config: &Object) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Changes a plan after defaults, unknown values and the attributes' plan modifiers have been
    /// applied. This method is also called for a destroy.
    fn modify_plan(&self, plan: &mut Plan, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = (plan, context);
        Ok(())
    }

    /// Creates the planned object and returns its new state.
    fn create(&self, plan: Self::State, context: &mut Context<'_, Client>) -> Result<Self::State>;

    /// Returns the current state of the object; `None` if it no longer exists. By default, returns
    /// the stored state.
    fn read(&self, state: Self::State, context: &mut Context<'_, Client>) -> Result<Option<Self::State>> {
        let _ = context;
        Ok(Some(state))
    }

    /// Deletes an object. Does nothing by default.
    fn delete(&self, state: Self::State, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = (state, context);
        Ok(())
    }

    /// Finds the existing object that [`Import`] identifies. A read then determines the attributes
    /// that are null.
    fn import(&self, import: &mut Import, context: &mut Context<'_, Client>) -> Result<()> {
        let _ = context;
        Err(import.not_supported())
    }

    /// Returns the upgraders of stored states, one for each earlier schema version. Each upgrader
    /// converts to the current version.
    fn state_upgraders(&self) -> Vec<StateUpgrader> {
        Vec::new()
    }

    /// Converts an object of another resource type to an object of this type. Returns `None` if the
    /// source type is not supported.
    fn move_state(&self, source: &MoveSource) -> Result<Option<Self::State>> {
        let _ = source;
        Ok(None)
    }

    /// Returns the identity schema.
    fn identity(&self) -> Option<IdentitySchema> {
        None
    }
}

/// A resource whose objects can be changed in place.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use wardian_sdk::{Context, Resource, Result, Schema, Update};
/// # #[derive(Serialize, Deserialize, Schema)]
/// # struct Server { size: i64 }
/// # struct Servers;
/// # impl Resource for Servers {
/// #     type State = Server;
/// #     fn schema(&self) -> Schema { Schema::for_type::<Server>() }
/// #     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> { Ok(plan) }
/// # }
/// impl Update for Servers {
///     fn update(&self, prior: Server, plan: Server, context: &mut Context<'_>) -> Result<Server> {
///         if plan.size < prior.size {
///             context.warn("Server is smaller", "Its disk was reduced.");
///         }
///         Ok(plan)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "objects of `{Self}` cannot be changed in place",
    label = "does not implement `Update<{Client}>`",
    note = "implement `Update<{Client}>`, or register the type with `Provider::resource` and make its attributes `force_new`"
)]
pub trait Update<Client: 'static = ()>: Resource<Client> {
    /// Changes an object as planned and returns its new state.
    fn update(
        &self,
        prior: Self::State,
        plan: Self::State,
        context: &mut Context<'_, Client>,
    ) -> Result<Self::State>;
}

/// The plan of an object, which a resource can modify.
///
/// ```
/// use wardian_sdk::{Context, Plan, Result};
///
/// fn modify_plan(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
///     if plan.is_destroy() {
///         context.warn("Server is destroyed", "Its disks are deleted too.");
///     } else if plan.is_update() && plan.is_changed("size") && let Some(planned) = plan.planned_mut() {
///         planned.set_unknown("address")?;
///     }
///     Ok(())
/// }
/// ```
pub struct Plan {
    pub(crate) config: Option<Object>,
    pub(crate) prior: Option<Object>,
    pub(crate) planned: Option<Object>,
    pub(crate) requires_replace: Vec<Path>,
}

impl Plan {
    /// Returns the configuration; `None` for a destroy.
    pub fn config(&self) -> Option<&Object> {
        self.config.as_ref()
    }

    /// Returns the prior state; `None` for a create.
    pub fn prior(&self) -> Option<&Object> {
        self.prior.as_ref()
    }

    /// Returns the planned state; `None` for a destroy.
    pub fn planned(&self) -> Option<&Object> {
        self.planned.as_ref()
    }

    /// Returns the planned state for modification; `None` for a destroy.
    pub fn planned_mut(&mut self) -> Option<&mut Object> {
        self.planned.as_mut()
    }

    /// Returns whether the plan creates the object.
    pub fn is_create(&self) -> bool {
        self.prior.is_none()
    }

    /// Returns whether the plan destroys the object.
    pub fn is_destroy(&self) -> bool {
        self.planned.is_none()
    }

    /// Returns whether the object exists and is not destroyed, even if it is not changed.
    pub fn is_update(&self) -> bool {
        self.prior.is_some() && self.planned.is_some()
    }

    /// Returns whether the planned value of an existing object's attribute differs from the
    /// prior value.
    pub fn is_changed(&self, name: &str) -> bool {
        match (&self.prior, &self.planned) {
            (Some(prior), Some(planned)) => prior.value(name) != planned.value(name),
            _ => false,
        }
    }

    /// Requires that a change to this attribute replaces the object.
    pub fn require_replace(&mut self, name: &str) {
        self.require_replace_at(Path::root().attribute(name));
    }

    /// Requires that a change at this path replaces the object.
    pub fn require_replace_at(&mut self, path: Path) {
        self.requires_replace.push(path);
    }
}

/// A resource type, with its Rust types erased.
pub(crate) trait AnyResource {
    fn schema(&self) -> Schema;
    fn state_fields(&self) -> Option<&'static [&'static str]>;
    fn is_untyped(&self) -> bool;
    fn decode_error(&self, state: &Value, ty: &Type) -> Option<ModelError>;
    fn can_update(&self) -> bool;
    fn identity(&self) -> Option<IdentitySchema>;
    fn state_upgraders(&self) -> Vec<StateUpgrader>;
    fn validate(&self, config: &Object) -> Result<()>;
    fn modify_plan(&self, plan: &mut Plan, call: &mut Call) -> Result<()>;
    fn create(&self, planned: &Value, call: &mut Call) -> Result<Value>;
    fn read(&self, state: &Value, call: &mut Call) -> Result<Option<Value>>;
    fn update(&self, prior: &Value, planned: &Value, call: &mut Call) -> Result<Value>;
    fn delete(&self, state: &Value, call: &mut Call) -> Result<()>;
    fn import(&self, import: &mut Import, call: &mut Call) -> Result<()>;
    fn move_state(&self, source: &MoveSource, call: &Call) -> Result<Option<Value>>;
}

type UpdateOperation<R, Client> = fn(
    &R,
    <R as Resource<Client>>::State,
    <R as Resource<Client>>::State,
    &mut Context<'_, Client>,
) -> Result<<R as Resource<Client>>::State>;

pub(crate) struct TypedResource<R: Resource<Client>, Client: 'static> {
    resource: R,
    update: Option<UpdateOperation<R, Client>>,
}

impl<R: Resource<Client>, Client: 'static> TypedResource<R, Client> {
    pub(crate) fn new(resource: R) -> Self {
        Self { resource, update: None }
    }

    fn stored(&self, state: &Value, ty: &Type) -> Result<R::State> {
        stored_state(state, ty, || self.resource.schema().version_number())
    }
}

impl<R: Update<Client>, Client: 'static> TypedResource<R, Client> {
    pub(crate) fn updatable(resource: R) -> Self {
        Self { resource, update: Some(R::update) }
    }
}

fn planned_state<T: Model>(value: &Value, ty: &Type) -> Result<T> {
    T::decode_value(value, ty, Unknowns::AsNone)
        .map_err(|error| error.into_diagnostic("Plan does not match the provider's type").into())
}

/// Decodes a stored state. `version` returns the version of the schema, which the host has compared
/// with the version of the stored state.
fn stored_state<T: Model>(value: &Value, ty: &Type, version: impl FnOnce() -> i64) -> Result<T> {
    T::decode_value(value, ty, Unknowns::Reject).map_err(|error| {
        let mut diagnostic = error.into_diagnostic("State does not match the provider's type");
        let version = version();
        let remedy = format!(
            "\n\nThe state has schema version {version}. This is a mistake in the provider: if the attribute was \
             added to the schema or changed, its author must increase the version and add a StateUpgrader; if \
             old or imported states can contain null, the field must be an Option; an import must set such \
             fields, for example with Import::with_key."
        );
        diagnostic.detail.push_str(&remedy);
        diagnostic.into()
    })
}

fn answer<T: Model>(state: &T, call: &Call) -> Result<Value> {
    state
        .encode_value(&call.state_type)
        .map_err(|error| error.into_diagnostic("Provider response does not match its schema").into())
}

impl<R: Resource<Client>, Client: 'static> AnyResource for TypedResource<R, Client> {
    fn schema(&self) -> Schema {
        self.resource.schema()
    }

    fn state_fields(&self) -> Option<&'static [&'static str]> {
        R::State::fields()
    }

    fn is_untyped(&self) -> bool {
        R::State::IS_UNTYPED
    }

    fn decode_error(&self, state: &Value, ty: &Type) -> Option<ModelError> {
        R::State::decode_value(state, ty, Unknowns::Reject).err()
    }

    fn can_update(&self) -> bool {
        self.update.is_some()
    }

    fn identity(&self) -> Option<IdentitySchema> {
        self.resource.identity()
    }

    fn state_upgraders(&self) -> Vec<StateUpgrader> {
        self.resource.state_upgraders()
    }

    fn validate(&self, config: &Object) -> Result<()> {
        self.resource.validate(config)
    }

    fn modify_plan(&self, plan: &mut Plan, call: &mut Call) -> Result<()> {
        Context::run(call, |context| self.resource.modify_plan(plan, context))
    }

    fn create(&self, planned: &Value, call: &mut Call) -> Result<Value> {
        let plan = planned_state(planned, &call.state_type)?;
        let state = Context::run(call, |context| self.resource.create(plan, context))?;
        answer(&state, call)
    }

    fn read(&self, state: &Value, call: &mut Call) -> Result<Option<Value>> {
        let state = self.stored(state, &call.state_type)?;
        let state = Context::run(call, |context| self.resource.read(state, context))?;
        state.map(|state| answer(&state, call)).transpose()
    }

    fn update(&self, prior: &Value, planned: &Value, call: &mut Call) -> Result<Value> {
        let Some(update) = self.update else {
            // Every change to a configurable attribute replaces the object, so any other difference
            // was made by the provider itself and is already in the plan.
            if planned.is_wholly_known() {
                return Ok(planned.clone());
            }
            return Err(Diagnostics::error(
                "Resource cannot be changed in place",
                "The plan of this resource has values that an update would have to compute, but the \
                 provider does not implement updates of this resource. This is a bug in the \
                 provider.",
            ));
        };
        let ty = &call.state_type;
        let (prior, plan) = (self.stored(prior, ty)?, planned_state(planned, ty)?);
        let state = Context::run(call, |context| update(&self.resource, prior, plan, context))?;
        answer(&state, call)
    }

    fn delete(&self, state: &Value, call: &mut Call) -> Result<()> {
        let state = self.stored(state, &call.state_type)?;
        Context::run(call, |context| self.resource.delete(state, context))
    }

    fn import(&self, import: &mut Import, call: &mut Call) -> Result<()> {
        Context::run(call, |context| self.resource.import(import, context))
    }

    fn move_state(&self, source: &MoveSource, call: &Call) -> Result<Option<Value>> {
        let state = self.resource.move_state(source)?;
        state.map(|state| answer(&state, call)).transpose()
    }
}
