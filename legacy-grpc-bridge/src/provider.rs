//! A native plugin as a transport of the plugin protocol: each provider call becomes one RPC.
//!
//! Values are passed in the protocol's encoding, with the types that the plugin's own schema
//! implies. Any failure of the transport becomes an error diagnostic of the call, in addition to
//! the plugin's own diagnostics.
//!
//! The submodules contain the calls by topic; this module contains the calls that concern the whole
//! provider, and the implementation of the trait.

mod listing;
mod reading;
mod resource;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prost::Message;
use wardian_plugin::transport::{
    ConfigurationCalls, DecodedSchema, PluginFailure, WireResult, encode_function_arguments, or_diagnostics,
};
use wardian_plugin::{
    CallContext, ConfigKind, ConfigureRequest, FunctionError, PluginCall, PluginDiagnostics, PrivateBytes,
    ValidateConfigRequest, has_errors, printable,
};
use wardian_value::{Str, Value};

use crate::calls::{self, Rpc};
use crate::conversion::{capabilities, decode, diagnostics, dynamic_value, encode};
use crate::process::Process;
use crate::protocol::tfplugin as m;
use crate::shared::Shared;
use crate::shared_process::{Configured, SharedProcess, release};

/// A provider configuration whose calls a process executes.
pub(crate) struct NativeWire {
    plugin: Arc<Shared>,
    own: Mutex<Own>,
}

/// The process of the configuration.
enum Own {
    /// The provider is not configured yet.
    Nothing,
    Configured(Arc<SharedProcess>),
    Closed,
}

impl NativeWire {
    pub(crate) fn new(plugin: Arc<Shared>) -> Self {
        Self { plugin, own: Mutex::new(Own::Nothing) }
    }

    fn lock(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self) -> Option<Arc<Process>> {
        match &*self.lock() {
            Own::Configured(shared) => shared.process().map(Arc::clone),
            Own::Nothing | Own::Closed => None,
        }
    }

    fn plugin_call<Q, A>(
        &self,
        context: &CallContext,
        rpc: &Rpc<Q, A>,
        type_name: Option<&Str>,
    ) -> PluginCall {
        self.plugin.plugin_call(context, rpc.name(), type_name)
    }

    /// Returns the process that executes the calls.
    async fn process(&self, context: &CallContext) -> Result<Arc<Process>, PluginFailure> {
        match &*self.lock() {
            Own::Configured(shared) => {
                if let Some(process) = shared.process() {
                    return Ok(Arc::clone(process));
                }
            }
            Own::Closed => return Err(PluginFailure::Closed),
            Own::Nothing => {}
        }
        self.plugin.unconfigured(context).await
    }

    /// Makes a unary call.
    async fn answer<Q, A>(
        &self,
        context: &CallContext,
        rpc: &Rpc<Q, A>,
        request: Q,
    ) -> Result<A, PluginFailure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let process = self.process(context).await?;
        self.plugin.ask(context, &process, rpc, request).await
    }

    async fn ask<Q, A>(&self, call: &PluginCall, rpc: &Rpc<Q, A>, request: Q) -> WireResult<A>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        or_diagnostics(call, self.answer(&call.context, rpc, request).await)
    }

    /// Makes a streaming call.
    async fn draw<Q, A, B>(
        &self,
        call: &PluginCall,
        rpc: &Rpc<Q, A>,
        request: Q,
        each: impl FnMut(A) -> ControlFlow<B> + Send,
    ) -> Result<Option<B>, PluginDiagnostics>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let process = or_diagnostics(call, self.process(&call.context).await)?;
        let (method, limit) = (rpc.method(process.version()), rpc.time(self.plugin.limits()));
        or_diagnostics(call, process.stream(&call.context, method, request, limit, each).await)
    }

    async fn known_schema(&self, context: &CallContext) -> WireResult<&Arc<DecodedSchema>> {
        self.plugin.schema(context).await
    }
}

impl ConfigurationCalls for NativeWire {
    async fn schema(&self, context: &CallContext) -> WireResult<&Arc<DecodedSchema>> {
        self.known_schema(context).await
    }

