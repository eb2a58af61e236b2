//! Serves the provider's calls: each RPC becomes a call of the trait.
//!
//! Values are encoded and decoded with the types that the provider's own schema implies. An invalid
//! request is rejected with a status; failures inside the provider are reported in its diagnostics.
//!
//! Calls with several responses are in [`streaming`](super::streaming).

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use tonic::{Code, Status};
use wardian_plugin::{
    ApplyRequest, CallContext, CallNotices, ConfigKind, ConfigureRequest, ImportRequest, ImportTarget,
    MoveRequest, OpenEphemeralRequest, PlanRequest, PluginDiagnostics, Provider, ProviderSchema,
    ReadDataSourceRequest, ReadResourceRequest, Schema, SchemaTable, UpgradeStateRequest,
    ValidateConfigRequest,
};
use wardian_value::{Str, Type, Value};

use super::conversion::{
    capabilities, deferred, diagnostics, given, given_identity, moment, path, raw_state, taken,
    taken_identity, taken_if_there,
};
use super::schema;
use crate::ProtocolVersion;
use crate::protocol::tfplugin as m;

/// A provider that is served to a host.
pub(super) struct Service {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) version: ProtocolVersion,
}

/// A call of the host. Its response also contains diagnostics of this program, such as denials, because
/// the host shows nothing else.
pub(super) struct ServedCall {
    context: CallContext,
    notices: CallNotices,
}

impl Default for ServedCall {
    fn default() -> Self {
        let notices = CallNotices::default();
        Self { context: CallContext::default().with_notices(notices.clone()), notices }
    }
}

impl ServedCall {
    pub(super) fn context(&self) -> &CallContext {
        &self.context
    }

    /// Returns the diagnostics of the response.
    pub(super) fn diagnostics(&self, mut reported: PluginDiagnostics) -> Vec<m::Diagnostic> {
        reported.extend(self.notices.take());
        diagnostics(reported)
    }

    /// Returns the text of a function's error, which is the only message that its response can contain.
    fn error_text(&self, mut text: String) -> String {
        for notice in self.notices.take() {
            text = format!("{text}\n\n{}: {}", notice.summary, notice.detail);
        }
        text
    }
}

/// The response to a call.
pub(super) type Answer = Result<Bytes, Status>;

pub(super) fn request<Q: Message + Default>(bytes: Bytes) -> Result<Q, Status> {
    Q::decode(bytes).map_err(|error| {
        Status::new(Code::InvalidArgument, format!("the request is not a valid protocol message: {error}"))
    })
}

#[allow(clippy::unnecessary_wraps, reason = "the last expression of each call")]
pub(super) fn answer(message: &impl Message) -> Answer {
    Ok(message.encode_to_vec().into())
}

pub(super) fn type_of<'a>(table: &'a SchemaTable, kind: &str, name: &str) -> Result<&'a Type, Status> {
    let schema = table.get(name).map(|schema| schema.implied_type());
    schema.ok_or_else(|| Status::new(Code::InvalidArgument, format!("there is no {kind} {name:?}")))
}

fn meta(schema: &ProviderSchema) -> Option<&Type> {
    schema.provider_meta.as_ref().map(Schema::implied_type)
}

impl Service {
    /// Serves a provider call.
    pub(super) async fn call(&self, rpc: &str, body: Bytes) -> Answer {
        match rpc {
            "GetProviderSchema" | "GetSchema" => self.schemas().await,
            "GetMetadata" => answer(&schema::metadata(&*self.schema().await?)),
            "GetFunctions" => answer(&schema::functions_alone(&*self.schema().await?)),
            "GetResourceIdentitySchemas" => answer(&schema::identities(&*self.schema().await?)),
            "ValidateProviderConfig" | "PrepareProviderConfig" => self.validate_provider(body).await,
            "ConfigureProvider" | "Configure" => self.configure(body).await,
            "ValidateResourceConfig" | "ValidateResourceTypeConfig" => {
                self.validate(ConfigKind::Resource, body).await
            }
            "ValidateDataResourceConfig" | "ValidateDataSourceConfig" => {
                self.validate(ConfigKind::DataSource, body).await
            }
            "ValidateEphemeralResourceConfig" => self.validate(ConfigKind::EphemeralResource, body).await,
            "UpgradeResourceState" => self.upgrade_state(body).await,
            "UpgradeResourceIdentity" => self.upgrade_identity(body).await,
            "ReadResource" => self.read(body).await,
            "PlanResourceChange" => self.plan(body).await,
            "ApplyResourceChange" => self.apply(body).await,
            "ImportResourceState" => self.import(body).await,
            "MoveResourceState" => self.move_resource_state(body).await,
            "GenerateResourceConfig" => self.generate(body).await,
            "ReadDataSource" => self.read_data(body).await,
            "OpenEphemeralResource" => self.open(body).await,
            "RenewEphemeralResource" => self.renew(body).await,
            "CloseEphemeralResource" => self.close(body).await,
            "CallFunction" => self.function(body).await,
            "ValidateListResourceConfig" => self.validate_list(body).await,
            "ValidateActionConfig" => self.validate(ConfigKind::Action, body).await,
            "PlanAction" => self.plan_action(body).await,
            "StopProvider" | "Stop" => {
                let error = self.provider.stop().await.err().unwrap_or_default();
                answer(&m::stop_provider::Response { error })
            }
            _ => Err(Status::new(Code::Unimplemented, format!("there is no call {rpc}"))),
        }
    }

