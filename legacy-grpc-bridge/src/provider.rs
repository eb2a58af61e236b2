//! A native plugin as a [`Provider`]: each call of the trait becomes one RPC.
//!
//! Values cross in the encoding of the protocol, against the types that the
//! plugin's own schema implies. Whatever goes wrong on the way becomes an error
//! diagnostic of the call, beside what the plugin itself said.
//!
//! The calls are in modules by what they are about; this one has the provider's
//! own and the trait.

mod listing;
mod reading;
mod resource;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use prost::Message;
use wardian_plugin::{
    ActionRequest, ApplyRequest, ApplyResponse, CallContext, ConfigKind, ConfigureRequest, Continue,
    FunctionError, GenerateConfigResponse, ImportRequest, ImportResponse, ListEvent, ListRequest,
    MoveRequest, MoveResponse, OpenEphemeralRequest, OpenEphemeralResponse, PlanActionResponse, PlanRequest,
    PlanResponse, PluginCall, PluginDiagnostics, PrivateBytes, Provider, ProviderSchema,
    ReadDataSourceRequest, ReadDataSourceResponse, ReadResourceRequest, ReadResourceResponse,
    RenewEphemeralResponse, UpgradeStateRequest, UpgradeStateResponse, ValidateConfigRequest,
    ValidateListRequest, has_errors, printable,
};
use wardian_value::{Str, Value};

use crate::calls::{self, Call};
use crate::conversion::{capabilities, decode, diagnostics, encode};
use crate::failure::Failure;
use crate::plugin::Shared;
use crate::process::Process;
use crate::protocol::tfplugin as m;
use crate::schema::DecodedSchema;
use crate::tenancy::{Configured, Tenancy, leave};

/// A provider configuration whose calls a process carries out.
pub(crate) struct NativeProvider {
    plugin: Arc<Shared>,
    own: Mutex<Own>,
}

/// The process that was configured.
enum Own {
    /// There is none before it is configured.
    Nothing,
    Configured(Arc<Tenancy>),
    Closed,
}

impl NativeProvider {
    pub(crate) fn new(plugin: Arc<Shared>) -> Self {
        Self { plugin, own: Mutex::new(Own::Nothing) }
    }

    fn lock(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self) -> Option<Arc<Process>> {
        match &*self.lock() {
            Own::Configured(tenancy) => tenancy.process().map(Arc::clone),
            Own::Nothing | Own::Closed => None,
        }
    }

    fn plugin_call<Q, A>(
        &self,
        context: &CallContext,
        rpc: &Call<Q, A>,
        type_name: Option<&Str>,
    ) -> PluginCall {
        self.plugin.plugin_call(context, rpc.name(), type_name)
    }

    /// The process to ask.
    async fn process(&self, context: &CallContext) -> Result<Arc<Process>, Failure> {
        match &*self.lock() {
            Own::Configured(tenancy) => {
                if let Some(process) = tenancy.process() {
                    return Ok(Arc::clone(process));
                }
            }
            Own::Closed => return Err(Failure::Closed),
            Own::Nothing => {}
        }
        self.plugin.unconfigured(context).await
    }

