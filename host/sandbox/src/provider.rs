//! A component as a [`Provider`]: each call of the protocol becomes one call of
//! the component.
//!
//! Values cross in the encoding of the protocol, against the types that the
//! component's own schema implies. Whatever goes wrong on the way becomes an
//! error diagnostic of the call, beside what the component itself said.
//!
//! The calls are in modules by what they are about; this one has the provider's
//! own and the trait.

mod listing;
mod reading;
mod resource;

use std::sync::Arc;

use async_trait::async_trait;
use wardian_plugin::{
    ActionRequest, ApplyRequest, ApplyResponse, CallContext, ConfigKind, ConfigureRequest, Continue,
    FunctionError, GenerateConfigResponse, ImportRequest, ImportResponse, ListEvent, ListRequest,
    MoveRequest, MoveResponse, OpenEphemeralRequest, OpenEphemeralResponse, PlanActionResponse, PlanRequest,
    PlanResponse, PluginCall, PluginDiagnostics, PrivateBytes, Provider, ProviderSchema,
    ReadDataSourceRequest, ReadDataSourceResponse, ReadResourceRequest, ReadResourceResponse,
    RenewEphemeralResponse, UpgradeStateRequest, UpgradeStateResponse, ValidateConfigRequest,
    ValidateListRequest, has_errors,
};
use wardian_value::{Str, Value};
use wasmtime::Store;

use crate::bindings::exports::wardian::plugin::provider::{
    ConfigureProviderRequest, Guest, ValidateConfigRequest as ValidateConfig,
};
use crate::conversion::{capabilities, decode, diagnostics, encode};
use crate::failure::Failure;
use crate::instance::Running;
use crate::pool::{Needs, Pool};
use crate::schema::{self, DecodedSchema};
use crate::state::GuestState;

/// A provider configuration whose calls a component carries out.
pub(crate) struct ComponentProvider {
    pool: Pool,
}

impl ComponentProvider {
    pub(crate) fn new(pool: Pool) -> Self {
        Self { pool }
    }

    fn plugin_call(
        &self,
        context: &CallContext,
        function: &'static str,
        type_name: Option<&Str>,
    ) -> PluginCall {
        PluginCall::new(&self.pool.plugin().name, function, type_name, context)
    }

