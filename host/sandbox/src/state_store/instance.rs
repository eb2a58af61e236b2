//! An instance of a component whose state stores are called.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument as _;
use wardian_plugin::PluginCall;
use wardian_plugin::transport::PluginFailure;
use wasmtime::Store;

use crate::bindings::state_store::StateStoreExports;
use crate::bindings::state_store::exports::wardian::plugin::state_store::Guest as Stores;
use crate::error_chain::chain;
use crate::exports::ProviderExports;
use crate::grants::Grants;
use crate::instance::{Running, run};
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
    provider: ProviderExports,
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
        let mut store = store::create(&plugin.engine, &plugin.name, grants, network, limits, &Arc::default());
        let call = PluginCall::outside_of_calls(&plugin.name);
        let component = plugin.component.instance_pre();
        let instance = run(
            &plugin.ticker,
            limits,
            &mut store,
            component,
            call,
            &limits.local_call,
            |component, store| Box::pin(component.instantiate_async(store)),
        )
        .await?;
        // The exports were compared with the world when the component was loaded.
        let missing = |error: wasmtime::Error| PluginFailure::NotStarted(chain(&error));
        let provider = plugin.component.load(&mut store, &instance).map_err(missing)?;
        let stores = StateStoreExports::new(&mut store, &instance).map_err(missing)?;
        Ok(Self { plugin: Arc::clone(plugin), limits: Arc::clone(limits), store, provider, stores })
    }

    /// Makes a call to the provider, which may wait for a remote system.
    pub(super) async fn provider<R: Send>(
        &mut self,
        call: PluginCall,
        make: impl for<'a> FnOnce(&'a ProviderExports, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let Self { plugin, limits, store, provider, .. } = self;
        let span = call.span();
        run(&plugin.ticker, limits, store, &*provider, call, &limits.remote_call, make).instrument(span).await
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
        let Self { plugin, limits, store, stores, .. } = self;
        let span = call.span();
        let exports = stores.wardian_plugin_state_store();
        run(&plugin.ticker, limits, store, exports, call, limit, make).instrument(span).await
    }

    /// Ends the operation to which the last call belonged.
    pub(super) fn end_call(&mut self) {
        store::end_call(&mut self.store);
    }
}
