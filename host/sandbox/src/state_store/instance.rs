//! An instance of a component whose state stores are called.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tracing::Instrument as _;
use wardian_plugin::PluginCall;
use wardian_plugin::transport::PluginFailure;
use wasmtime::Store;

use crate::bindings::ProviderPlugin;
use crate::bindings::exports::wardian::plugin::provider::Guest as Provider;
use crate::bindings::state_store::StateStoreExports;
use crate::bindings::state_store::exports::wardian::plugin::state_store::Guest as Stores;
use crate::error_chain::chain;
use crate::grants::Grants;
use crate::instance::{Running, begin, finish};
use crate::limits::{Bound, EffectiveLimits};
use crate::network::ProviderNetwork;
use crate::plugin::Plugin;
use crate::state::GuestState;
use crate::store;

/// An instance with its exports. It must not be used after a failed call.
pub(super) struct StoreInstance {
    plugin: Arc<Plugin>,
    limits: Arc<EffectiveLimits>,
    store: Store<GuestState>,
    provider: ProviderPlugin,
    stores: StateStoreExports,
}

impl StoreInstance {
    /// Creates an instance. The guest's initialization code runs within the limits of a call without
    /// external access.
    pub(super) async fn start(
        plugin: &Arc<Plugin>,
        grants: &Grants,
        limits: &Arc<EffectiveLimits>,
        network: &Arc<ProviderNetwork>,
    ) -> Result<Self, PluginFailure> {
        let mut store = store::create(&plugin.engine, &plugin.name, grants, network, limits);
        let running = begin(&plugin.ticker, &mut store, PluginCall::outside_of_calls(&plugin.name))?;
        let (limit, clock) = (&limits.local_call, store.data().clock());
        let starting = plugin.component.instance_pre().instantiate_async(&mut store);
        let started = timeout(limit.value, clock.measure(starting)).await;
        drop(running);
        let instance = finish(limits, &mut store, limit, started)?;
        // The exports were compared with the world when the component was loaded.
        let missing = |error: wasmtime::Error| PluginFailure::NotStarted(chain(&error));
        let provider = ProviderPlugin::new(&mut store, &instance).map_err(missing)?;
        let stores = StateStoreExports::new(&mut store, &instance).map_err(missing)?;
        Ok(Self { plugin: Arc::clone(plugin), limits: Arc::clone(limits), store, provider, stores })
    }

    /// Makes a call to the provider, which may wait for a remote system.
    pub(super) async fn provider<R: Send>(
        &mut self,
        call: PluginCall,
        make: impl for<'a> FnOnce(&'a Provider, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let limits = Arc::clone(&self.limits);
        let running = begin(&self.plugin.ticker, &mut self.store, call.clone())?;
        let clock = self.store.data().clock();
        let answering = make(self.provider.wardian_plugin_provider(), &mut self.store);
        let answer =
            timeout(limits.remote_call.value, clock.measure(answering)).instrument(call.span()).await;
        drop(running);
        finish(&limits, &mut self.store, &limits.remote_call, answer)
    }

    /// Makes a call that waits for no remote system.
    pub(super) async fn local<R: Send>(
        &mut self,
        call: PluginCall,
        make: impl for<'a> FnOnce(&'a Stores, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let limits = Arc::clone(&self.limits);
        self.call(call, &limits.local_call, make).await
    }

    /// Makes a call that may wait for a remote system.
    pub(super) async fn remote<R: Send>(
        &mut self,
        call: PluginCall,
        make: impl for<'a> FnOnce(&'a Stores, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let limits = Arc::clone(&self.limits);
        self.call(call, &limits.remote_call, make).await
    }

    async fn call<R: Send>(
        &mut self,
        call: PluginCall,
        limit: &Bound<Duration>,
        make: impl for<'a> FnOnce(&'a Stores, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let span = call.span();
        let running = begin(&self.plugin.ticker, &mut self.store, call)?;
        let clock = self.store.data().clock();
        let answering = make(self.stores.wardian_plugin_state_store(), &mut self.store);
        let answer = timeout(limit.value, clock.measure(answering)).instrument(span).await;
        drop(running);
        finish(&self.limits, &mut self.store, limit, answer)
    }

    /// Ends the operation to which the last call belonged.
    pub(super) fn end_call(&mut self) {
        store::end_call(&mut self.store);
    }
}
