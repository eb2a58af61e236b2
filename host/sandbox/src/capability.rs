//! The capabilities of plugins, each in its own module.
//!
//! A capability takes part in four steps.
//!
//! 1. *Link*: its interfaces are added to the linker, one by one. An interface that no capability
//!    links cannot be imported: before linking, [`crate::imports`] rejects a component with such an
//!    import.
//! 2. *Instantiate*: a new instance receives the access in [`crate::Grants`]. Rust's standard
//!    library imports all of `wasi:cli` and `wasi:filesystem`, even if a component does not need
//!    them. Such interfaces are always linked; without a grant, the instance receives an empty
//!    environment and no directory.
//! 3. *Begin call*: budgets are reset, and subsequent accesses are recorded for this call.
//! 4. *End call*: when the operation to which the call belongs has ended, its requests and
//!    connections are closed.
//!
//! | capability | interfaces | default |
//! |---|---|---|
//! | [`baseline`] | `wasi:cli`, `wasi:clocks`, `wasi:io`, `wasi:random` | always; empty environment, output to log lines |
//! | [`filesystem`] | `wasi:filesystem` | no directory |
//! | [`file_mode`] | `wardian:plugin/file-mode` | the same directories |
//! | [`http`] | `wasi:http` except incoming requests, `wardian:plugin/http` | no request |
//! | [`log`] | `wardian:plugin/log` | always |
//! | [`run`] | `wardian:plugin/run`, `wardian:plugin/interruption` | always; records only for a call that changes an object |
//! | [`shared`] | `wardian:plugin/shared` | always; one memory for each provider configuration |
//! | [`sockets`] | `wasi:sockets` | no destination, no name |
//!
//! Provisioners also have these capabilities, whose interfaces providers may not import:
//!
//! | capability | interfaces | default |
//! |---|---|---|
//! | [`ui`] | `wardian:plugin/ui` | always |
//! | [`process`] | `wardian:plugin/process` | through handles that are valid for one call; each use is checked |
//! | [`communicator`] | `wardian:plugin/communicator` | through a handle that is valid for one call and connected to one machine; each use is checked |
//!
//! To add a capability, write its module and add it to [`OF_PROVIDERS`] or [`OF_PROVISIONERS`].
//! [`NOT_FOR_PROVIDERS`] lists interfaces with a specific message for a provider that imports
//! them.

mod baseline;
mod communicator;
pub(crate) mod deterministic;
mod file_mode;
pub(crate) mod filesystem;
pub(crate) mod http;
mod log;
mod process;
mod run;
mod shared;
pub(crate) mod sockets;
mod streams;
mod ui;

use std::sync::Arc;

use wasmtime::component::Linker;
use wasmtime_wasi::WasiCtxBuilder;

use self::deterministic::Deterministic;
use self::sockets::egress::SocketEgress;
use crate::grants::Grants;
use crate::interface_name::InterfaceName;
use crate::output::Output;
use crate::state::GuestState;

pub(crate) use communicator::LocalPaths;
pub use communicator::{Connection, RemoteCommand};
pub use file_mode::WritableFile;
pub use http::{PlainBody, PlainUpload};
pub(crate) use process::Programs;
pub use process::{RunningProcess, Spawner};
pub(crate) use run::{Interrupter, Interruption};
pub use shared::HeldLock;
pub(crate) use shared::SharedMemory;

trait Capability: Sync {
    /// Returns the interfaces that the capability provides.
    fn interfaces(&self) -> &'static [InterfaceName<'static>];

    /// Adds the interfaces to the linker. Called once for each engine.
    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()>;

    /// Gives a new instance the granted access.
    fn instantiate(&self, _new: &mut NewInstance<'_>) {}

    /// Prepares for a call.
    fn begin_call(&self, _state: &mut GuestState) {}

    /// Aborts all work that is still running for the operation of the last call.
    fn end_call(&self, _state: &mut GuestState) {}
}

/// The settings of a new instance.
pub(crate) struct NewInstance<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) wasi: &'a mut WasiCtxBuilder,
    pub(crate) output: &'a Output,
    pub(crate) egress: &'a Arc<SocketEgress>,
    pub(crate) deterministic: Option<&'a Deterministic>,
}

/// The capabilities of providers and provisioners.
const OF_PROVIDERS: [&dyn Capability; 8] = [
    &baseline::Baseline,
    &filesystem::Filesystem,
    &file_mode::FileMode,
    &http::Http,
    &log::Log,
    &run::Run,
    &shared::Shared,
    &sockets::Sockets,
];

/// The capabilities of provisioners only.
const OF_PROVISIONERS: [&dyn Capability; 3] = [&ui::Ui, &process::Process, &communicator::Communicator];

/// Interfaces that providers may not import, with their purposes.
const NOT_FOR_PROVIDERS: [(&str, &str); 4] = [
    ("wasi:config/", "it reads the host's configuration"),
    ("wardian:plugin/process", "it runs programs"),
    ("wardian:plugin/communicator", "it connects to the machine that is provisioned"),
    ("wardian:plugin/ui", "it shows output, which only provisioners can do"),
];

/// Adds all interfaces to the linker. The imports that a component may use are checked before
/// linking.
pub(crate) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    OF_PROVIDERS.iter().chain(&OF_PROVISIONERS).try_for_each(|capability| capability.link(linker))
}

/// Gives a new instance the granted access.
pub(crate) fn instantiate(new: &mut NewInstance<'_>) {
    for capability in OF_PROVIDERS {
        capability.instantiate(new);
    }
}

/// Prepares all capabilities for a call.
pub(crate) fn begin_call(state: &mut GuestState) {
    for capability in OF_PROVIDERS {
        capability.begin_call(state);
    }
}

/// Aborts all work that is still running for the operation of the last call.
pub(crate) fn end_call(state: &mut GuestState) {
    for capability in OF_PROVIDERS {
        capability.end_call(state);
    }
}

/// Returns all interfaces of the host.
pub(crate) fn interfaces() -> impl Iterator<Item = &'static InterfaceName<'static>> {
    OF_PROVIDERS.iter().flat_map(|capability| capability.interfaces())
}

/// Returns whether the host has an interface to which a component with this import can be linked.
pub(crate) fn offers(wanted: &InterfaceName<'_>) -> bool {
    interfaces().any(|offered| offered.serves(wanted))
}

/// Whether provisioners, but not providers, may import an interface.
pub(crate) fn offers_provisioners(wanted: &InterfaceName<'_>) -> bool {
    let offered = OF_PROVISIONERS.iter().flat_map(|capability| capability.interfaces());
    offered.into_iter().any(|offered| offered.serves(wanted))
}

/// Returns the purpose of an interface that providers may not import.
pub(crate) fn not_for_providers(path: &str) -> Option<&'static str> {
    NOT_FOR_PROVIDERS.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, what)| *what)
}
