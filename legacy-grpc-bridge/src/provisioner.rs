//! Implements [`Provisioner`] for a native plugin: each call of the trait becomes one RPC.
//!
//! Only protocol 5 supports provisioners. A plugin has one process for all concurrent calls. The
//! process is started when a call first needs it, and restarted if a call needs it after it has
//! terminated. A process has no configuration, so only its active calls are lost when it
//! terminates.

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, OnceCell};
use wardian_plugin::transport::PluginFailure;
use wardian_plugin::{
    CallContext, PluginCall, PluginDiagnostics, ProvisionOutput, ProvisionRequest, Provisioner, Schema,
    has_errors, printable,
};
use wardian_process::Spawner;
use wardian_value::Value;

use crate::conversion::{diagnostics, encode};
use crate::launch::{LaunchError, NativePackage, Offer, launch};
use crate::method::RpcMethod;
use crate::process::{MAX_MESSAGE_LENGTH, Process};
use crate::protocol::tfplugin as m;
use crate::protocol::tfplugin5::{
    get_provisioner_schema, provision_resource, provisioner as calls, validate_provisioner_config,
};
use crate::schema;
use crate::{NativeLimits, ProtocolVersion};

/// A native plugin that is a provisioner. Clones refer to the same plugin.
/// [`NativeProvisioner::close`] terminates its process; otherwise the process is killed when the
/// plugin is dropped.
#[derive(Clone)]
pub struct NativeProvisioner(Arc<Shared>);

impl NativeProvisioner {
    pub(crate) fn new(package: NativePackage, spawner: Arc<Spawner>, limits: NativeLimits) -> Self {
        let process = Mutex::new(State::NotStarted);
        Self(Arc::new(Shared { package, spawner, limits, schema: OnceCell::new(), process }))
    }

    /// Returns the plugin as a [`Provisioner`].
    pub fn provisioner(&self) -> Arc<dyn Provisioner> {
        Arc::clone(&self.0) as Arc<dyn Provisioner>
    }

    /// Terminates the process, and prevents new processes from being started.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut *self.0.process.lock().await, State::Closed);
        if let State::Started(process) = before {
            process.shut_down().await;
        }
    }
}

enum State {
    NotStarted,
    Started(Arc<Process>),
    Closed,
}

struct Shared {
    package: NativePackage,
    spawner: Arc<Spawner>,
    limits: NativeLimits,
    schema: OnceCell<Arc<Schema>>,
    process: Mutex<State>,
}

impl Shared {
    fn plugin_call<Q, A>(&self, context: &CallContext, method: RpcMethod<Q, A>) -> PluginCall {
        PluginCall::new(&self.package.name, method.name(), None, context)
    }

    async fn process(&self) -> Result<Arc<Process>, PluginFailure> {
        let mut process = self.process.lock().await;
        match &*process {
            State::Started(process) if process.is_alive() => return Ok(Arc::clone(process)),
            State::Closed => return Err(PluginFailure::NotStarted(LaunchError::Closed.to_string())),
            State::Started(_) | State::NotStarted => {}
        }
        let started = launch(&self.package, &self.spawner, self.limits.start, Offer::OnlyFive).await;
        let started = Arc::new(started.map_err(|error| PluginFailure::NotStarted(error.to_string()))?);
        if started.version() != ProtocolVersion::Five {
            return Err(PluginFailure::InvalidResponse(
                "it uses protocol 6, which was not offered and has no provisioners".to_owned(),
            ));
        }
        *process = State::Started(Arc::clone(&started));
        Ok(started)
    }

