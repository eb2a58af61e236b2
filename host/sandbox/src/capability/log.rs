//! `wardian:plugin/log`: a plugin's messages to its author and operator.
//!
//! Lines are logged as tracing events with the target `wardian::plugin`, with the plugin, the call
//! and its resource. A plugin can check whether lines of a severity are logged. A call's log lines
//! share a budget with its standard output. Lines beyond the budget are dropped, and the host
//! reports this once.

use wasmtime::component::{HasSelf, Linker};

use super::Capability;
use crate::bindings::wardian::plugin::log::{self, Level};
use crate::interface_name::InterfaceName;
use crate::output::{Severity, is_heard};
use crate::state::GuestState;

pub(super) struct Log;

impl Capability for Log {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[InterfaceName { path: "wardian:plugin/log", major: 0, minor: 1 }];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        log::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }
}

impl log::Host for GuestState {
    fn enabled(&mut self, level: Level) -> wasmtime::Result<bool> {
        Ok(is_heard(severity(level)))
    }

    fn write(
        &mut self,
        level: Level,
        module: String,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        let severity = severity(level);
        if is_heard(severity) {
            self.output().log(severity, &module, message, &fields);
        }
        Ok(())
    }
}

fn severity(level: Level) -> Severity {
    match level {
        Level::Trace => Severity::Trace,
        Level::Debug => Severity::Debug,
        Level::Info => Severity::Info,
        Level::Warn => Severity::Warn,
        Level::Error => Severity::Error,
    }
}
