//! A provider whose words bear no secrets.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use wardian_value::{Str, Value};

use super::call::{MaskedCall, Said as _};
use crate::diagnostic::PluginDiagnostics;
use crate::provider::{
    ActionRequest, ApplyRequest, ApplyResponse, ConfigKind, ConfigureRequest, Continue, FunctionError,
    GenerateConfigResponse, ImportRequest, ImportResponse, ListEvent, ListRequest, MoveRequest, MoveResponse,
    OpenEphemeralRequest, OpenEphemeralResponse, PlanActionResponse, PlanRequest, PlanResponse, PrivateBytes,
    Provider, ReadDataSourceRequest, ReadDataSourceResponse, ReadResourceRequest, ReadResourceResponse,
    RenewEphemeralResponse, UpgradeStateRequest, UpgradeStateResponse, ValidateConfigRequest,
    ValidateListRequest,
};
use crate::schema::ProviderSchema;
use crate::secrets::Secrets;
use crate::subject::current_secrets;

/// A provider, above whatever carries out its calls.
pub struct MaskedProvider {
    provider: Arc<dyn Provider>,
    schema: OnceLock<Arc<ProviderSchema>>,
    common: Secrets,
    /// What it was configured with.
    configured: OnceLock<Secrets>,
}

impl MaskedProvider {
    /// The same provider, with masked words. What is `common` it must not say either, whatever
    /// it was told: where a secret was made a part of something else, only that crosses.
    pub fn new(provider: Arc<dyn Provider>, common: Secrets) -> Self {
        Self { provider, common, schema: OnceLock::new(), configured: OnceLock::new() }
    }

    /// A call for the current work.
    async fn call(&self) -> MaskedCall {
        let configured = self.configured.get().cloned();
        let beside = configured.into_iter().chain([self.common.clone(), current_secrets()]);
        MaskedCall { secrets: Secrets::beside(beside), schema: self.known_schema().await }
    }

    /// Where there is none the call will say why.
    async fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        if let Some(known) = self.schema.get() {
            return Some(Arc::clone(known));
        }
        let schema = self.provider.schema().await.ok()?;
        Some(Arc::clone(self.schema.get_or_init(|| schema)))
    }
}

