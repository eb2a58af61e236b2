//! An instance of a component, and calls to it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tracing::Instrument as _;
use wardian_plugin::PluginCall;
use wardian_plugin::transport::PluginFailure;
use wasmtime::Store;

use crate::bindings::ProviderPlugin;
use crate::bindings::exports::wardian::plugin::provider::Guest;
use crate::failure;
use crate::grants::Grants;
use crate::limits::{Bound, EffectiveLimits};
use crate::network::ProviderNetwork;
use crate::plugin::Plugin;
use crate::state::GuestState;
use crate::store;
use crate::ticker::{Ticker, Ticking};

/// A call in progress.
pub(crate) type Running<'a, R> = Pin<Box<dyn Future<Output = wasmtime::Result<R>> + Send + 'a>>;

/// A component's memory and tables, with their own store.
///
/// After a failed or cancelled call, the state of the instance is undefined, so [`crate::pool`]
/// destroys it.
pub(crate) struct Instance {
    plugin: Arc<Plugin>,
    limits: Arc<EffectiveLimits>,
    store: Store<GuestState>,
    exports: ProviderPlugin,
}

impl Instance {
    /// Creates an instance. The guest's initialization code runs within the limits of a call
    /// without external access.
    pub(crate) async fn start(
        plugin: &Arc<Plugin>,
        grants: &Grants,
        limits: &Arc<EffectiveLimits>,
        network: &Arc<ProviderNetwork>,
    ) -> Result<Self, PluginFailure> {
        let mut store = store::create(&plugin.engine, &plugin.name, grants, network, limits);
        let call = PluginCall::outside_of_calls(&plugin.name);
        let running = begin(&plugin.ticker, &mut store, call)?;
        let (limit, clock) = (&limits.local_call, store.data().clock());
        let starting = plugin.component.instantiate_async(&mut store);
        let started = timeout(limit.value, clock.measure(starting)).await;
        drop(running);
        let exports = finish(limits, &mut store, limit, started)?;
        Ok(Self { plugin: Arc::clone(plugin), limits: Arc::clone(limits), store, exports })
    }

    pub(crate) async fn call<R: Send>(
        &mut self,
        call: PluginCall,
        limit: &Bound<Duration>,
        make: impl for<'a> FnOnce(&'a Guest, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let span = call.span();
        let running = begin(&self.plugin.ticker, &mut self.store, call)?;
        let clock = self.store.data().clock();
        let answering = make(self.exports.wardian_plugin_provider(), &mut self.store);
        let answer = timeout(limit.value, clock.measure(answering)).instrument(span).await;
        drop(running);
        finish(&self.limits, &mut self.store, limit, answer)
    }

    /// Ends the operation to which the last call belonged.
    pub(crate) fn end_call(&mut self) {
        store::end_call(&mut self.store);
    }
}

/// Allows the guest to run until the guard is dropped.
pub(crate) fn begin<'a>(
    ticker: &'a Ticker,
    store: &mut Store<GuestState>,
    call: PluginCall,
) -> Result<Ticking<'a>, PluginFailure> {
    let ticking = ticker.start().map_err(PluginFailure::NotStarted)?;
    store::begin_call(store, call);
    store.set_epoch_deadline(1);
    Ok(ticking)
}

/// Converts the outcome of a run.
pub(crate) fn finish<R>(
    limits: &EffectiveLimits,
    store: &mut Store<GuestState>,
    limit: &Bound<Duration>,
    result: Result<wasmtime::Result<R>, Elapsed>,
) -> Result<R, PluginFailure> {
    let Ok(result) = result else {
        return Err(failure::timed_out(limit));
    };
    result.map_err(|error| {
        let state = store.data_mut();
        let refusal = state.memory().take_refusal();
        failure::from_guest(&error, state.output().last_output(), refusal, limits.answer)
    })
}
