//! Implements [`Provisioner`] with calls to a component.
//!
//! Each call runs on a new instance: provisioners are rarely called, and calls must not share
//! state. Each call receives handles that are valid while it runs: a [`Spawner`], and a
//! [`Connection`] to the machine in the connection block. Each access through either handle is
//! checked and recorded for the call's resource.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{OnceCell, mpsc, watch};
use tracing::Instrument as _;
use wardian_monitor::Monitor;
use wardian_plugin::transport::{PluginFailure, encode_value};
use wardian_plugin::{
    CallContext, PluginCall, PluginDiagnostics, ProvisionOutput, ProvisionRequest, Provisioner, Schema,
    has_errors,
};
use wardian_process::Launcher;
use wardian_value::{Path, PathStep, Value};
use wasmtime::component::Resource;
use wasmtime::{Engine, Store};

use crate::bindings::provisioner::ProvisionerPluginPre;
use crate::bindings::provisioner::exports::wardian::plugin::provisioner::{Guest, ProvisionResourceRequest};
use crate::capability::{Connection, LocalPaths, Programs, Spawner};
use crate::conversion::diagnostics;
use crate::grants::Grants;
use crate::instance::{Running, run};
use crate::limits::{Bound, EffectiveLimits, SandboxLimits};
use crate::network::{NetworkOptions, ProviderNetwork};
use crate::schema;
use crate::state::GuestState;
use crate::store;
use crate::ticker::Ticker;

/// Number of output messages that can be queued.
const WAITING_TEXTS: usize = 16;

/// The secret arguments of a connection, which are not passed to the guest.
const SECRETS: [&str; 5] =
    ["bastion_password", "bastion_private_key", "password", "private_key", "proxy_user_password"];

/// State shared by all provisioners of one component.
pub(crate) struct ProvisionerPlugin {
    pub(crate) name: Arc<str>,
    pub(crate) engine: Engine,
    pub(crate) component: ProvisionerPluginPre<GuestState>,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) limits: SandboxLimits,
    pub(crate) network: Arc<NetworkOptions>,
    pub(crate) schema: OnceCell<Arc<Schema>>,
}

/// A provisioner's component, ready to run. Clones share the component.
#[derive(Clone)]
pub struct LoadedProvisioner {
    plugin: Arc<ProvisionerPlugin>,
}

/// The access and settings of a provisioner.
pub struct ProvisionerGrants {
    /// Checks every access of the provisioner.
    pub monitor: Monitor,
    /// Starts the programs.
    pub runner: Arc<Launcher>,
    /// The absolute path of the root module's directory, which is the working directory of
    /// programs.
    pub directory: PathBuf,
    /// The host's environment. Programs receive the variables that the policy grants; the
    /// provisioner itself receives none.
    pub environment: Vec<(String, String)>,
    /// The directory that replaces `~` in paths of copied files.
    pub home: Option<PathBuf>,
    /// The socket of the SSH agent that connections may use.
    pub ssh_agent: Option<PathBuf>,
}

impl LoadedProvisioner {
    pub(crate) fn new(plugin: ProvisionerPlugin) -> Self {
        Self { plugin: Arc::new(plugin) }
    }

    /// Returns a provisioner with the given access.
    pub fn provisioner(&self, grants: ProvisionerGrants) -> Arc<dyn Provisioner> {
        let ProvisionerGrants { monitor, runner, directory, mut environment, home, ssh_agent } = grants;
        environment.retain(|(name, _)| monitor.grants_variable(name));
        let (stop, stopping) = watch::channel(false);
        let grants = Grants::by_policy(monitor.clone(), &directory, []);
        let here = LocalPaths { directory: directory.clone(), home, agent: ssh_agent };
        let programs = Arc::new(Programs { runner, monitor, directory, environment, stopping });
        let network = Arc::new(ProviderNetwork::new(&self.plugin.network, &grants));
        let limits = EffectiveLimits::new(&self.plugin.limits, grants.monitor.policy());
        let plugin = Arc::clone(&self.plugin);
        Arc::new(ComponentProvisioner { plugin, grants, limits, network, programs, here, stop })
    }
}

struct ComponentProvisioner {
    plugin: Arc<ProvisionerPlugin>,
    grants: Grants,
    limits: EffectiveLimits,
    network: Arc<ProviderNetwork>,
    programs: Arc<Programs>,
    here: LocalPaths,
    stop: watch::Sender<bool>,
}

impl ComponentProvisioner {
    fn plugin_call(&self, context: &CallContext, function: &'static str) -> PluginCall {
        PluginCall::new(&self.plugin.name, function, None, context)
    }