    /// Makes a call of the component.
    async fn ask<R: Send>(
        &self,
        call: &PluginCall,
        needs: Needs,
        make: impl for<'a> FnOnce(&'a Guest, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginDiagnostics> {
        let answer = self.pool.call(call.clone(), needs, make).await;
        answer.map_err(|failure| failure.into_diagnostics(call))
    }

    /// The schema, which the component is asked for once.
    async fn known_schema(&self, context: &CallContext) -> Result<&Arc<DecodedSchema>, PluginDiagnostics> {
        self.pool.plugin().schema.get_or_try_init(|| self.ask_for_schema(context)).await
    }

    async fn ask_for_schema(&self, context: &CallContext) -> Result<Arc<DecodedSchema>, PluginDiagnostics> {
        let call = self.plugin_call(context, "get-provider-schema", None);
        let mut schemas = self
            .ask(&call, Needs::Nothing, |guest, store| Box::pin(guest.call_get_provider_schema(store)))
            .await?;
        let said = diagnostics(std::mem::take(&mut schemas.diagnostics));
        if has_errors(&said) {
            return Err(said);
        }
        let identities_call = self.plugin_call(context, "get-resource-identity-schemas", None);
        let identities = self
            .ask(&identities_call, Needs::Nothing, |guest, store| {
                Box::pin(guest.call_get_resource_identity_schemas(store))
            })
            .await?;
        let said = diagnostics(identities.diagnostics);
        if has_errors(&said) {
            return Err(said);
        }
        schema::provider_schema(schemas, identities.schemas)
            .map(Arc::new)
            .map_err(|problem| Failure::BadAnswer(problem).into_diagnostics(&call))
    }

    async fn validate_own_config(
        &self,
        context: &CallContext,
        config: Value,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let call = self.plugin_call(context, "validate-provider-config", None);
        let ty = self.known_schema(context).await?.schema.provider.implied_type();
        let config = written(&call, encode("the configuration", &config, ty))?;
        let said = self
            .ask(&call, Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_validate_provider_config(store, &config).await })
            })
            .await?;
        Ok(diagnostics(said))
    }

    async fn configure_all(
        &self,
        context: &CallContext,
        request: ConfigureRequest,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let call = self.plugin_call(context, "configure-provider", None);
        let ty = self.known_schema(context).await?.schema.provider.implied_type();
        let request = ConfigureProviderRequest {
            terraform_version: request.terraform_version.as_str().to_owned(),
            config: written(&call, encode("the configuration", &request.config, ty))?,
            client_capabilities: capabilities(request.capabilities),
        };
        let configured = self.pool.configure(call.clone(), request).await;
        configured.map_err(|failure| failure.into_diagnostics(&call))
    }

    async fn validate_some_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let name = match kind {
            ConfigKind::Resource => "validate-resource-config",
            ConfigKind::DataSource => "validate-data-resource-config",
            ConfigKind::EphemeralResource => "validate-ephemeral-resource-config",
            ConfigKind::Action => "validate-action-config",
        };
        let call = self.plugin_call(context, name, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let ty = match kind {
            ConfigKind::Resource => schema.resource(&request.type_name),
            ConfigKind::DataSource => schema.data_source(&request.type_name),
            ConfigKind::EphemeralResource => schema.ephemeral_resource(&request.type_name),
            ConfigKind::Action => schema.action(&request.type_name),
        };
        let config = ty.and_then(|ty| encode("the configuration", &request.config, ty));
        let request = ValidateConfig {
            type_name: request.type_name.as_str().to_owned(),
            config: written(&call, config)?,
            client_capabilities: capabilities(request.capabilities),
        };
        let said = self
            .ask(&call, Needs::Nothing, move |guest, store| {
                Box::pin(async move {
                    match kind {
                        ConfigKind::Resource => guest.call_validate_resource_config(store, &request).await,
                        ConfigKind::DataSource => {
                            guest.call_validate_data_resource_config(store, &request).await
                        }
                        ConfigKind::EphemeralResource => {
                            guest.call_validate_ephemeral_resource_config(store, &request).await
                        }
                        ConfigKind::Action => guest.call_validate_action_config(store, &request).await,
                    }
                })
            })
            .await?;
        Ok(diagnostics(said))
    }

    async fn function_result(
        &self,
        context: &CallContext,
        name: &Str,
        arguments: &[Value],
    ) -> Result<Value, FunctionError> {
        let call = self.plugin_call(context, "call-function", Some(name));
        let failed = |failure: Failure| failure.into_function_error(&call);
        let schema = self.known_schema(context).await.map_err(|said| FunctionError {
            text: said.iter().map(|d| d.summary.as_str()).collect::<Vec<_>>().join("; "),
            argument: None,
        })?;
        let function = schema.function(name).map_err(failed)?;
        let arguments = arguments
            .iter()
            .enumerate()
            .map(|(index, argument)| match function.parameter(index) {
                Some(parameter) => encode("an argument", argument, &parameter.ty),
                None => Err(Failure::BadRequest(format!("there is no parameter {}", index + 1))),
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        let function_name = name.as_str().to_owned();
        let answer = self
            .pool
            .call(call.clone(), Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_call_function(store, &function_name, &arguments).await })
            })
            .await
            .map_err(failed)?;
        match answer {
            Ok(result) => decode("the result", &result, &function.return_type).map_err(failed),
            Err(error) => Err(FunctionError {
                text: crate::output::printable(&error.text),
                argument: error.function_argument.and_then(|index| usize::try_from(index).ok()),
            }),
        }
    }
}

/// A request's part, or why the call cannot be made.
fn written<T>(call: &PluginCall, part: Result<T, Failure>) -> Result<T, PluginDiagnostics> {
    part.map_err(|failure| failure.into_diagnostics(call))
}

/// An answer's part; where it is not what it should be, that is said and the
/// part is absent. The other parts count all the same: what an apply did must
/// not be lost because its identity is wrong.
fn heard<T>(call: &PluginCall, said: &mut PluginDiagnostics, part: Result<Option<T>, Failure>) -> Option<T> {
    part.unwrap_or_else(|failure| {
        said.extend(failure.into_diagnostics(call));
        None
    })
}

