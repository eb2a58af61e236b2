//! The mock provider: it accepts every configuration, plans computed attributes as unknown, and
//! stores nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_plugin::{
    ActionRequest, ApplyRequest, ApplyResponse, CallContext, ConfigKind, ConfigureRequest, Continue,
    FunctionError, GenerateConfigResponse, ImportRequest, ImportResponse, ImportTarget, ImportedResource,
    ListEvent, ListRequest, MoveRequest, MoveResponse, OpenEphemeralRequest, OpenEphemeralResponse,
    PlanActionResponse, PlanRequest, PlanResponse, PluginDiagnostic, PluginDiagnostics, PrivateBytes,
    Provider, ProviderSchema, RawState, ReadDataSourceRequest, ReadDataSourceResponse, ReadResourceRequest,
    ReadResourceResponse, RenewEphemeralResponse, Schema, UpgradeStateRequest, UpgradeStateResponse,
    ValidateConfigRequest, ValidateListRequest,
};
use wardian_value::{Str, Value, json};

use crate::document::Drift;
use crate::values;

pub(crate) struct MockProvider {
    pub(crate) schema: Arc<ProviderSchema>,
    pub(crate) drift: BTreeMap<Str, Drift>,
}

fn unsupported(subject: &str) -> PluginDiagnostics {
    vec![PluginDiagnostic::error(
        "Unsupported by mock provider",
        format!("A mock provider has no {subject}."),
    )]
}

impl MockProvider {
    fn resource(&self, type_name: &str) -> Result<Arc<Schema>, PluginDiagnostics> {
        self.schema.resources.get(type_name).cloned().ok_or_else(|| unsupported(type_name))
    }

    fn upgraded(&self, request: &UpgradeStateRequest) -> Result<Value, PluginDiagnostics> {
        let schema = self.resource(&request.type_name)?;
        let RawState::Json(text) = &request.raw else { return Err(unsupported("flatmap states")) };
        json::decode(text.as_bytes(), schema.implied_type())
            .map_err(|error| vec![PluginDiagnostic::error("Invalid stored object", error.to_string())])
    }
}

#[async_trait]
impl Provider for MockProvider {
    async fn schema(&self, _: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        Ok(Arc::clone(&self.schema))
    }

    async fn validate_provider_config(&self, _: &CallContext, _: Value) -> PluginDiagnostics {
        Vec::new()
    }

    async fn configure(&self, _: &CallContext, _: ConfigureRequest) -> PluginDiagnostics {
        Vec::new()
    }

    async fn validate_config(
        &self,
        _: &CallContext,
        _: ConfigKind,
        _: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        Vec::new()
    }

    async fn upgrade_resource_state(
        &self,
        _: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        match self.upgraded(&request) {
            Ok(upgraded) => UpgradeStateResponse { upgraded: Some(upgraded), diagnostics: Vec::new() },
            Err(diagnostics) => diagnostics.into(),
        }
    }

    async fn upgrade_resource_identity(
        &self,
        _: &CallContext,
        _: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        unsupported("identities").into()
    }

    async fn read_resource(&self, _: &CallContext, request: ReadResourceRequest) -> ReadResourceResponse {
        let stored = request.current_state;
        let new_state = match self.drift.get(&request.type_name) {
            None => stored,
            Some(Drift::Missing) => Value::null(stored.ty().clone()),
            Some(Drift::Changed(values)) => {
                values.iter().fold(stored, |object, (name, value)| object.with_attribute(name, value.clone()))
            }
        };
        ReadResourceResponse {
            new_state: Some(new_state),
            private: request.private,
            new_identity: request.current_identity,
            deferred: None,
            diagnostics: Vec::new(),
        }
    }

    async fn plan_resource_change(&self, _: &CallContext, request: PlanRequest) -> PlanResponse {
        let schema = match self.resource(&request.type_name) {
            Ok(schema) => schema,
            Err(diagnostics) => return diagnostics.into(),
        };
        PlanResponse {
            planned_state: Some(values::planned(&schema.block, &request.proposed_new_state)),
            requires_replace: Vec::new(),
            planned_private: request.prior_private,
            legacy_type_system: false,
            deferred: None,
            planned_identity: None,
            diagnostics: Vec::new(),
        }
    }