    pub(super) async fn schema(&self) -> Result<Arc<ProviderSchema>, Status> {
        self.provider.schema(&CallContext::default()).await.map_err(|reported| {
            let reported: Vec<String> =
                reported.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect();
            Status::new(Code::Internal, reported.join("; "))
        })
    }

    async fn schemas(&self) -> Answer {
        match (self.provider.schema(&CallContext::default()).await, self.version) {
            (Ok(schema), ProtocolVersion::Six) => answer(&schema::of_six(&schema)),
            (Ok(schema), ProtocolVersion::Five) => match schema::of_five(&schema) {
                Ok(schema) => answer(&schema),
                Err(error) => Err(Status::new(Code::Internal, error.to_string())),
            },
            // The diagnostics have the same field number in both protocols.
            (Err(reported), _) => answer(&m::UndecodedProviderSchema {
                diagnostics: diagnostics(reported),
                ..m::UndecodedProviderSchema::default()
            }),
        }
    }

    async fn validate_provider(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::validate_provider_config::Request = request(body)?;
        let schema = self.schema().await?;
        let config = taken("the configuration", request.config.as_ref(), schema.provider.implied_type())?;
        let reported = self.provider.validate_provider_config(served.context(), config).await;
        answer(&m::validate_provider_config::Response {
            prepared_config: match self.version {
                ProtocolVersion::Five => request.config,
                ProtocolVersion::Six => None,
            },
            diagnostics: served.diagnostics(reported),
        })
    }

    async fn configure(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::configure_provider::Request = request(body)?;
        let schema = self.schema().await?;
        let config = taken("the configuration", request.config.as_ref(), schema.provider.implied_type())?;
        let request = ConfigureRequest {
            terraform_version: request.terraform_version.into(),
            config,
            capabilities: capabilities(request.client_capabilities),
        };
        let reported = self.provider.configure(served.context(), request).await;
        answer(&m::configure_provider::Response { diagnostics: served.diagnostics(reported) })
    }

    async fn validate(&self, kind: ConfigKind, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::validate_resource_config::Request = request(body)?;
        let schema = self.schema().await?;
        let name = &request.type_name;
        let ty = match kind {
            ConfigKind::DataSource => type_of(&schema.data_sources, "data source", name)?,
            ConfigKind::EphemeralResource => {
                type_of(&schema.ephemeral_resources, "ephemeral resource", name)?
            }
            ConfigKind::Resource => type_of(&schema.resources, "resource", name)?,
            ConfigKind::Action => type_of(&schema.actions, "action", name)?,
        };
        let config = taken("the configuration", request.config.as_ref(), ty)?;
        let request = ValidateConfigRequest {
            type_name: request.type_name.into(),
            config,
            capabilities: capabilities(request.client_capabilities),
        };
        let reported = self.provider.validate_config(served.context(), kind, request).await;
        answer(&m::validate_resource_config::Response { diagnostics: served.diagnostics(reported) })
    }

