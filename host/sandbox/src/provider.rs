//! A component as a transport of the plugin protocol: each provider call becomes one call to the
//! component.
//!
//! Values are passed in the protocol's encoding, with the types that the component's own schema
//! implies. Any failure of the transport becomes an error diagnostic of the call, in addition to
//! the component's own diagnostics.
//!
//! The submodules contain the calls by topic; this module contains the calls that concern the whole
//! provider, and the implementation of the trait.

mod listing;
mod reading;
mod resource;

use std::sync::Arc;

use wardian_plugin::transport::{
    ConfigurationCalls, DecodedSchema, PluginFailure, WireResult, decode_value, encode_function_arguments,
    encode_value, or_diagnostics,
};
use wardian_plugin::{
    CallContext, ConfigKind, ConfigureRequest, FunctionError, PluginCall, PluginDiagnostics,
    ValidateConfigRequest, has_errors,
};
use wardian_value::{Str, Value};
use wasmtime::Store;

use crate::conversion::{self, diagnostics};
use crate::exports::ProviderExports;
use crate::instance::Running;
use crate::pool::{Needs, Pool};
use crate::schema;
use crate::state::GuestState;

/// A provider configuration whose calls a component executes.
pub(crate) struct ComponentWire {
    pool: Pool,
}

impl ComponentWire {
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

    async fn ask<R: Send>(
        &self,
        call: &PluginCall,
        needs: Needs,
        make: impl for<'a> FnOnce(&'a ProviderExports, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> WireResult<R> {
        or_diagnostics(call, self.pool.call(call.clone(), needs, make).await)
    }

    /// Returns the schema, which is requested from the component once.
    pub(crate) async fn known_schema(&self, context: &CallContext) -> WireResult<&Arc<DecodedSchema>> {
        self.pool.plugin().schema.get_or_try_init(|| self.ask_for_schema(context)).await
    }

    async fn ask_for_schema(&self, context: &CallContext) -> WireResult<Arc<DecodedSchema>> {
        let call = self.plugin_call(context, "get-provider-schema", None);
        let mut schemas = self
            .ask(&call, Needs::Nothing, |guest, store| Box::pin(guest.call_get_provider_schema(store)))
            .await?;
        let reported = diagnostics(std::mem::take(&mut schemas.diagnostics));
        if has_errors(&reported) {
            return Err(reported);
        }
        let missing = self.pool.plugin().component.missing_parts(&schemas);
        if let Some(missing) = missing {
            return Err(PluginFailure::InvalidResponse(missing).into_diagnostics(&call));
        }
        let identities_call = self.plugin_call(context, "get-resource-identity-schemas", None);
        let identities = self
            .ask(&identities_call, Needs::Nothing, |guest, store| {
                Box::pin(guest.call_get_resource_identity_schemas(store))
            })
            .await?;
        let reported = diagnostics(identities.diagnostics);
        if has_errors(&reported) {
            return Err(reported);
        }
        schema::provider_schema(schemas, identities.schemas)
            .map(Arc::new)
            .map_err(|problem| PluginFailure::InvalidResponse(problem).into_diagnostics(&call))
    }
}

impl ConfigurationCalls for ComponentWire {
    async fn schema(&self, context: &CallContext) -> WireResult<&Arc<DecodedSchema>> {
        self.known_schema(context).await
    }

    async fn validate_provider_config(
        &self,
        context: &CallContext,
        config: Value,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "validate-provider-config", None);
        let ty = self.known_schema(context).await?.provider();
        let config = or_diagnostics(&call, encode_value("the configuration", &config, ty))?;
        let reported = self
            .ask(&call, Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_validate_provider_config(store, &config).await })
            })
            .await?;
        Ok(diagnostics(reported))
    }

    async fn configure(
        &self,
        context: &CallContext,
        request: ConfigureRequest,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, "configure-provider", None);
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::configure_request(schema, &request))?;
        or_diagnostics(&call, self.pool.configure(call.clone(), request).await)
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> WireResult<PluginDiagnostics> {
        let name = match kind {
            ConfigKind::Resource => "validate-resource-config",
            ConfigKind::DataSource => "validate-data-resource-config",
            ConfigKind::EphemeralResource => "validate-ephemeral-resource-config",
            ConfigKind::Action => "validate-action-config",
        };
        let call = self.plugin_call(context, name, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::validate_request(schema, kind, &request))?;
        let reported = self
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
        Ok(diagnostics(reported))
    }

    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        let call = self.plugin_call(context, "call-function", Some(&name));
        let failed = |failure: PluginFailure| failure.into_function_error(&call);
        let schema = self.known_schema(context).await.map_err(FunctionError::from)?;
        let (function, arguments) = encode_function_arguments(schema, &name, &arguments).map_err(failed)?;
        let function_name = name.as_str().to_owned();
        let response = self
            .pool
            .call(call.clone(), Needs::Nothing, |guest, store| {
                Box::pin(async move { guest.call_call_function(store, &function_name, &arguments).await })
            })
            .await
            .map_err(failed)?;
        match response {
            Ok(result) => decode_value("the result", &result, &function.return_type).map_err(failed),
            Err(error) => Err(conversion::function_error(error)),
        }
    }

    async fn stop(&self) -> Result<(), String> {
        let call = self.plugin_call(&CallContext::default(), "stop-provider", None);
        self.pool.stop().await.map_err(|failure| failure.into_function_error(&call).text)
    }

    async fn close(&self) {
        self.pool.close();
    }
}
