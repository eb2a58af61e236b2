//! A provider of the SDK as a transport of the plugin protocol: each call of the host becomes one call on
//! the provider's thread, with the records that a component receives. The submodules contain the calls by
//! topic.

mod conversion;
mod listing;
mod reading;
mod resource;
mod schema;
mod thread;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use wardian_plugin::transport::{
    ConfigurationCalls, DecodedSchema, PluginFailure, Transport, WireResult, decode_value,
    encode_function_arguments, encode_value, or_diagnostics,
};
use wardian_plugin::{
    CallContext, ConfigKind, ConfigureRequest, FunctionError, PluginCall, PluginDiagnostics, Provider,
    ValidateConfigRequest, has_errors,
};
use wardian_value::{Str, Value, json};

use crate::environment::{Environment, ReturnedIdentities};
use conversion::diagnostics;
use thread::{Guest, ProviderThread};

pub(crate) use thread::ProviderFactory;

/// A provider configuration.
pub(crate) struct InProcessWire {
    name: Arc<str>,
    thread: ProviderThread,
    schema: OnceCell<Arc<DecodedSchema>>,
    identities: ReturnedIdentities,
}

impl InProcessWire {
    /// Starts a provider.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a thread.
    pub(crate) fn start(
        name: &str,
        factory: ProviderFactory,
        environment: Environment,
        call_limit: Duration,
    ) -> io::Result<Arc<dyn Provider>> {
        let identities = environment.identities.clone();
        let thread = ProviderThread::start(name, factory, environment, call_limit)?;
        let wire = Self { name: name.into(), thread, schema: OnceCell::new(), identities };
        Ok(Arc::new(Transport::new(wire)))
    }

    /// Retains the identity that the provider returned for the object of the call.
    fn record_identity(&self, context: &CallContext, identity: Option<&Value>) {
        if let (Some(address), Some(identity)) = (context.address(), identity) {
            self.identities.record(address, json::to_json_value(identity));
        }
    }

    fn plugin_call(
        &self,
        context: &CallContext,
        function: &'static str,
        type_name: Option<&Str>,
    ) -> PluginCall {
        PluginCall::new(&self.name, function, type_name, context)
    }

    async fn ask<R: Send + 'static>(
        &self,
        call: &PluginCall,
        work: impl FnOnce(&mut Guest) -> R + Send + 'static,
    ) -> WireResult<R> {
        or_diagnostics(call, self.thread.call(work).await)
    }

    async fn known_schema(&self, context: &CallContext) -> WireResult<&Arc<DecodedSchema>> {
        self.schema.get_or_try_init(|| self.ask_for_schema(context)).await
    }

    async fn ask_for_schema(&self, context: &CallContext) -> WireResult<Arc<DecodedSchema>> {
        let call = self.plugin_call(context, "get-provider-schema", None);
        let (mut schemas, identities) = self
            .ask(&call, |guest| (guest.provider.provider_schema(), guest.provider.identity_schemas()))
            .await?;
        let mut reported = diagnostics(std::mem::take(&mut schemas.diagnostics));
        reported.extend(diagnostics(identities.diagnostics));
        if has_errors(&reported) {
            return Err(reported);
        }
        let decoded = schema::provider_schema(schemas, identities.schemas);
        or_diagnostics(&call, decoded.map(Arc::new).map_err(PluginFailure::InvalidResponse))
    }
}

impl ConfigurationCalls for InProcessWire {
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
        let reported = self.ask(&call, move |guest| guest.provider.validate_provider_config(&config)).await?;
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
        or_diagnostics(&call, self.thread.configure(request).await).map(diagnostics)
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> WireResult<PluginDiagnostics> {
        let function = match kind {
            ConfigKind::Resource => "validate-resource-config",
            ConfigKind::DataSource => "validate-data-resource-config",
            ConfigKind::EphemeralResource => "validate-ephemeral-resource-config",
            ConfigKind::Action => "validate-action-config",
        };
        let call = self.plugin_call(context, function, Some(&request.type_name));
        let schema = self.known_schema(context).await?;
        let request = or_diagnostics(&call, conversion::validate_request(schema, kind, &request))?;
        let reported = self
            .ask(&call, move |guest| match kind {
                ConfigKind::Resource => guest.provider.validate_resource(&request),
                ConfigKind::DataSource => guest.provider.validate_data_source(&request),
                ConfigKind::EphemeralResource => guest.provider.validate_ephemeral(&request),
                ConfigKind::Action => guest.provider.validate_action(&request),
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
        let schema = self.known_schema(context).await.map_err(|reported| FunctionError {
            text: reported.first().map(|one| one.summary.clone()).unwrap_or_default(),
            argument: None,
        })?;
        let failed = |failure: PluginFailure| failure.into_function_error(&call);
        let (function, arguments) = encode_function_arguments(schema, &name, &arguments).map_err(failed)?;
        let called = name.as_str().to_owned();
        let answer = self.thread.call(move |guest| guest.provider.call_function(&called, &arguments)).await;
        match answer.map_err(failed)? {
            Ok(bytes) => decode_value("the result", &bytes, &function.return_type).map_err(failed),
            Err(error) => Err(conversion::function_error(error)),
        }
    }

    // The thread executes one call at a time, so no other call is in progress.
    async fn stop(&self) -> Result<(), String> {
        Ok(())
    }

    async fn close(&self) {}
}