    async fn apply_resource_change(&self, _: &CallContext, request: ApplyRequest) -> ApplyResponse {
        let schema = match self.resource(&request.type_name) {
            Ok(schema) => schema,
            Err(diagnostics) => return diagnostics.into(),
        };
        ApplyResponse {
            new_state: Some(values::created(&schema.block, &request.planned_state, &request.type_name)),
            private: request.planned_private,
            legacy_type_system: false,
            new_identity: None,
            diagnostics: Vec::new(),
        }
    }

    async fn import_resource_state(&self, _: &CallContext, request: ImportRequest) -> ImportResponse {
        let ImportTarget::Id(id) = request.target else { return unsupported("identities").into() };
        let schema = match self.resource(&request.type_name) {
            Ok(schema) => schema,
            Err(diagnostics) => return diagnostics.into(),
        };
        let empty = schema.block.empty_value();
        let state = values::created(&schema.block, &empty, &request.type_name);
        let state = state.with_attribute("id", Value::string(id));
        let imported = ImportedResource {
            type_name: request.type_name,
            state,
            private: PrivateBytes::default(),
            identity: None,
        };
        ImportResponse { imported: vec![imported], deferred: None, diagnostics: Vec::new() }
    }

    async fn move_resource_state(&self, _: &CallContext, _: MoveRequest) -> MoveResponse {
        unsupported("moves between resource types").into()
    }

    async fn generate_resource_config(&self, _: &CallContext, _: Str, _: Value) -> GenerateConfigResponse {
        GenerateConfigResponse { config: None, diagnostics: unsupported("generated configurations") }
    }

    async fn read_data_source(
        &self,
        _: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        let Some(schema) = self.schema.data_sources.get(&request.type_name) else {
            return unsupported(&request.type_name).into();
        };
        ReadDataSourceResponse {
            state: Some(values::created(&schema.block, &request.config, &request.type_name)),
            deferred: None,
            diagnostics: Vec::new(),
        }
    }

    async fn open_ephemeral_resource(
        &self,
        _: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        let Some(schema) = self.schema.ephemeral_resources.get(&request.type_name) else {
            return unsupported(&request.type_name).into();
        };
        OpenEphemeralResponse {
            result: Some(values::created(&schema.block, &request.config, &request.type_name)),
            renew_at: None,
            private: PrivateBytes::default(),
            deferred: None,
            diagnostics: Vec::new(),
        }
    }

    async fn renew_ephemeral_resource(
        &self,
        _: &CallContext,
        _: Str,
        _: PrivateBytes,
    ) -> RenewEphemeralResponse {
        unsupported("ephemeral resources that expire").into()
    }

    async fn close_ephemeral_resource(&self, _: &CallContext, _: Str, _: PrivateBytes) -> PluginDiagnostics {
        Vec::new()
    }

    async fn call_function(&self, _: &CallContext, name: Str, _: Vec<Value>) -> Result<Value, FunctionError> {
        Ok(Value::string(format!("result of {name}")))
    }

    async fn validate_list_resource_config(
        &self,
        _: &CallContext,
        _: ValidateListRequest,
    ) -> PluginDiagnostics {
        unsupported("lists")
    }

    async fn list_resource(
        &self,
        _: &CallContext,
        _: ListRequest,
        _: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        unsupported("lists")
    }

    async fn plan_action(&self, _: &CallContext, _: ActionRequest) -> PlanActionResponse {
        PlanActionResponse { deferred: None, diagnostics: unsupported("actions") }
    }

    async fn invoke_action(
        &self,
        _: &CallContext,
        _: ActionRequest,
        _: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        unsupported("actions")
    }

    async fn stop(&self) -> Result<(), String> {
        Ok(())
    }

    async fn close(&self) {}
}
