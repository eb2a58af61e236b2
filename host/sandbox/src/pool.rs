//! The instances of one provider configuration.
//!
//! An instance serves one call at a time, so concurrent calls need several instances. A call takes
//! an idle instance or creates a new instance, which is configured before its first call that needs
//! the provider's configuration. Only an instance whose call ended normally is returned to the
//! pool. An instance is destroyed with its memory if its call trapped, ran out of time or was
//! abandoned (its future was dropped). Therefore, a failed call cannot affect other calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use wardian_plugin::transport::PluginFailure;
use wardian_plugin::{CallContext, PluginCall, PluginDiagnostics, has_errors};
use wasmtime::Store;

use crate::bindings::exports::wardian::plugin::provider::ConfigureProviderRequest;
use crate::conversion;
use crate::exports::ProviderExports;
use crate::grants::Grants;
use crate::instance::{Instance, Running};
use crate::limits::EffectiveLimits;
use crate::network::ProviderNetwork;
use crate::plugin::Plugin;
use crate::provider_run::ProviderRun;
use crate::state::GuestState;

/// Whether a call needs the provider's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The call needs the configuration, and may also wait for a remote system.
    Configuration,
    /// The call needs no configuration, so any instance can serve it.
    Nothing,
}

pub(crate) struct Pool {
    plugin: Arc<Plugin>,
    grants: Grants,
    network: Arc<ProviderNetwork>,
    run: Arc<ProviderRun>,
    limits: Arc<EffectiveLimits>,
    permits: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    configuration: Option<Arc<Configuration>>,
}

struct Idle {
    instance: Instance,
    configured: Option<Arc<Configuration>>,
}

/// Maximum number of bytes of a configured form.
const MAX_FORM_BYTES: usize = 1 << 20;

/// The configuration of all instances.
struct Configuration {
    request: ConfigureProviderRequest,
    /// The form of the first configured instance, with which the other instances are configured.
    form: Option<Vec<u8>>,
}

/// An instance that is in use. It is destroyed unless [`Lease::give_back`] is called.
pub(crate) struct Lease<'a> {
    pool: &'a Pool,
    needs: Needs,
    in_use: Idle,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(crate) fn new(plugin: Arc<Plugin>, grants: Grants) -> Self {
        let permits = Semaphore::new(plugin.parallelism);
        let limits = Arc::new(EffectiveLimits::new(&plugin.limits, grants.monitor.policy()));
        let network = Arc::new(ProviderNetwork::new(&plugin.network, &grants));
        let run = Arc::new(ProviderRun::new(&plugin.schema));
        Self { plugin, grants, limits, network, run, permits, state: Mutex::default() }
    }

    pub(crate) fn plugin(&self) -> &Arc<Plugin> {
        &self.plugin
    }

    /// Makes a call on any suitable instance.
    pub(crate) async fn call<R: Send>(
        &self,
        call: PluginCall,
        needs: Needs,
        make: impl for<'a> FnOnce(&'a ProviderExports, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let mut lease = self.lease(&call.context, needs).await?;
        let answer = lease.call(call, make).await?;
        lease.give_back();
        Ok(answer)
    }

    /// Configures the provider: one instance immediately, and all others when they are created.
    pub(crate) async fn configure(
        &self,
        call: PluginCall,
        request: ConfigureProviderRequest,
    ) -> Result<PluginDiagnostics, PluginFailure> {
        let mut lease = self.unconfigured().await?;
        let diagnostics = lease.configure(call.clone(), &request).await?;
        if !has_errors(&diagnostics) {
            let form = lease.configured_form(call).await?;
            let configuration = Arc::new(Configuration { request, form });
            lease.in_use.configured = Some(Arc::clone(&configuration));
            {
                let mut state = self.state();
                state.configuration = Some(configuration);
                state.idle.retain(|idle| idle.configured.is_none());
            }
            lease.give_back();
        }
        Ok(diagnostics)
    }

    /// Interrupts running calls, and stops idle instances. A busy instance receives no further call,
    /// since a component of WASI 0.2 executes one call at a time; it receives the interruption.
    pub(crate) async fn stop(&self) -> Result<(), PluginFailure> {
        self.run.interrupter.interrupt();
        let idle = std::mem::take(&mut self.state().idle);
        for mut idle in idle.into_iter().filter(|idle| idle.configured.is_some()) {
            let call = PluginCall::new(&self.plugin.name, "stop-provider", None, &CallContext::default());
            let limit = &self.limits.local_call;
            let answer = idle
                .instance
                .call(call, limit, |guest, store| Box::pin(guest.call_stop_provider(store)))
                .await?;
            answer.map_err(|reason| PluginFailure::InvalidResponse(crate::output::printable(&reason)))?;
            idle.instance.end_call();
            self.state().idle.push(idle);
        }
        Ok(())
    }

    /// Drops idle instances immediately, and instances in use when their calls end.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.state().idle.clear();
    }

    /// Takes an instance for several successive calls, all in this call context.
    pub(crate) async fn lease(
        &self,
        context: &CallContext,
        needs: Needs,
    ) -> Result<Lease<'_>, PluginFailure> {
        let permit = self.permits.acquire().await.map_err(|_| PluginFailure::Closed)?;
        let (idle, wanted) = {
            let mut state = self.state();
            let wanted = match needs {
                Needs::Configuration => state.configuration.clone(),
                Needs::Nothing => None,
            };
            (state.take(wanted.as_ref()), wanted)
        };
        let in_use = match idle {
            Some(idle) => idle,
            None => self.start().await?,
        };
        let mut lease = Lease { pool: self, needs, in_use, _permit: permit };
        if let Some(wanted) = wanted
            && lease.in_use.configured.is_none()
        {
            let call = |function| PluginCall::new(&self.plugin.name, function, None, context);
            let diagnostics = match &wanted.form {
                Some(form) => lease.restore(call("restore-configured-form"), form).await?,
                None => lease.configure(call("configure-provider"), &wanted.request).await?,
            };
            lease.in_use.configured = Some(Arc::clone(&wanted));
            if has_errors(&diagnostics) {
                return Err(PluginFailure::NotConfigured(diagnostics));
            }
        }
        Ok(lease)
    }

    async fn unconfigured(&self) -> Result<Lease<'_>, PluginFailure> {
        let permit = self.permits.acquire().await.map_err(|_| PluginFailure::Closed)?;
        let idle = self.state().take_unconfigured();
        let in_use = match idle {
            Some(idle) => idle,
            None => self.start().await?,
        };
        Ok(Lease { pool: self, needs: Needs::Configuration, in_use, _permit: permit })
    }

    async fn start(&self) -> Result<Idle, PluginFailure> {
        let instance =
            Instance::start(&self.plugin, &self.grants, &self.limits, &self.network, &self.run).await?;
        Ok(Idle { instance, configured: None })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the most recently used instance, whose memory is warm. If `wanted` is set, takes a
    /// configured instance, or else an instance without a configuration.
    fn take(&mut self, wanted: Option<&Arc<Configuration>>) -> Option<Idle> {
        match wanted {
            None => self.idle.pop(),
            Some(_) => {
                let at = self.idle.iter().rposition(|idle| idle.configured.is_some());
                match at {
                    Some(at) => Some(self.idle.swap_remove(at)),
                    None => self.take_unconfigured(),
                }
            }
        }
    }

    fn take_unconfigured(&mut self) -> Option<Idle> {
        let at = self.idle.iter().rposition(|idle| idle.configured.is_none())?;
        Some(self.idle.swap_remove(at))
    }
}