#[async_trait]
impl Provider for MaskedProvider {
    async fn schema(&self) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        let schema = self.provider.schema().await?;
        Ok(Arc::clone(self.schema.get_or_init(|| schema)))
    }

    async fn validate_provider_config(&self, config: Value) -> PluginDiagnostics {
        let call = self.call().await;
        if let Some(schema) = &call.schema {
            call.secrets.add_configuration(&config, schema);
        }
        call.make(self.provider.validate_provider_config(config)).await
    }

    async fn configure(&self, request: ConfigureRequest) -> PluginDiagnostics {
        let secrets = Secrets::beside([current_secrets()]);
        if let Some(schema) = self.known_schema().await {
            secrets.add_configuration(&request.config, &schema);
        }
        // One that is configured twice is not: nobody does that.
        let _ = self.configured.set(secrets);
        let call = self.call().await;
        call.make(self.provider.configure(request)).await
    }

    async fn validate_config(&self, kind: ConfigKind, request: ValidateConfigRequest) -> PluginDiagnostics {
        let call = self.call().await;
        call.config(kind, &request.type_name, &request.config);
        call.make(self.provider.validate_config(kind, request)).await
    }

    async fn upgrade_resource_state(&self, request: UpgradeStateRequest) -> UpgradeStateResponse {
        let call = self.call().await;
        call.stored(&request.type_name, &request.raw);
        call.make(self.provider.upgrade_resource_state(request)).await
    }

    async fn upgrade_resource_identity(&self, request: UpgradeStateRequest) -> UpgradeStateResponse {
        let call = self.call().await;
        call.make(self.provider.upgrade_resource_identity(request)).await
    }

    async fn read_resource(&self, request: ReadResourceRequest) -> ReadResourceResponse {
        let (call, type_name) = (self.call().await, request.type_name.clone());
        call.resource(&type_name, &request.current_state);
        call.provider_meta(request.provider_meta.as_ref());
        let mut answer = call.during(self.provider.read_resource(request)).await;
        if let Some(object) = answer.new_state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&type_name, object);
        }
        answer.mask(&call.secrets);
        answer
    }

    async fn plan_resource_change(&self, request: PlanRequest) -> PlanResponse {
        let (call, type_name) = (self.call().await, request.type_name.clone());
        call.resource(&type_name, &request.prior_state);
        call.resource(&type_name, &request.proposed_new_state);
        call.resource(&type_name, &request.config);
        call.provider_meta(request.provider_meta.as_ref());
        let mut answer = call.during(self.provider.plan_resource_change(request)).await;
        if let Some(object) = answer.planned_state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&type_name, object);
        }
        answer.mask(&call.secrets);
        answer
    }

    async fn apply_resource_change(&self, request: ApplyRequest) -> ApplyResponse {
        let (call, type_name) = (self.call().await, request.type_name.clone());
        call.resource(&type_name, &request.prior_state);
        call.resource(&type_name, &request.planned_state);
        call.resource(&type_name, &request.config);
        call.provider_meta(request.provider_meta.as_ref());
        let mut answer = call.during(self.provider.apply_resource_change(request)).await;
        if let Some(object) = answer.new_state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&type_name, object);
        }
        answer.mask(&call.secrets);
        answer
    }

    async fn import_resource_state(&self, request: ImportRequest) -> ImportResponse {
        let call = self.call().await;
        let mut answer = call.during(self.provider.import_resource_state(request)).await;
        for imported in answer.imported.iter().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&imported.type_name, &imported.state);
        }
        answer.mask(&call.secrets);
        answer
    }

    async fn move_resource_state(&self, request: MoveRequest) -> MoveResponse {
        let (call, type_name) = (self.call().await, request.target_type_name.clone());
        // What it was of is not known here; as a rule what becomes of it has the same names.
        call.stored(&type_name, &request.source_state);
        let mut answer = call.during(self.provider.move_resource_state(request)).await;
        if let Some(object) = answer.target_state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&type_name, object);
        }
        answer.mask(&call.secrets);
        answer
    }

    async fn generate_resource_config(&self, type_name: Str, state: Value) -> GenerateConfigResponse {
        let call = self.call().await;
        call.resource(&type_name, &state);
        call.make(self.provider.generate_resource_config(type_name, state)).await
    }

    async fn read_data_source(&self, request: ReadDataSourceRequest) -> ReadDataSourceResponse {
        let (call, type_name) = (self.call().await, request.type_name.clone());
        call.config(ConfigKind::DataSource, &type_name, &request.config);
        call.provider_meta(request.provider_meta.as_ref());
        let mut answer = call.during(self.provider.read_data_source(request)).await;
        if let Some(object) = answer.state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.config(ConfigKind::DataSource, &type_name, object);
        }
        answer.mask(&call.secrets);
        answer
    }

    async fn open_ephemeral_resource(&self, request: OpenEphemeralRequest) -> OpenEphemeralResponse {
        let call = self.call().await;
        call.config(ConfigKind::EphemeralResource, &request.type_name, &request.config);
        let mut answer = call.during(self.provider.open_ephemeral_resource(request)).await;
        if let Some(result) = &answer.result {
            // It is what renewing and closing it is about, too.
            current_secrets().add_all(result);
        }
        answer.mask(&call.secrets);
        answer
    }

    async fn renew_ephemeral_resource(
        &self,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        self.call().await.make(self.provider.renew_ephemeral_resource(type_name, private)).await
    }

    async fn close_ephemeral_resource(&self, type_name: Str, private: PrivateBytes) -> PluginDiagnostics {
        self.call().await.make(self.provider.close_ephemeral_resource(type_name, private)).await
    }

    async fn call_function(&self, name: Str, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        self.call().await.make(self.provider.call_function(name, arguments)).await
    }

    async fn validate_list_resource_config(&self, request: ValidateListRequest) -> PluginDiagnostics {
        let call = self.call().await;
        call.list_config(&request.type_name, &request.config);
        call.make(self.provider.validate_list_resource_config(request)).await
    }

    async fn list_resource(
        &self,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        let call = self.call().await;
        call.list_config(&request.type_name, &request.config);
        let secrets = call.secrets.clone();
        let mut found = |mut event: ListEvent| {
            event.display_name.mask(&secrets);
            event.diagnostics.mask(&secrets);
            found(event)
        };
        call.make(self.provider.list_resource(request, &mut found)).await
    }

    async fn plan_action(&self, request: ActionRequest) -> PlanActionResponse {
        let call = self.call().await;
        call.config(ConfigKind::Action, &request.action_type, &request.config);
        call.make(self.provider.plan_action(request)).await
    }

    async fn invoke_action(
        &self,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        let call = self.call().await;
        call.config(ConfigKind::Action, &request.action_type, &request.config);
        let secrets = call.secrets.clone();
        let mut progress = |mut text: String| {
            text.mask(&secrets);
            progress(text);
        };
        call.make(self.provider.invoke_action(request, &mut progress)).await
    }

    async fn stop(&self) -> Result<(), String> {
        let mut answer = self.provider.stop().await;
        if let Some(secrets) = self.configured.get() {
            answer.mask(secrets);
        }
        answer
    }

    async fn close(&self) {
        self.provider.close().await;
    }
}
