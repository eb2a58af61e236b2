//! What the host keeps for one instance.

use std::sync::Arc;

use tokio::sync::mpsc;
use wardian_plugin::PluginCall;
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use crate::capability::{self, Destinations, Deterministic, Files, NewInstance, Requests, Watch};
use crate::computation::ComputationClock;
use crate::current_call::CurrentCall;
use crate::grants::Grants;
use crate::in_flight::InFlight;
use crate::limits::{EffectiveLimits, SpaceBudget};
use crate::network::ProviderNetwork;
use crate::output::Output;

/// The data of an instance's store.
pub(crate) struct GuestState {
    wasi: WasiCtx,
    files: Files,
    current_call: CurrentCall,
    table: ResourceTable,
    space: SpaceBudget,
    clock: Arc<ComputationClock>,
    output: Output,
    network: Arc<ProviderNetwork>,
    requests: Requests,
    destinations: Arc<Destinations>,
    deterministic: Option<Deterministic>,
    /// Who is shown what a provisioner shows.
    audience: Option<mpsc::Sender<String>>,
}

impl GuestState {
    /// A store that nothing runs in yet, with what the grants say and bounded as
    /// the limits say.
    pub(crate) fn store(
        engine: &Engine,
        plugin: &Arc<str>,
        grants: &Grants,
        network: &Arc<ProviderNetwork>,
        limits: &EffectiveLimits,
    ) -> Store<Self> {
        let call = PluginCall::outside_of_calls(plugin);
        let current_call = CurrentCall::new(call.clone());
        let in_flight = InFlight::new(grants.monitor.clone(), current_call.clone());
        let output = Output::new(call.clone(), limits.output);
        let destinations = Arc::new(Destinations::new(in_flight.clone(), Arc::clone(network)));
        let policy = grants.monitor.policy();
        let deterministic = grants.is_deterministic().then(|| Deterministic::new(policy.plugin(), &call));
        let mut wasi = WasiCtxBuilder::new();
        capability::configure(&mut NewInstance {
            grants,
            wasi: &mut wasi,
            output: &output,
            destinations: &destinations,
            deterministic: deterministic.as_ref(),
        });
        let watch = Watch::new(
            grants.monitor.clone(),
            Arc::clone(&grants.files),
            current_call.clone(),
            limits.bytes_written.clone(),
        );
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.host_handles());
        let state = Self {
            wasi: wasi.build(),
            files: Files::new(watch),
            current_call,
            table,
            space: SpaceBudget::new(limits),
            clock: Arc::new(ComputationClock::new(limits)),
            output,
            requests: Requests::new(Arc::clone(network), in_flight),
            network: Arc::clone(network),
            destinations,
            deterministic,
            audience: None,
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.space);
        store.epoch_deadline_callback(|mut store| store.data_mut().clock.tick());
        store.set_hostcall_fuel(limits.answer);
        store.set_max_component_handles(limits.handles);
        store
    }

    /// A call begins.
    pub(crate) fn begin(&mut self, call: PluginCall) {
        self.clock.restart();
        self.output.begin(call.clone());
        self.current_call.begin(call);
        capability::enter(self);
    }

    /// The work is over that the last call was part of.
    pub(crate) fn rest(&mut self) {
        capability::rest(self);
    }

    /// What measures the call's computing.
    pub(crate) fn clock(&self) -> Arc<ComputationClock> {
        Arc::clone(&self.clock)
    }

    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    pub(crate) fn files_mut(&mut self) -> &mut Files {
        &mut self.files
    }

    /// The call that the instance is in.
    pub(crate) fn call(&self) -> PluginCall {
        self.current_call.get()
    }

    pub(crate) fn deterministic(&self) -> Option<&Deterministic> {
        self.deterministic.as_ref()
    }

    pub(crate) fn space(&mut self) -> &mut SpaceBudget {
        &mut self.space
    }

    /// What this provider's requests are sent with.
    pub(crate) fn network(&self) -> &ProviderNetwork {
        &self.network
    }

    pub(crate) fn requests(&mut self) -> &mut Requests {
        &mut self.requests
    }

    pub(crate) fn destinations(&self) -> &Arc<Destinations> {
        &self.destinations
    }

    /// What is shown from here on goes there.
    pub(crate) fn show_to(&mut self, audience: mpsc::Sender<String>) {
        self.audience = Some(audience);
    }

    pub(crate) fn audience(&self) -> Option<mpsc::Sender<String>> {
        self.audience.clone()
    }

    pub(crate) fn output(&self) -> &Output {
        &self.output
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for GuestState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let Requests { context, sender } = &mut self.requests;
        WasiHttpCtxView { ctx: context, table: &mut self.table, hooks: sender }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Instance, Module};

    use super::*;
    use crate::limits::Limits;

    /// A core module with nothing in it but a table of that many functions.
    fn module_with_table(elements: u32) -> Vec<u8> {
        assert!((1 << 14..1 << 21).contains(&elements), "written as three bytes of seven bits");
        let [low, middle, high, _] = elements.to_le_bytes();
        let size = [low | 0x80, (middle << 1 | low >> 7) | 0x80, (high << 2 | middle >> 6) & 0x7f];
        let mut module = vec![0, b'a', b's', b'm', 1, 0, 0, 0];
        // The section of tables: its length, one table, functions, no maximum.
        module.extend([4, 6, 1, 0x70, 0]);
        module.extend(size);
        module
    }

    #[test]
    fn a_store_bounds_the_tables_of_what_runs_in_it() {
        let engine = crate::engine::create().unwrap();
        let limits = Limits { table_elements: 70_000, ..Limits::default() };
        let grants = Grants::nothing();
        let limits = EffectiveLimits::new(&limits, grants.monitor.policy());
        let instantiate = |elements| {
            let module = Module::from_binary(&engine, &module_with_table(elements)).unwrap();
            let name = Arc::from("acme/x");
            let network = Arc::new(ProviderNetwork::new(&Arc::default(), &grants.monitor));
            let mut store = GuestState::store(&engine, &name, &grants, &network, &limits);
            store.set_epoch_deadline(1);
            let error = Instance::new(&mut store, &module, &[]).err();
            (error.is_some(), store.data_mut().space().take_refusal().is_some())
        };
        assert_eq!(instantiate(65_536), (false, false), "big SDKs need as many");
        assert_eq!(instantiate(70_001), (true, true));
    }
}
