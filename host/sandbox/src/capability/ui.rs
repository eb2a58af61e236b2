//! `wardian:plugin/ui`: the output that a provisioner shows while it runs.
//!
//! Text is forwarded to the caller as it is produced. A guest waits until the caller has consumed
//! its output. Outside a call with an output sink, the text is discarded.

use wasmtime::component::{HasSelf, Linker};

use super::Capability;
use crate::bindings::provisioner::wardian::plugin::ui::{self, Host};
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

pub(super) struct Ui;

impl Capability for Ui {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[InterfaceName { path: "wardian:plugin/ui", major: 0, minor: 1 }];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        ui::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }
}

impl Host for GuestState {
    async fn output(&mut self, text: String) -> wasmtime::Result<()> {
        if let Some(sink) = self.output_sink() {
            // If the receiver was dropped, the call has ended, and the text is discarded.
            let _ = sink.send(text).await;
        }
        Ok(())
    }
}
