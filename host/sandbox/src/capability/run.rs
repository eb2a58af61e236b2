//! `wardian:plugin/run` and `wardian:plugin/interruption`: durable records of the object that a call
//! changes, and the interruption of the run.
//!
//! A record passes through the recorder of the call's context, which the engine implements. Without a
//! recorder, the guest receives an error. A recorded state is decoded with the type of the resource, so
//! nothing is recorded that does not fit the schema.
//!
//! All instances of one provider configuration share the interruption, which the provider's `stop`
//! causes. It lasts until the provider is closed.

use std::time::Duration;

use tokio::sync::watch;
use wardian_plugin::transport::{PluginFailure, decode_optional, decode_value};
use wardian_plugin::{RecordError as Problem, RecordedState as Recorded};
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::poll::{DynPollable, Pollable, subscribe};

use super::Capability;
use crate::bindings::wardian::plugin::interruption::{self, Host as InterruptionHost};
use crate::bindings::wardian::plugin::run::{self, Host, RecordError, RecordedState};
use crate::interface_name::InterfaceName;
use crate::output::printable;
use crate::state::GuestState;

pub(super) struct Run;

impl Capability for Run {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] = &[
            InterfaceName { path: "wardian:plugin/run", major: 0, minor: 1 },
            InterfaceName { path: "wardian:plugin/interruption", major: 0, minor: 1 },
        ];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        run::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)?;
        interruption::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }
}

/// The receiver of the interruption of a run. Clones receive the same interruption.
#[derive(Clone)]
pub(crate) struct Interruption(watch::Receiver<bool>);

/// Interrupts the calls of a provider.
pub(crate) struct Interrupter(watch::Sender<bool>);

impl Default for Interrupter {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Interrupter {
    pub(crate) fn interrupt(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn interruption(&self) -> Interruption {
        Interruption(self.0.subscribe())
    }
}

impl Interruption {
    pub(crate) fn is_interrupted(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the run is interrupted; forever if the provider no longer exists.
    pub(crate) async fn wait(&mut self) {
        if self.0.wait_for(|interrupted| *interrupted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Pollable for Interruption {
    async fn ready(&mut self) {
        self.wait().await;
    }
}

impl GuestState {
    fn decode_recorded(&self, recorded: &RecordedState) -> Result<Recorded, String> {
        let describe = |failure: PluginFailure| match failure {
            PluginFailure::InvalidResponse(problem) => problem,
            failure => failure.into_function_error(&self.call()).text,
        };
        let schema = self.schema().ok_or_else(|| "the schema is not known yet".to_owned())?;
        let Some(type_name) = self.call().type_name else {
            return Err("the call has no resource type".to_owned());
        };
        let ty = schema.resource(&type_name).map_err(describe)?;
        let state = decode_value("the recorded state", &recorded.state, ty).map_err(describe)?;
        let identity = recorded.identity.as_deref();
        let identity = decode_optional("the recorded identity", identity, schema.identity(&type_name));
        let identity = identity.map_err(describe)?;
        Ok(Recorded { state, private: recorded.private.as_slice().into(), identity })
    }
}

impl Host for GuestState {
    async fn record_state(&mut self, state: RecordedState) -> wasmtime::Result<Result<(), RecordError>> {
        let call = self.call();
        let Some(recorder) = call.context.recorder() else { return Ok(Err(RecordError::Unavailable)) };
        let recorded = match self.decode_recorded(&state) {
            Ok(recorded) => recorded,
            Err(problem) => return Ok(Err(RecordError::Invalid(printable(&problem)))),
        };
        Ok(recorder.record(recorded).await.map_err(|problem| match problem {
            Problem::Unavailable => RecordError::Unavailable,
            Problem::Invalid(problem) => RecordError::Invalid(problem),
            Problem::Failed(problem) => RecordError::Failed(problem),
        }))
    }

    async fn interrupted(&mut self) -> wasmtime::Result<bool> {
        Ok(self.interruption().is_interrupted())
    }

    async fn sleep(&mut self, milliseconds: u64) -> wasmtime::Result<bool> {
        if let Some(deterministic) = self.deterministic() {
            deterministic.wait(milliseconds.saturating_mul(1_000_000));
        }
        let mut interruption = self.interruption();
        Ok(tokio::time::timeout(Duration::from_millis(milliseconds), interruption.wait()).await.is_ok())
    }
}

impl InterruptionHost for GuestState {
    fn subscribe(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let interruption = self.interruption();
        let interruption = self.table().push(interruption)?;
        subscribe(self.table(), interruption)
    }
}