    /// Makes a call on a new instance of the component.
    async fn call<R: Send>(
        &self,
        call: &PluginCall,
        limit: &Bound<Duration>,
        sink: Option<mpsc::Sender<String>>,
        make: impl for<'a> FnOnce(&'a Guest, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginDiagnostics> {
        let response = self.try_call(call.clone(), limit, sink, make).await;
        response.map_err(|failure| failure.into_diagnostics(call))
    }

    async fn try_call<R: Send>(
        &self,
        call: PluginCall,
        limit: &Bound<Duration>,
        sink: Option<mpsc::Sender<String>>,
        make: impl for<'a> FnOnce(&'a Guest, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let ProvisionerPlugin { name, engine, component, ticker, .. } = &*self.plugin;
        let limits = &self.limits;
        let mut store = store::create(engine, name, &self.grants, &self.network, limits, &Arc::default());
        let start = PluginCall::outside_of_calls(name);
        let exports =
            run(ticker, limits, &mut store, component, start, &limits.local_call, |component, store| {
                Box::pin(component.instantiate_async(store))
            })
            .await?;
        if let Some(sink) = sink {
            store.data_mut().set_output_sink(sink);
        }
        let span = call.span();
        let exports = exports.wardian_plugin_provisioner();
        run(ticker, limits, &mut store, exports, call, limit, make).instrument(span).await
    }

    /// Returns the schema, which is requested from the component once.
    async fn known_schema(&self, context: &CallContext) -> Result<&Arc<Schema>, PluginDiagnostics> {
        self.plugin.schema.get_or_try_init(|| self.ask_for_schema(context)).await
    }

    async fn ask_for_schema(&self, context: &CallContext) -> Result<Arc<Schema>, PluginDiagnostics> {
        let call = self.plugin_call(context, "get-schema");
        let limit = &self.limits.local_call;
        let response =
            self.call(&call, limit, None, |guest, store| Box::pin(guest.call_get_schema(store))).await?;
        let reported = diagnostics(response.diagnostics);
        if has_errors(&reported) {
            return Err(reported);
        }
        schema::provisioner_schema(response.schema)
            .map(Arc::new)
            .map_err(|problem| PluginFailure::InvalidResponse(problem).into_diagnostics(&call))
    }

    async fn validate(
        &self,
        context: &CallContext,
        config: &Value,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let call = self.plugin_call(context, "validate-provisioner-config");
        let ty = self.known_schema(context).await?.implied_type();
        let config = encode_value("the configuration", config, ty).map_err(|f| f.into_diagnostics(&call))?;
        let limit = &self.limits.local_call;
        let reported = self
            .call(&call, limit, None, move |guest, store| {
                Box::pin(async move { guest.call_validate_provisioner_config(store, &config).await })
            })
            .await?;
        Ok(diagnostics(reported))
    }

    async fn work(
        &self,
        context: &CallContext,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> Result<PluginDiagnostics, PluginDiagnostics> {
        let call = self.plugin_call(context, "provision-resource");
        let ty = self.known_schema(context).await?.implied_type();
        let ProvisionRequest { config, connection: block, shared } = request;
        let connection = without_secrets(&block);
        let config = encode_value("the configuration", &config, ty);
        let connection_info = encode_value("the connection", &connection, connection.ty());
        let (here, stopping) = (self.here.clone(), self.stop.subscribe());
        let request = ProvisionResourceRequest {
            config: config.map_err(|failure| failure.into_diagnostics(&call))?,
            connection_info: connection_info.map_err(|failure| failure.into_diagnostics(&call))?,
        };
        let (programs, for_call) = (Arc::clone(&self.programs), call.clone());
        let (sink, mut shown) = mpsc::channel(WAITING_TEXTS);
        let limit = &self.limits.remote_call;
        let work = self.call(&call, limit, Some(sink), move |guest, store| {
            Box::pin(async move {
                let state = store.data_mut();
                let guard = state.files().guard().clone();
                let own = state.table().push(Spawner { programs, call: for_call, guard })?;
                let spawner = Resource::new_borrow(own.rep());
                let connection = if block.is_null() {
                    None
                } else {
                    let guard = state.files().guard().clone();
                    let connection = Connection::for_call(&block, &shared, guard, here, stopping);
                    Some(Resource::new_borrow(state.table().push(connection)?.rep()))
                };
                guest.call_provision_resource(store, &request, Some(spawner), connection).await
            })
        });
        let mut work = pin!(work);
        let response = loop {
            tokio::select! {
                biased;
                Some(text) = shown.recv() => output(&text),
                response = &mut work => break response,
            }
        };
        while let Ok(text) = shown.try_recv() {
            output(&text);
        }
        Ok(diagnostics(response?))
    }
}

/// Returns a connection without its secrets, for the guest.
fn without_secrets(connection: &Value) -> Value {
    let secret = |path: &Path| match path.steps() {
        [PathStep::Attribute(name)] => SECRETS.contains(&&**name),
        _ => false,
    };
    connection.transform(&mut |path, part| if secret(path) { Value::null(part.ty().clone()) } else { part })
}

#[async_trait]
impl Provisioner for ComponentProvisioner {
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
        // There are no idle instances, so only the programs and connections that instances started
        // have to be stopped.
        self.stop.send_replace(true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_secrets_are_not_passed_to_guest() {
        let connection = Value::object([
            ("host", Value::string("example.com")),
            ("password", Value::string("hush")),
            ("private_key", Value::string("hush")),
        ]);
        let shown = without_secrets(&connection);
        assert_eq!(shown.get("host").and_then(|host| host.as_str()), Some("example.com"));
        assert!(shown.get("password").is_some_and(Value::is_null));
        assert!(shown.get("private_key").is_some_and(Value::is_null));
        assert_eq!(shown.ty(), connection.ty());
    }
}