    /// Makes a call without external access.
    async fn ask<Q, A>(
        &self,
        context: &CallContext,
        method: RpcMethod<Q, A>,
        request: Q,
    ) -> Result<A, PluginFailure>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        self.process()
            .await?
            .unary(context, method, request, self.limits.local_call, MAX_MESSAGE_LENGTH)
            .await
    }

    /// Returns the schema, which is requested from the plugin once.
    async fn known_schema(&self, context: &CallContext) -> Result<&Arc<Schema>, PluginDiagnostics> {
        self.schema.get_or_try_init(|| self.ask_for_schema(context)).await
    }

    async fn ask_for_schema(&self, context: &CallContext) -> Result<Arc<Schema>, PluginDiagnostics> {
        let call = self.plugin_call(context, calls::GET_SCHEMA);
        let failed = |failure: PluginFailure| failure.into_diagnostics(&call);
        let answer = self.ask(context, calls::GET_SCHEMA, get_provisioner_schema::Request {}).await;
        let answer = answer.map_err(failed)?;
        let reported = diagnostics(answer.diagnostics);
        if has_errors(&reported) {
            return Err(reported);
        }
        let decoded = schema::provisioner_schema(answer.provisioner.unwrap_or_default());
        decoded.map(Arc::new).map_err(|problem| failed(PluginFailure::InvalidResponse(problem)))
    }

    async fn validate(
        &self,
        context: &CallContext,
        config: &Value,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let call = self.plugin_call(context, calls::VALIDATE_PROVISIONER_CONFIG);
        let failed = |failure: PluginFailure| failure.into_diagnostics(&call);
        let ty = self.known_schema(context).await?.implied_type();
        let config = encode("the configuration", config, ty).map_err(failed)?;
        let request = validate_provisioner_config::Request { config };
        let answer = self.ask(context, calls::VALIDATE_PROVISIONER_CONFIG, request).await.map_err(failed)?;
        Ok(diagnostics(answer.diagnostics))
    }

    async fn work(
        &self,
        context: &CallContext,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let call = self.plugin_call(context, calls::PROVISION_RESOURCE);
        let failed = |failure: PluginFailure| failure.into_diagnostics(&call);
        let ty = self.known_schema(context).await?.implied_type();
        // A native provisioner opens its own connections.
        let ProvisionRequest { config, connection, shared: _ } = request;
        let request = provision_resource::Request {
            config: encode("the configuration", &config, ty).map_err(failed)?,
            connection: encode("the connection", &connection, connection.ty()).map_err(failed)?,
        };
        let mut reported = PluginDiagnostics::new();
        let ended = match self.process().await {
            Ok(process) => {
                let each = |answer: provision_resource::Response| {
                    if !answer.output.is_empty() {
                        output(&printable(&answer.output));
                    }
                    reported.extend(diagnostics(answer.diagnostics));
                    ControlFlow::<()>::Continue(())
                };
                process
                    .stream(context, calls::PROVISION_RESOURCE, request, self.limits.remote_call, each)
                    .await
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = ended {
            reported.extend(failed(failure));
        }
        Ok(reported)
    }

    async fn ask_to_stop(&self) -> Result<(), String> {
        let process = match &*self.process.lock().await {
            State::Started(process) if process.is_alive() => Arc::clone(process),
            State::Started(_) | State::NotStarted | State::Closed => return Ok(()),
        };
        let context = CallContext::default();
        let request = m::stop_provider::Request {};
        let answer =
            process.unary(&context, calls::STOP, request, self.limits.local_call, MAX_MESSAGE_LENGTH).await;
        let answer = answer.map_err(|failure| {
            let reported = failure.into_diagnostics(&self.plugin_call(&context, calls::STOP));
            reported.into_iter().map(|diagnostic| diagnostic.detail).collect::<Vec<_>>().join("; ")
        })?;
        if answer.error.is_empty() { Ok(()) } else { Err(printable(&answer.error)) }
    }
}

#[async_trait]
impl Provisioner for Shared {
    async fn schema(&self, context: &CallContext) -> Result<Arc<Schema>, PluginDiagnostics> {
        self.known_schema(context).await.map(Arc::clone)
    }

    async fn validate_config(&self, context: &CallContext, config: Value) -> PluginDiagnostics {
        self.validate(context, &config).await.unwrap_or_else(|failed| failed)
    }

    async fn provision(
        &self,
        context: &CallContext,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> PluginDiagnostics {
        self.work(context, request, output).await.unwrap_or_else(|failed| failed)
    }

    async fn stop(&self) -> Result<(), String> {
        self.ask_to_stop().await
    }
}