impl Lease<'_> {
    /// Makes a call on the instance; the lease must not be used after a failure.
    pub(crate) async fn call<R: Send>(
        &mut self,
        call: PluginCall,
        make: impl for<'a> FnOnce(&'a ProviderExports, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let limits = &self.pool.limits;
        let limit = match self.needs {
            Needs::Configuration => &limits.remote_call,
            Needs::Nothing => &limits.local_call,
        };
        self.in_use.instance.call(call, limit, make).await
    }

    async fn configure(
        &mut self,
        call: PluginCall,
        request: &ConfigureProviderRequest,
    ) -> Result<PluginDiagnostics, PluginFailure> {
        let limit = &self.pool.limits.remote_call;
        let request = request.clone();
        let answer = self
            .in_use
            .instance
            .call(call, limit, move |guest, store| {
                Box::pin(async move { guest.call_configure_provider(store, &request).await })
            })
            .await?;
        Ok(conversion::diagnostics(answer))
    }

    /// Returns the form of the configured instance, if the plugin hands it on.
    async fn configured_form(&mut self, configured: PluginCall) -> Result<Option<Vec<u8>>, PluginFailure> {
        if !self.pool.plugin.component.has_configured_form() {
            return Ok(None);
        }
        let limit = &self.pool.limits.local_call;
        let call = PluginCall { function: "get-configured-form", ..configured };
        let get = self
            .in_use
            .instance
            .call(call, limit, |guest, store| Box::pin(async move { guest.configured_form(store).await }));
        let form = get.await?;
        if let Some(length) = form.as_ref().map(Vec::len).filter(|length| *length > MAX_FORM_BYTES) {
            return Err(PluginFailure::InvalidResponse(format!(
                "its configured form has {length} bytes; the limit is {MAX_FORM_BYTES} bytes"
            )));
        }
        Ok(form)
    }

    /// Configures the instance with the form of another instance.
    async fn restore(&mut self, call: PluginCall, form: &[u8]) -> Result<PluginDiagnostics, PluginFailure> {
        let limit = &self.pool.limits.remote_call;
        let form = form.to_vec();
        let answer = self
            .in_use
            .instance
            .call(call, limit, move |guest, store| {
                Box::pin(async move { guest.restore_configured_form(store, &form).await })
            })
            .await?;
        Ok(conversion::diagnostics(answer))
    }

    /// Returns the instance to the pool, unless the provider has been reconfigured or closed.
    pub(crate) fn give_back(mut self) {
        self.in_use.instance.end_call();
        let mut state = self.pool.state();
        let current = match (&self.in_use.configured, &state.configuration) {
            (None, _) => true,
            (Some(has), Some(wanted)) => Arc::ptr_eq(has, wanted),
            (Some(_), None) => false,
        };
        // In deterministic mode, memory left by one call must not affect another.
        let is_reused = !self.pool.grants.is_deterministic();
        if current && is_reused && !self.pool.permits.is_closed() {
            state.idle.push(self.in_use);
        }
    }
}
