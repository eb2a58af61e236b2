//! Stores, each of which contains an instance's state, grants and limits. This module also begins
//! and ends calls.

use std::sync::Arc;

use wardian_plugin::PluginCall;
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store};
use wasmtime_wasi::WasiCtxBuilder;

use crate::capability::deterministic::Deterministic;
use crate::capability::filesystem::file_guard::FileGuard;
use crate::capability::filesystem::open_files::Files;
use crate::capability::http::requests::Requests;
use crate::capability::sockets::egress::SocketEgress;
use crate::capability::{self, NewInstance};
use crate::cpu_budget::CpuClock;
use crate::current_call::CurrentCall;
use crate::grants::Grants;
use crate::limits::{EffectiveLimits, MemoryLimiter};
use crate::network::ProviderNetwork;
use crate::output::Output;
use crate::provider_run::ProviderRun;
use crate::state::GuestState;

/// Creates a store with these grants and limits, without an instance.
pub(crate) fn create(
    engine: &Engine,
    plugin: &Arc<str>,
    grants: &Grants,
    network: &Arc<ProviderNetwork>,
    limits: &EffectiveLimits,
    run: &Arc<ProviderRun>,
) -> Store<GuestState> {
    let call = PluginCall::outside_of_calls(plugin);
    let current_call = CurrentCall::new(grants.monitor.clone(), call.clone());
    let output = Output::new(call.clone(), limits.output);
    let egress = Arc::new(SocketEgress::new(current_call.clone(), Arc::clone(network)));
    let policy = grants.monitor.policy();
    let deterministic = grants.is_deterministic().then(|| Deterministic::new(policy.plugin(), &call));
    let mut wasi = WasiCtxBuilder::new();
    capability::instantiate(&mut NewInstance {
        grants,
        wasi: &mut wasi,
        output: &output,
        egress: &egress,
        deterministic: deterministic.as_ref(),
    });
    let clock = Arc::new(CpuClock::new(limits));
    let guard = FileGuard::new(
        Arc::clone(&grants.files),
        current_call.clone(),
        Arc::clone(&clock),
        limits.bytes_written.clone(),
    );
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.host_handles());
    let state = GuestState {
        wasi: wasi.build(),
        files: Files::new(guard, grants.has_directories()),
        requests: Requests::new(Arc::clone(network), current_call.clone()),
        current_call,
        table,
        memory: MemoryLimiter::new(limits),
        clock,
        output,
        network: Arc::clone(network),
        egress,
        deterministic,
        run: Arc::clone(run),
        output_sink: None,
        symbols: None,
    };
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.memory);
    store.epoch_deadline_callback(|mut store| store.data_mut().clock.tick());
    store.set_hostcall_fuel(limits.answer);
    store.set_max_component_handles(limits.handles);
    store
}

pub(crate) fn begin_call(store: &mut Store<GuestState>, call: PluginCall) {
    store.data_mut().begin_call(call);
    capability::begin_call(store.data_mut());
}

/// Ends the operation to which the last call belonged.
pub(crate) fn end_call(store: &mut Store<GuestState>) {
    capability::end_call(store.data_mut());
}

#[cfg(test)]
mod tests {
    use wasmtime::{Instance, Module};

    use super::*;
    use crate::limits::SandboxLimits;

    /// Returns a core module that contains only a table with this many elements.
    fn module_with_table(elements: u32) -> Vec<u8> {
        assert!((1 << 14..1 << 21).contains(&elements), "written as three bytes of seven bits");
        let [low, middle, high, _] = elements.to_le_bytes();
        let size = [low | 0x80, (middle << 1 | low >> 7) | 0x80, (high << 2 | middle >> 6) & 0x7f];
        let mut module = vec![0, b'a', b's', b'm', 1, 0, 0, 0];
        // The table section: its length, one table, functions, no maximum.
        module.extend([4, 6, 1, 0x70, 0]);
        module.extend(size);
        module
    }

    #[test]
    fn store_limits_table_elements() {
        let engine = crate::engine::create(crate::engine::EngineSettings::Standard).unwrap();
        let limits = SandboxLimits { table_elements: 70_000, ..SandboxLimits::default() };
        let grants = Grants::nothing();
        let limits = EffectiveLimits::new(&limits, grants.monitor.policy());
        let instantiate = |elements| {
            let module = Module::from_binary(&engine, &module_with_table(elements)).unwrap();
            let name = Arc::from("acme/x");
            let network = Arc::new(ProviderNetwork::new(&Arc::default(), &grants));
            let mut store = create(&engine, &name, &grants, &network, &limits, &Arc::default());
            store.set_epoch_deadline(1);
            let error = Instance::new(&mut store, &module, &[]).err();
            (error.is_some(), store.data_mut().memory().take_refusal().is_some())
        };
        assert_eq!(instantiate(65_536), (false, false), "big SDKs need as many");
        assert_eq!(instantiate(70_001), (true, true));
    }
}