    async fn validate_provider_config(
        &self,
        context: &CallContext,
        config: Value,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, &calls::VALIDATE_PROVIDER, None);
        let ty = self.known_schema(context).await?.provider();
        let config = or_diagnostics(&call, encode("the configuration", &config, ty))?;
        let request = m::validate_provider_config::Request { config };
        // The same configuration is validated in the validation phase, before the provider is
        // configured, and for each alias with an equal configuration. Some plugins take seconds to
        // validate a configuration, so the result is reused.
        let known = self.plugin.validated(request.encode_to_vec());
        let asking = known.get_or_try_init(|| async {
            let answer = self.ask(&call, &calls::VALIDATE_PROVIDER, request).await?;
            Ok(diagnostics(answer.diagnostics))
        });
        asking.await.cloned()
    }

    async fn configure(
        &self,
        context: &CallContext,
        request: ConfigureRequest,
    ) -> WireResult<PluginDiagnostics> {
        let call = self.plugin_call(context, &calls::CONFIGURE, None);
        let ty = self.known_schema(context).await?.provider();
        let request = m::configure_provider::Request {
            terraform_version: request.terraform_version.to_string(),
            config: or_diagnostics(&call, encode("the configuration", &request.config, ty))?,
            client_capabilities: capabilities(request.capabilities),
        };
        if let Some(process) = self.own() {
            // The process will have another configuration, so other providers can no longer share
            // it.
            if let Own::Configured(shared) = &*self.lock() {
                self.plugin.processes().forget(shared);
            }
            process.keep_secrets(context);
            let answer =
                or_diagnostics(&call, self.plugin.ask(context, &process, &calls::CONFIGURE, request).await)?;
            return Ok(diagnostics(answer.diagnostics));
        }
        let shared = self.plugin.processes().for_request(request.encode_to_vec());
        let configuring = shared.0.get_or_try_init(|| async {
            let process = self.plugin.to_configure(context).await?;
            process.keep_secrets(context);
            match self.plugin.ask(context, &process, &calls::CONFIGURE, request).await {
                Ok(answer) => Ok(Configured { process, reported: diagnostics(answer.diagnostics) }),
                Err(failure) => {
                    process.shut_down().await;
                    Err(failure)
                }
            }
        });
        let reported = or_diagnostics(&call, configuring.await)?.reported.clone();
        if has_errors(&reported) {
            self.plugin.processes().forget(&shared);
        }
        let surplus = match &mut *self.lock() {
            own @ Own::Nothing => {
                *own = Own::Configured(shared);
                return Ok(reported);
            }
            Own::Configured(_) => Ok(reported),
            Own::Closed => Err(PluginFailure::Closed),
        };
        release(shared).await;
        or_diagnostics(&call, surplus)
    }

    async fn validate_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> WireResult<PluginDiagnostics> {
        let type_name = &request.type_name;
        let resource_like = match kind {
            ConfigKind::Resource => Some(&calls::VALIDATE_RESOURCE),
            ConfigKind::DataSource => Some(&calls::VALIDATE_DATA),
            ConfigKind::EphemeralResource => Some(&calls::VALIDATE_EPHEMERAL),
            ConfigKind::Action => None,
        };
        let call = match resource_like {
            Some(call) => self.plugin_call(context, call, Some(type_name)),
            None => self.plugin_call(context, &calls::VALIDATE_ACTION, Some(type_name)),
        };
        let ty = self.known_schema(context).await?.config(kind, type_name);
        let config = ty.and_then(|ty| encode("the configuration", &request.config, ty));
        let config = or_diagnostics(&call, config)?;
        let reported = match resource_like {
            Some(rpc) => {
                let request = m::validate_resource_config::Request {
                    type_name: type_name.to_string(),
                    config,
                    client_capabilities: capabilities(request.capabilities)
                        .filter(|_| kind == ConfigKind::Resource),
                };
                self.ask(&call, rpc, request).await?.diagnostics
            }
            None => {
                let request =
                    m::validate_action_config::Request { action_type: type_name.to_string(), config };
                self.ask(&call, &calls::VALIDATE_ACTION, request).await?.diagnostics
            }
        };
        Ok(diagnostics(reported))
    }

    async fn call_function(
        &self,
        context: &CallContext,
        name: Str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        let call = self.plugin_call(context, &calls::FUNCTION, Some(&name));
        let failed = |failure: PluginFailure| failure.into_function_error(&call);
        let schema = self.known_schema(context).await.map_err(FunctionError::from)?;
        let (function, arguments) = encode_function_arguments(schema, &name, &arguments).map_err(failed)?;
        let arguments = arguments.into_iter().map(dynamic_value).collect();
        let request = m::call_function::Request { name: name.to_string(), arguments };
        let answer = self.answer(context, &calls::FUNCTION, request).await.map_err(failed)?;
        match answer.error {
            None => decode("the result", answer.result.as_ref(), &function.return_type).map_err(failed),
            Some(error) => Err(FunctionError {
                text: printable(&error.text),
                argument: error.function_argument.and_then(|index| usize::try_from(index).ok()),
            }),
        }
    }

    async fn stop(&self) -> Result<(), String> {
        // Without a configuration, no active call can be waiting for a remote system, so there is
        // nothing to stop.
        let Some(process) = self.own() else { return Ok(()) };
        let call = self.plugin_call(&CallContext::default(), &calls::STOP, None);
        let request = m::stop_provider::Request {};
        let answer = self.plugin.ask(&call.context, &process, &calls::STOP, request).await;
        let answer = answer.map_err(|failure| failure.into_function_error(&call).text)?;
        if answer.error.is_empty() { Ok(()) } else { Err(printable(&answer.error)) }
    }

    async fn close(&self) {
        let before = std::mem::replace(&mut *self.lock(), Own::Closed);
        if let Own::Configured(shared) = before {
            release(shared).await;
        }
    }
}

/// Converts the private data that a provider returns for storage.
fn private(bytes: &[u8]) -> PrivateBytes {
    bytes.into()
}
