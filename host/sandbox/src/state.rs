//! What the host keeps for one instance.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::call::CallContext;
use crate::capability::{self, NewInstance};
use crate::error::GrantError;
use crate::grants::Grants;
use crate::limits::{ComputationClock, Limits, SpaceBudget};
use crate::output::Output;

/// The data of an instance's store.
pub(crate) struct GuestState {
    wasi: WasiCtx,
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
        let output = Output::new(CallContext::outside_of_calls(plugin), limits.output);
        let mut wasi = WasiCtxBuilder::new();
        capability::configure(&mut NewInstance { plugin, grants, wasi: &mut wasi, output: &output })?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.host_handles());
        let state = Self {
            wasi: wasi.build(),
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
    pub(crate) fn begin(&mut self, call: CallContext) {
        self.clock.restart();
        self.output.begin(call);
        capability::enter(self);
    }

    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
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