    /// Makes a call.
    async fn answer<Q, A>(&self, context: &CallContext, rpc: &Call<Q, A>, request: Q) -> Result<A, Failure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let process = self.process(context).await?;
        self.plugin.ask(context, &process, rpc, request).await
    }

    async fn ask<Q, A>(&self, call: &PluginCall, rpc: &Call<Q, A>, request: Q) -> Result<A, PluginDiagnostics>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        written(call, self.answer(&call.context, rpc, request).await)
    }

    /// Makes a call with many answers.
    async fn draw<Q, A, B>(
        &self,
        call: &PluginCall,
        rpc: &Call<Q, A>,
        request: Q,
        each: impl FnMut(A) -> ControlFlow<B> + Send,
    ) -> Result<Option<B>, PluginDiagnostics>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let process = written(call, self.process(&call.context).await)?;
        let (method, limit) = (rpc.method(process.version()), rpc.time(self.plugin.limits()));
        written(call, process.stream(&call.context, method, request, limit, each).await)
    }

    async fn known_schema(&self, context: &CallContext) -> Result<&Arc<DecodedSchema>, PluginDiagnostics> {
        self.plugin.schema(context).await
    }

    async fn validate_own_config(
        &self,
        context: &CallContext,
        config: Value,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let call = self.plugin_call(context, &calls::VALIDATE_PROVIDER, None);
        let ty = self.known_schema(context).await?.schema.provider.implied_type();
        let config = written(&call, encode("the configuration", &config, ty))?;
        let request = m::validate_provider_config::Request { config };
        // What is not configured yet is asked the same when it is validated and when it
        // is configured, and equal aliases ask the same again; some plugins take seconds.
        let known = self.plugin.validated(request.encode_to_vec());
        let asking = known.get_or_try_init(|| async {
            let answer = self.ask(&call, &calls::VALIDATE_PROVIDER, request).await?;
            Ok(diagnostics(answer.diagnostics))
        });
        asking.await.cloned()
    }

    async fn configure_all(
        &self,
        context: &CallContext,
        request: ConfigureRequest,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let call = self.plugin_call(context, &calls::CONFIGURE, None);
        let ty = self.known_schema(context).await?.schema.provider.implied_type();
        let request = m::configure_provider::Request {
            terraform_version: request.terraform_version.to_string(),
            config: written(&call, encode("the configuration", &request.config, ty))?,
            client_capabilities: capabilities(request.capabilities),
        };
        if let Some(process) = self.own() {
            // Nobody else can rely on how it was configured before.
            if let Own::Configured(tenancy) = &*self.lock() {
                self.plugin.tenancies().forget(tenancy);
            }
            process.keep_secrets(context);
            let answer =
                written(&call, self.plugin.ask(context, &process, &calls::CONFIGURE, request).await)?;
            return Ok(diagnostics(answer.diagnostics));
        }
        let tenancy = self.plugin.tenancies().of(request.encode_to_vec());
        let configuring = tenancy.0.get_or_try_init(|| async {
            let process = self.plugin.to_configure(context).await?;
            process.keep_secrets(context);
            match self.plugin.ask(context, &process, &calls::CONFIGURE, request).await {
                Ok(answer) => Ok(Configured { process, said: diagnostics(answer.diagnostics) }),
                Err(failure) => {
                    process.shut_down().await;
                    Err(failure)
                }
            }
        });
        let said = written(&call, configuring.await)?.said.clone();
        if has_errors(&said) {
            self.plugin.tenancies().forget(&tenancy);
        }
        let surplus = match &mut *self.lock() {
            own @ Own::Nothing => {
                *own = Own::Configured(tenancy);
                return Ok(said);
            }
            Own::Configured(_) => Ok(said),
            Own::Closed => Err(Failure::Closed),
        };
        leave(tenancy).await;
        written(&call, surplus)
    }

    async fn validate_some_config(
        &self,
        context: &CallContext,
        kind: ConfigKind,
        request: ValidateConfigRequest,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
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
        let schema = self.known_schema(context).await?;
        let ty = match kind {
            ConfigKind::Resource => schema.resource(type_name),
            ConfigKind::DataSource => schema.data_source(type_name),
            ConfigKind::EphemeralResource => schema.ephemeral_resource(type_name),
            ConfigKind::Action => schema.action(type_name),
        };
        let config = ty.and_then(|ty| encode("the configuration", &request.config, ty));
        let config = written(&call, config)?;
        let said = match resource_like {
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
        Ok(diagnostics(said))
    }

    async fn function_result(
        &self,
        context: &CallContext,
        name: &Str,
        arguments: &[Value],
    ) -> Result<Value, FunctionError> {
        let call = self.plugin_call(context, &calls::FUNCTION, Some(name));
        let failed = |failure: Failure| failure.into_function_error(&call);
        let schema = self.known_schema(context).await.map_err(|said| FunctionError {
            text: said.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect::<Vec<_>>().join("; "),
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
            .map(|encoded| encoded.map(Option::unwrap_or_default))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
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
}

/// What a provider wants to be stored.
fn private(bytes: &[u8]) -> PrivateBytes {
    bytes.into()
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
impl Provider for NativeProvider {
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
        // What is not configured has nothing in flight that waits for anybody.
        let Some(process) = self.own() else { return Ok(()) };
        let call = self.plugin_call(&CallContext::default(), &calls::STOP, None);
        let request = m::stop_provider::Request {};
        let answer = self.plugin.ask(&call.context, &process, &calls::STOP, request).await;
        let answer = answer.map_err(|failure| failure.into_function_error(&call).text)?;
        if answer.error.is_empty() { Ok(()) } else { Err(printable(&answer.error)) }
    }

    async fn close(&self) {
        let before = std::mem::replace(&mut *self.lock(), Own::Closed);
        if let Own::Configured(tenancy) = before {
            leave(tenancy).await;
        }
    }
}
