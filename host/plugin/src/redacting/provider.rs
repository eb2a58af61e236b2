//! Wraps a provider and redacts its output.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use wardian_value::{Str, Value};

use super::call::{EarlierCalls, Redact as _, RedactedCall};
use crate::call_context::CallContext;
use crate::diagnostic::PluginDiagnostics;
use crate::provider::{
    ActionRequest, ApplyRequest, ApplyResponse, ConfigKind, ConfigureRequest, Continue, FunctionError,
    GenerateConfigResponse, ImportRequest, ImportResponse, ListEvent, ListRequest, MoveRequest, MoveResponse,
    OpenEphemeralRequest, OpenEphemeralResponse, PlanActionResponse, PlanRequest, PlanResponse, PrivateBytes,
    Provider, ReadDataSourceRequest, ReadDataSourceResponse, ReadResourceRequest, ReadResourceResponse,
    RenewEphemeralResponse, UpgradeStateRequest, UpgradeStateResponse, ValidateConfigRequest,
    ValidateListRequest,
};
use crate::redaction::{LifetimeSensitiveValues, SensitiveValues};
use crate::schema::ProviderSchema;

/// A provider that redacts the output of the wrapped provider.
pub struct RedactingProvider {
    provider: Arc<dyn Provider>,
    schema: OnceLock<Arc<ProviderSchema>>,
    common: SensitiveValues,
    /// The sensitive values of the provider's configuration.
    configured: OnceLock<SensitiveValues>,
    /// The sensitive values of the provider's earlier calls.
    earlier: LifetimeSensitiveValues,
}

impl RedactingProvider {
    /// Returns a provider that redacts the output of `provider`. The values in `common` are
    /// redacted in every call, even in calls to which they are not passed, because a call may pass
    /// a string that was composed from a secret.
    pub fn new(provider: Arc<dyn Provider>, common: SensitiveValues) -> Self {
        Self {
            provider,
            common,
            schema: OnceLock::new(),
            configured: OnceLock::new(),
            earlier: LifetimeSensitiveValues::default(),
        }
    }

    async fn call(&self, context: &CallContext) -> RedactedCall {
        let configured = self.configured.get().cloned();
        let common = [self.common.clone(), context.sensitive_values().clone()];
        let others = configured.into_iter().chain(common);
        let secrets = SensitiveValues::with_earlier(others, &self.earlier);
        RedactedCall {
            context: context.with_sensitive_values(secrets),
            schema: self.known_schema(context).await,
            earlier: Some(EarlierCalls {
                values: self.earlier.clone(),
                caller: context.sensitive_values().clone(),
            }),
        }
    }

    /// Returns the schema; `None` if it is not available. In this case, the call itself reports the
    /// reason.
    async fn known_schema(&self, context: &CallContext) -> Option<Arc<ProviderSchema>> {
        if let Some(known) = self.schema.get() {
            return Some(Arc::clone(known));
        }
        let schema = self.provider.schema(context).await.ok()?;
        Some(Arc::clone(self.schema.get_or_init(|| schema)))
    }
}

#[async_trait]
impl Provider for RedactingProvider {
    async fn schema(&self, context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        let schema = self.provider.schema(context).await?;
        Ok(Arc::clone(self.schema.get_or_init(|| schema)))
    }

    async fn validate_provider_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics {
        let call = self.call(context).await;
        if let Some(schema) = &call.schema {
            call.sensitive_values().add_configuration(&config, schema);
        }
        call.make(self.provider.validate_provider_config(&call.context, config)).await
    }

    async fn configure(&self, context: &CallContext, request: ConfigureRequest) -> PluginDiagnostics {
        let secrets = SensitiveValues::chain([context.sensitive_values().clone()]);
        if let Some(schema) = self.known_schema(context).await {
            secrets.add_configuration(&request.config, &schema);
        }
        // A provider is not configured twice, so the first configuration is retained.
        let _ = self.configured.set(secrets);
        let call = self.call(context).await;
        call.make(self.provider.configure(&call.context, request)).await
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        let call = self.call(context).await;
        call.config(kind, &request.type_name, &request.config);
        call.make(self.provider.validate_config(&call.context, kind, request)).await
    }