    async fn upgrade_state(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::upgrade_resource_state::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.resources, "resource", &request.type_name)?;
        let raw = raw_state(request.raw_state)?;
        let request =
            UpgradeStateRequest { type_name: request.type_name.into(), version: request.version, raw };
        let response = self.provider.upgrade_resource_state(served.context(), request).await;
        answer(&m::upgrade_resource_state::Response {
            upgraded_state: given("the upgraded state", response.upgraded.as_ref(), ty)?,
            diagnostics: served.diagnostics(response.diagnostics),
        })
    }

    async fn upgrade_identity(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::upgrade_resource_identity::Request = request(body)?;
        let ty = self.identity_type(&request.type_name).await?;
        let raw = raw_state(request.raw_identity)?;
        let request =
            UpgradeStateRequest { type_name: request.type_name.into(), version: request.version, raw };
        let response = self.provider.upgrade_resource_identity(served.context(), request).await;
        answer(&m::upgrade_resource_identity::Response {
            upgraded_identity: given_identity(
                "the upgraded identity",
                response.upgraded.as_ref(),
                ty.as_ref(),
            )?,
            diagnostics: served.diagnostics(response.diagnostics),
        })
    }

    pub(super) async fn identity_type(&self, name: &str) -> Result<Option<Type>, Status> {
        Ok(self.schema().await?.identities.get(name).map(|schema| schema.implied_type()))
    }

    async fn read(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::read_resource::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.resources, "resource", &request.type_name)?;
        let identity = self.identity_type(&request.type_name).await?;
        let request = ReadResourceRequest {
            current_state: taken("the current state", request.current_state.as_ref(), ty)?,
            private: request.private.as_ref().into(),
            provider_meta: taken_if_there("the metadata", request.provider_meta.as_ref(), meta(&schema))?,
            current_identity: taken_identity(
                "the identity",
                request.current_identity.as_ref(),
                identity.as_ref(),
            )?,
            capabilities: capabilities(request.client_capabilities),
            type_name: request.type_name.into(),
        };
        let response = self.provider.read_resource(served.context(), request).await;
        answer(&m::read_resource::Response {
            new_state: given("the new state", response.new_state.as_ref(), ty)?,
            diagnostics: served.diagnostics(response.diagnostics),
            private: Bytes::copy_from_slice(&response.private),
            deferred: deferred(response.deferred),
            new_identity: given_identity("the identity", response.new_identity.as_ref(), identity.as_ref())?,
        })
    }

    async fn plan(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::plan_resource_change::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.resources, "resource", &request.type_name)?;
        let identity = self.identity_type(&request.type_name).await?;
        let prior_identity = request.prior_identity.as_ref();
        let request = PlanRequest {
            prior_state: taken("the prior state", request.prior_state.as_ref(), ty)?,
            proposed_new_state: taken("the proposed state", request.proposed_new_state.as_ref(), ty)?,
            config: taken("the configuration", request.config.as_ref(), ty)?,
            prior_private: request.prior_private.as_ref().into(),
            provider_meta: taken_if_there("the metadata", request.provider_meta.as_ref(), meta(&schema))?,
            prior_identity: taken_identity("the identity", prior_identity, identity.as_ref())?,
            capabilities: capabilities(request.client_capabilities),
            type_name: request.type_name.into(),
        };
        let response = self.provider.plan_resource_change(served.context(), request).await;
        let planned_identity = response.planned_identity.as_ref();
        answer(&m::plan_resource_change::Response {
            planned_state: given("the planned state", response.planned_state.as_ref(), ty)?,
            requires_replace: response.requires_replace.iter().map(path).collect(),
            planned_private: Bytes::copy_from_slice(&response.planned_private),
            diagnostics: served.diagnostics(response.diagnostics),
            legacy_type_system: response.legacy_type_system,
            deferred: deferred(response.deferred),
            planned_identity: given_identity("the identity", planned_identity, identity.as_ref())?,
        })
    }

    async fn apply(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::apply_resource_change::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.resources, "resource", &request.type_name)?;
        let identity = self.identity_type(&request.type_name).await?;
        let planned_identity = request.planned_identity.as_ref();
        let request = ApplyRequest {
            prior_state: taken("the prior state", request.prior_state.as_ref(), ty)?,
            planned_state: taken("the planned state", request.planned_state.as_ref(), ty)?,
            config: taken("the configuration", request.config.as_ref(), ty)?,
            planned_private: request.planned_private.as_ref().into(),
            provider_meta: taken_if_there("the metadata", request.provider_meta.as_ref(), meta(&schema))?,
            planned_identity: taken_identity("the identity", planned_identity, identity.as_ref())?,
            type_name: request.type_name.into(),
        };
        let response = self.provider.apply_resource_change(served.context(), request).await;
        answer(&m::apply_resource_change::Response {
            new_state: given("the new state", response.new_state.as_ref(), ty)?,
            private: Bytes::copy_from_slice(&response.private),
            diagnostics: served.diagnostics(response.diagnostics),
            legacy_type_system: response.legacy_type_system,
            new_identity: given_identity("the identity", response.new_identity.as_ref(), identity.as_ref())?,
        })
    }

    async fn import(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::import_resource_state::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = self.identity_type(&request.type_name).await?;
        let identity = taken_identity("the identity", request.identity.as_ref(), ty.as_ref())?;
        let request = ImportRequest {
            type_name: request.type_name.into(),
            target: identity.map_or(ImportTarget::Id(request.id), ImportTarget::Identity),
            capabilities: capabilities(request.client_capabilities),
        };
        let response = self.provider.import_resource_state(served.context(), request).await;
        let mut imported_resources = Vec::with_capacity(response.imported.len());
        for imported in response.imported {
            let ty = type_of(&schema.resources, "resource", &imported.type_name)?;
            let identity = self.identity_type(&imported.type_name).await?;
            imported_resources.push(m::import_resource_state::ImportedResource {
                state: given("the imported state", Some(&imported.state), ty)?,
                private: Bytes::copy_from_slice(&imported.private),
                identity: given_identity("the identity", imported.identity.as_ref(), identity.as_ref())?,
                type_name: imported.type_name.to_string(),
            });
        }
        answer(&m::import_resource_state::Response {
            imported_resources,
            diagnostics: served.diagnostics(response.diagnostics),
            deferred: deferred(response.deferred),
        })
    }

    async fn move_resource_state(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::move_resource_state::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.resources, "resource", &request.target_type_name)?;
        let identity = self.identity_type(&request.target_type_name).await?;
        let source_identity = match request.source_identity {
            Some(raw) => Some((request.source_identity_schema_version, raw_state(Some(raw))?)),
            None => None,
        };
        let request = MoveRequest {
            source_provider_address: request.source_provider_address,
            source_type_name: request.source_type_name.into(),
            source_schema_version: request.source_schema_version,
            source_state: raw_state(request.source_state)?,
            target_type_name: request.target_type_name.into(),
            source_private: request.source_private.as_ref().into(),
            source_identity,
        };
        let response = self.provider.move_resource_state(served.context(), request).await;
        let target_identity = response.target_identity.as_ref();
        answer(&m::move_resource_state::Response {
            target_state: given("the target state", response.target_state.as_ref(), ty)?,
            diagnostics: served.diagnostics(response.diagnostics),
            target_private: Bytes::copy_from_slice(&response.target_private),
            target_identity: given_identity("the identity", target_identity, identity.as_ref())?,
        })
    }

    async fn generate(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::generate_resource_config::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.resources, "resource", &request.type_name)?;
        let state = taken("the state", request.state.as_ref(), ty)?;
        let response =
            self.provider.generate_resource_config(served.context(), request.type_name.into(), state).await;
        answer(&m::generate_resource_config::Response {
            config: given("the configuration", response.config.as_ref(), ty)?,
            diagnostics: served.diagnostics(response.diagnostics),
        })
    }

    async fn read_data(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::read_data_source::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.data_sources, "data source", &request.type_name)?;
        let request = ReadDataSourceRequest {
            config: taken("the configuration", request.config.as_ref(), ty)?,
            provider_meta: taken_if_there("the metadata", request.provider_meta.as_ref(), meta(&schema))?,
            capabilities: capabilities(request.client_capabilities),
            type_name: request.type_name.into(),
        };
        let response = self.provider.read_data_source(served.context(), request).await;
        answer(&m::read_data_source::Response {
            state: given("the state", response.state.as_ref(), ty)?,
            diagnostics: served.diagnostics(response.diagnostics),
            deferred: deferred(response.deferred),
        })
    }

    async fn open(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::open_ephemeral_resource::Request = request(body)?;
        let schema = self.schema().await?;
        let ty = type_of(&schema.ephemeral_resources, "ephemeral resource", &request.type_name)?;
        let request = OpenEphemeralRequest {
            config: taken("the configuration", request.config.as_ref(), ty)?,
            capabilities: capabilities(request.client_capabilities),
            type_name: request.type_name.into(),
        };
        let response = self.provider.open_ephemeral_resource(served.context(), request).await;
        answer(&m::open_ephemeral_resource::Response {
            diagnostics: served.diagnostics(response.diagnostics),
            renew_at: moment(response.renew_at),
            result: given("the result", response.result.as_ref(), ty)?,
            private: Some(Bytes::copy_from_slice(&response.private)),
            deferred: deferred(response.deferred),
        })
    }

    async fn renew(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::renew_ephemeral_resource::Request = request(body)?;
        let private = request.private.unwrap_or_default();
        let name = Str::from(request.type_name);
        let response =
            self.provider.renew_ephemeral_resource(served.context(), name, private.as_ref().into()).await;
        answer(&m::renew_ephemeral_resource::Response {
            diagnostics: served.diagnostics(response.diagnostics),
            renew_at: moment(response.renew_at),
            private: Some(Bytes::copy_from_slice(&response.private)),
        })
    }

    async fn close(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::close_ephemeral_resource::Request = request(body)?;
        let private = request.private.unwrap_or_default();
        let name = Str::from(request.type_name);
        let reported =
            self.provider.close_ephemeral_resource(served.context(), name, private.as_ref().into()).await;
        answer(&m::close_ephemeral_resource::Response { diagnostics: served.diagnostics(reported) })
    }

    async fn function(&self, body: Bytes) -> Answer {
        let served = ServedCall::default();
        let request: m::call_function::Request = request(body)?;
        let schema = self.schema().await?;
        let unknown =
            || Status::new(Code::InvalidArgument, format!("there is no function {:?}", request.name));
        let function = schema.functions.get(request.name.as_str()).ok_or_else(unknown)?;
        let mut arguments: Vec<Value> = Vec::with_capacity(request.arguments.len());
        for (index, argument) in request.arguments.iter().enumerate() {
            let surplus =
                || Status::new(Code::InvalidArgument, format!("there is no parameter {}", index + 1));
            let parameter = function.parameter(index).ok_or_else(surplus)?;
            arguments.push(taken("an argument", Some(argument), &parameter.ty)?);
        }
        let result = self.provider.call_function(served.context(), Str::new(&request.name), arguments).await;
        answer(&match result {
            Ok(value) => m::call_function::Response {
                result: given("the result", Some(&value), &function.return_type)?,
                error: None,
            },
            Err(error) => m::call_function::Response {
                result: None,
                error: Some(m::FunctionError {
                    text: served.error_text(error.text),
                    function_argument: error.argument.and_then(|index| i64::try_from(index).ok()),
                }),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use wardian_builtin::BuiltInProvider;

    use super::*;

    async fn asked<A: Message + Default>(rpc: &str) -> A {
        let provider = Arc::new(BuiltInProvider::new("."));
        let service = Service { provider, version: ProtocolVersion::Five };
        A::decode(service.call(rpc, Bytes::new()).await.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn metadata_lists_all_names() {
        let told: m::get_metadata::Response = asked("GetMetadata").await;
        let names = |types: Vec<m::get_metadata::TypeMetadata>| -> Vec<String> {
            types.into_iter().map(|one| one.type_name).collect()
        };
        assert_eq!(names(told.resources), ["terraform_data"]);
        assert_eq!(names(told.data_sources), ["terraform_remote_state"]);
        assert_eq!(names(told.ephemeral_resources), Vec::<String>::new());
        assert!(told.server_capabilities.is_some_and(|can| can.get_provider_schema_optional));
        let functions: m::get_functions::Response = asked("GetFunctions").await;
        let mut by_metadata: Vec<String> = told.functions.into_iter().map(|one| one.name).collect();
        let mut by_themselves: Vec<String> = functions.functions.into_keys().collect();
        by_metadata.sort();
        by_themselves.sort();
        assert_eq!(by_metadata, by_themselves);
        assert_eq!(by_metadata, ["decode_tfvars", "encode_expr", "encode_tfvars"]);
    }

    #[tokio::test]
    async fn unknown_calls_are_unimplemented() {
        let service =
            Service { provider: Arc::new(BuiltInProvider::new(".")), version: ProtocolVersion::Six };
        let refused = service.call("GetStates", Bytes::new()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unimplemented);
    }
}
