//! What the host keeps for one instance.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::capability::{self, NewInstance, WritableDirectories};
use crate::error::GrantError;
use crate::grants::Grants;
use crate::limits::{ComputationClock, Limits, SpaceBudget};
use crate::output::Output;
use wardian_monitor::Call;

/// The data of an instance's store.
pub(crate) struct GuestState {
    wasi: WasiCtx,
    directories: WritableDirectories,
    table: ResourceTable,
    space: SpaceBudget,
    clock: ComputationClock,
    output: Output,
}

impl GuestState {
    /// A store that nothing runs in yet, with what the grants say and bounded as
    /// the limits say.
    pub(crate) fn store(
        engine: &Engine,
        plugin: &Arc<str>,
        grants: &Grants,
        limits: &Limits,
    ) -> Result<Store<Self>, GrantError> {
        let output = Output::new(Call::outside_of_calls(plugin), limits.output);
        let mut wasi = WasiCtxBuilder::new();
        let mut directories = WritableDirectories::default();
        capability::configure(&mut NewInstance {
            plugin,
            grants,
            wasi: &mut wasi,
            directories: &mut directories,
            output: &output,
        })?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.host_handles());
        let state = Self {
            wasi: wasi.build(),
            directories,
            table,
            space: SpaceBudget::new(limits),
            clock: ComputationClock::new(limits),
            output,
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.space);
        store.epoch_deadline_callback(|mut store| store.data_mut().clock.tick());
        store.set_hostcall_fuel(limits.answer);
        store.set_max_component_handles(limits.handles);
        Ok(store)
    }

    /// A call begins.
    pub(crate) fn begin(&mut self, call: Call) {
        self.clock.restart();
        self.output.begin(call);
        capability::enter(self);
    }

    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    pub(crate) fn directories(&self) -> &WritableDirectories {
        &self.directories
    }

    pub(crate) fn space(&mut self) -> &mut SpaceBudget {
        &mut self.space
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

#[cfg(test)]
mod tests {
    use wasmtime::{Instance, Module};

    use super::*;

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
        let instantiate = |elements| {
            let module = Module::from_binary(&engine, &module_with_table(elements)).unwrap();
            let name = Arc::from("acme/x");
            let mut store = GuestState::store(&engine, &name, &Grants::nothing(), &limits).unwrap();
            store.set_epoch_deadline(1);
            let error = Instance::new(&mut store, &module, &[]).err();
            (error.is_some(), store.data_mut().space().take_refusal().is_some())
        };
        assert_eq!(instantiate(65_536), (false, false), "big SDKs need as many");
        assert_eq!(instantiate(70_001), (true, true));
    }
}