/// What either way is diagnostics.
fn said(result: Result<PluginDiagnostics, PluginDiagnostics>) -> PluginDiagnostics {
    result.unwrap_or_else(|failed| failed)
}

#[async_trait]
impl Provider for ComponentProvider {
    async fn schema(&self, context: &CallContext) -> Result<Arc<ProviderSchema>, PluginDiagnostics> {
        Ok(Arc::clone(&self.known_schema(context).await?.schema))
    }

    async fn validate_provider_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics {
        said(self.validate_own_config(context, config).await)
    }

    async fn configure(&self, context: &CallContext, request: ConfigureRequest) -> PluginDiagnostics {
        said(self.configure_all(context, request).await)
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> PluginDiagnostics {
        said(self.validate_some_config(context, kind, request).await)
    }

    async fn upgrade_resource_state(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        self.upgrade_state(context, request).await.unwrap_or_else(Into::into)
    }

    async fn upgrade_resource_identity(
        &self,
        context: &CallContext,
        request: UpgradeStateRequest,
    ) -> UpgradeStateResponse {
        self.upgrade_identity(context, request).await.unwrap_or_else(Into::into)
    }

    async fn read_resource(
        &self,
        context: &CallContext,
        request: ReadResourceRequest,
    ) -> ReadResourceResponse {
        self.read(context, request).await.unwrap_or_else(Into::into)
    }

    async fn plan_resource_change(&self, context: &CallContext, request: PlanRequest) -> PlanResponse {
        self.plan(context, request).await.unwrap_or_else(Into::into)
    }

    async fn apply_resource_change(&self, context: &CallContext, request: ApplyRequest) -> ApplyResponse {
        self.apply(context, request).await.unwrap_or_else(Into::into)
    }

    async fn import_resource_state(&self, context: &CallContext, request: ImportRequest) -> ImportResponse {
        self.import(context, request).await.unwrap_or_else(Into::into)
    }

    async fn move_resource_state(&self, context: &CallContext, request: MoveRequest) -> MoveResponse {
        self.take_over(context, request).await.unwrap_or_else(Into::into)
    }

    async fn generate_resource_config(
        &self,
        context: &CallContext,
        type_name: Str,
        state: Value,
    ) -> GenerateConfigResponse {
        self.generate(context, &type_name, &state).await.unwrap_or_else(Into::into)
    }

    async fn read_data_source(
        &self,
        context: &CallContext,
        request: ReadDataSourceRequest,
    ) -> ReadDataSourceResponse {
        self.read_data(context, request).await.unwrap_or_else(Into::into)
    }

    async fn open_ephemeral_resource(
        &self,
        context: &CallContext,
        request: OpenEphemeralRequest,
    ) -> OpenEphemeralResponse {
        self.open(context, request).await.unwrap_or_else(Into::into)
    }

    async fn renew_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> RenewEphemeralResponse {
        self.renew(context, &type_name, &private).await.unwrap_or_else(Into::into)
    }

    async fn close_ephemeral_resource(
        &self,
        context: &CallContext,
        type_name: Str,
        private: PrivateBytes,
    ) -> PluginDiagnostics {
        said(self.end(context, &type_name, &private).await)
    }

    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        self.function_result(context, &name, &arguments).await
    }

    async fn validate_list_resource_config(
        &self,
        context: &CallContext,
        request: ValidateListRequest,
    ) -> PluginDiagnostics {
        said(self.validate_list(context, request).await)
    }

    async fn list_resource(
        &self,
        context: &CallContext,
        request: ListRequest,
        found: &mut (dyn FnMut(ListEvent) -> Continue + Send),
    ) -> PluginDiagnostics {
        said(self.list(context, request, found).await)
    }

    async fn plan_action(&self, context: &CallContext, request: ActionRequest) -> PlanActionResponse {
        self.plan_one_action(context, request).await.unwrap_or_else(Into::into)
    }

    async fn invoke_action(
        &self,
        context: &CallContext,
        request: ActionRequest,
        progress: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics {
        said(self.carry_out(context, request, progress).await)
    }

    async fn stop(&self) -> Result<(), String> {
        let call = self.plugin_call(&CallContext::default(), "stop-provider", None);
        self.pool.stop().await.map_err(|failure| failure.into_function_error(&call).text)
    }

    async fn close(&self) {
        self.pool.close();
    }
}
