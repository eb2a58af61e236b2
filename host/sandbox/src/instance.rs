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

use crate::exports::ProviderExports;
use crate::failure;
use crate::grants::Grants;
use crate::limits::{Bound, EffectiveLimits};
use crate::network::ProviderNetwork;
use crate::plugin::Plugin;
use crate::provider_run::ProviderRun;
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
    exports: ProviderExports,
}

impl Instance {
    /// Creates an instance. The guest's initialization code runs within the limits of a call
    /// without external access.
    pub(crate) async fn start(
        plugin: &Arc<Plugin>,
        grants: &Grants,
        limits: &Arc<EffectiveLimits>,
        network: &Arc<ProviderNetwork>,
        provider_run: &Arc<ProviderRun>,
    ) -> Result<Self, PluginFailure> {
        let mut store = store::create(&plugin.engine, &plugin.name, grants, network, limits, provider_run);
        store.data_mut().symbols.clone_from(&plugin.symbols);
        let call = PluginCall::outside_of_calls(&plugin.name);
        let component = &plugin.component;
        let exports = run(
            &plugin.ticker,
            limits,
            &mut store,
            component,
            call,
            &limits.local_call,
            |component, store| Box::pin(component.instantiate(store)),
        )
        .await?;
        Ok(Self { plugin: Arc::clone(plugin), limits: Arc::clone(limits), store, exports })
    }

    pub(crate) async fn call<R: Send>(
        &mut self,
        call: PluginCall,
        limit: &Bound<Duration>,
        make: impl for<'a> FnOnce(&'a ProviderExports, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
    ) -> Result<R, PluginFailure> {
        let Self { plugin, limits, store, exports } = self;
        let span = call.span();
        run(&plugin.ticker, limits, store, &*exports, call, limit, make).instrument(span).await
    }

    /// Ends the operation to which the last call belonged.
    pub(crate) fn end_call(&mut self) {
        store::end_call(&mut self.store);
    }
}

/// Runs the guest for a call, within the time limit. `make` receives the exports, or the component that
/// it instantiates.
pub(crate) async fn run<E: ?Sized, R: Send>(
    ticker: &Ticker,
    limits: &EffectiveLimits,
    store: &mut Store<GuestState>,
    exports: &E,
    call: PluginCall,
    limit: &Bound<Duration>,
    make: impl for<'a> FnOnce(&'a E, &'a mut Store<GuestState>) -> Running<'a, R> + Send,
) -> Result<R, PluginFailure> {
    let running = begin(ticker, store, call)?;
    let clock = store.data().clock();
    let answering = make(exports, store);
    let answer = timeout(limit.value, clock.measure(answering)).await;
    drop(running);
    finish(limits, store, limit, answer)
}

/// Allows the guest to run until the guard is dropped.
fn begin<'a>(
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
fn finish<R>(
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
        let output = state.output().last_output();
        failure::from_guest(&error, output, refusal, limits.answer, state.symbols.as_deref())
    })
}
