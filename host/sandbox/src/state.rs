//! The host's state of one instance.

use std::sync::Arc;

use tokio::sync::mpsc;
use wardian_plugin::PluginCall;
use wardian_plugin::transport::DecodedSchema;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use crate::capability::deterministic::Deterministic;
use crate::capability::filesystem::open_files::Files;
use crate::capability::http::requests::Requests;
use crate::capability::sockets::egress::SocketEgress;
use crate::capability::{Interruption, SharedMemory};
use crate::cpu_budget::CpuClock;
use crate::current_call::CurrentCall;
use crate::limits::MemoryLimiter;
use crate::network::ProviderNetwork;
use crate::output::Output;
use crate::provider_run::ProviderRun;
use crate::symbols::Symbols;

/// The data of an instance's store. [`crate::store`] creates it.
pub(crate) struct GuestState {
    pub(crate) wasi: WasiCtx,
    pub(crate) files: Files,
    pub(crate) current_call: CurrentCall,
    pub(crate) table: ResourceTable,
    pub(crate) memory: MemoryLimiter,
    pub(crate) clock: Arc<CpuClock>,
    pub(crate) output: Output,
    pub(crate) network: Arc<ProviderNetwork>,
    pub(crate) requests: Requests,
    pub(crate) egress: Arc<SocketEgress>,
    pub(crate) deterministic: Option<Deterministic>,
    /// The data that the instances of the provider configuration share.
    pub(crate) run: Arc<ProviderRun>,
    /// Receives the output that a provisioner shows.
    pub(crate) output_sink: Option<mpsc::Sender<String>>,
    /// The debug information, for a plugin under development.
    pub(crate) symbols: Option<Arc<Symbols>>,
}

impl GuestState {
    /// Begins a call. [`crate::store`] prepares the capabilities.
    pub(crate) fn begin_call(&mut self, call: PluginCall) {
        self.clock.restart();
        self.output.begin(call.clone());
        self.current_call.begin(call);
    }

    /// Returns the clock that measures the call's CPU time.
    pub(crate) fn clock(&self) -> Arc<CpuClock> {
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

    /// Returns the call that the instance executes.
    pub(crate) fn call(&self) -> PluginCall {
        self.current_call.get()
    }

    pub(crate) fn deterministic(&self) -> Option<&Deterministic> {
        self.deterministic.as_ref()
    }

    pub(crate) fn memory(&mut self) -> &mut MemoryLimiter {
        &mut self.memory
    }

    /// Returns the network settings for this provider's requests.
    pub(crate) fn network(&self) -> &ProviderNetwork {
        &self.network
    }

    /// Returns the interruption of the run.
    pub(crate) fn interruption(&self) -> Interruption {
        self.run.interrupter.interruption()
    }

    /// Returns the memory of the provider configuration.
    pub(crate) fn shared(&self) -> &Arc<SharedMemory> {
        &self.run.shared
    }

    /// Returns the schema of the provider, if it is known.
    pub(crate) fn schema(&self) -> Option<Arc<DecodedSchema>> {
        self.run.schema()
    }

    pub(crate) fn requests(&mut self) -> &mut Requests {
        &mut self.requests
    }

    pub(crate) fn egress(&self) -> &Arc<SocketEgress> {
        &self.egress
    }

    /// Sends the subsequent output of the call to this sink.
    pub(crate) fn set_output_sink(&mut self, sink: mpsc::Sender<String>) {
        self.output_sink = Some(sink);
    }

    pub(crate) fn output_sink(&self) -> Option<mpsc::Sender<String>> {
        self.output_sink.clone()
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
