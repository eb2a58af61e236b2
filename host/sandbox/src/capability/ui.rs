//! `wardian:plugin/ui`: what a provisioner shows while it works.
//!
//! Text goes to whoever made the call, as it comes: a guest whose text nobody takes waits.
//! Outside of a call that shows something it goes nowhere.

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
            // Whoever has gone away hears nothing, and the call with it.
            let _ = sink.send(text).await;
        }
        Ok(())
    }
}