    async fn upgrade_resource_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        let call = self.call(context).await;
        call.stored(&request.type_name, &request.raw);
        call.make(self.provider.upgrade_resource_state(&call.context, request)).await
    }

    async fn upgrade_resource_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        let call = self.call(context).await;
        call.make(self.provider.upgrade_resource_identity(&call.context, request)).await
    }

    async fn read_resource(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse {
        let (call, type_name) = (self.call(context).await, request.type_name.clone());
        call.resource(&type_name, &request.current_state);
        call.provider_meta(request.provider_meta.as_ref());
        let mut answer = self.provider.read_resource(&call.context, request).await;
        if let Some(object) = answer.new_state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&type_name, object);
        }
        answer.redact(call.sensitive_values());
        answer
    }

    async fn plan_resource_change(&self, context: &CallContext, request: PlanRequest) -> PlanResponse {
        let (call, type_name) = (self.call(context).await, request.type_name.clone());
        call.resource(&type_name, &request.prior_state);
        call.resource(&type_name, &request.proposed_new_state);
        call.resource(&type_name, &request.config);
        call.provider_meta(request.provider_meta.as_ref());
        let mut answer = self.provider.plan_resource_change(&call.context, request).await;
        if let Some(object) = answer.planned_state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&type_name, object);
        }
        answer.redact(call.sensitive_values());
        answer
    }

    async fn apply_resource_change(&self, context: &CallContext, request: ApplyRequest) -> ApplyResponse {
        let (call, type_name) = (self.call(context).await, request.type_name.clone());
        call.resource(&type_name, &request.prior_state);
        call.resource(&type_name, &request.planned_state);
        call.resource(&type_name, &request.config);
        call.provider_meta(request.provider_meta.as_ref());
        let mut answer = self.provider.apply_resource_change(&call.context, request).await;
        if let Some(object) = answer.new_state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&type_name, object);
        }
        answer.redact(call.sensitive_values());
        answer
    }

    async fn import_resource_state(&self, context: &CallContext, request: ImportRequest) -> ImportResponse {
        let call = self.call(context).await;
        let mut answer = self.provider.import_resource_state(&call.context, request).await;
        for imported in answer.imported.iter().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&imported.type_name, &imported.state);
        }
        answer.redact(call.sensitive_values());
        answer
    }

    async fn move_resource_state(&self, context: &CallContext, request: MoveRequest) -> MoveResponse {
        let (call, type_name) = (self.call(context).await, request.target_type_name.clone());
        // The schema of the source is not available here, but the target's attributes usually have
        // the same names.
        call.stored(&type_name, &request.source_state);
        let mut answer = self.provider.move_resource_state(&call.context, request).await;
        if let Some(object) = answer.target_state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.resource(&type_name, object);
        }
        answer.redact(call.sensitive_values());
        answer
    }

    async fn generate_resource_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> GenerateConfigResponse {
        let call = self.call(context).await;
        call.resource(&type_name, &state);
        call.make(self.provider.generate_resource_config(&call.context, type_name, state)).await
    }

    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        let (call, type_name) = (self.call(context).await, request.type_name.clone());
        call.config(ConfigKind::DataSource, &type_name, &request.config);
        call.provider_meta(request.provider_meta.as_ref());
        let mut answer = self.provider.read_data_source(&call.context, request).await;
        if let Some(object) = answer.state.as_ref().filter(|_| !answer.diagnostics.is_empty()) {
            call.config(ConfigKind::DataSource, &type_name, object);
        }
        answer.redact(call.sensitive_values());
        answer
    }

    async fn open_ephemeral_resource(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        let call = self.call(context).await;
        call.config(ConfigKind::EphemeralResource, &request.type_name, &request.config);
        let mut answer = self.provider.open_ephemeral_resource(&call.context, request).await;
        if let Some(result) = &answer.result {
            // The calls that renew or close the resource may also return this value.
            context.sensitive_values().add_all(result);
        }
        answer.redact(call.sensitive_values());
        answer
    }

    async fn renew_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        let call = self.call(context).await;
        call.make(self.provider.renew_ephemeral_resource(&call.context, type_name, private)).await
    }

    async fn close_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics {
        let call = self.call(context).await;
        call.make(self.provider.close_ephemeral_resource(&call.context, type_name, private)).await
    }

    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        let call = self.call(context).await;
        call.make(self.provider.call_function(&call.context, name, arguments)).await
    }

    async fn validate_list_resource_config(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics {
        let call = self.call(context).await;
        call.list_config(&request.type_name, &request.config);
        call.make(self.provider.validate_list_resource_config(&call.context, request)).await
    }

    async fn list_resource(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        let call = self.call(context).await;
        call.list_config(&request.type_name, &request.config);
        let secrets = call.sensitive_values().clone();
        let mut found = |mut event: ListEvent| {
            event.display_name.redact(&secrets);
            event.diagnostics.redact(&secrets);
            found(event)
        };
        call.make(self.provider.list_resource(&call.context, request, &mut found)).await
    }

    async fn plan_action(&self, context: &CallContext, request: ActionRequest) -> PlanActionResponse {
        let call = self.call(context).await;
        call.config(ConfigKind::Action, &request.action_type, &request.config);
        call.make(self.provider.plan_action(&call.context, request)).await
    }

    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        let call = self.call(context).await;
        call.config(ConfigKind::Action, &request.action_type, &request.config);
        let secrets = call.sensitive_values().clone();
        let mut progress = |mut text: String| {
            text.redact(&secrets);
            progress(text);
        };
        call.make(self.provider.invoke_action(&call.context, request, &mut progress)).await
    }

    async fn stop(&self) -> Result<(), String> {
        let mut answer = self.provider.stop().await;
        if let Some(secrets) = self.configured.get() {
            answer.redact(secrets);
        }
        answer
    }

    async fn close(&self) {
        self.provider.close().await;
    }
}
