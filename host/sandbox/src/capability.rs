//! What a plugin is able to do: one module for each capability.
//!
//! A capability has four moments.
//!
//! 1. *Link*: its interfaces are put into the linker, one by one. An interface
//!    that nothing links cannot be imported: [`crate::imports`] refuses the
//!    component first and names what it wanted.
//! 2. *Configure*: an instance is made, and gets what [`crate::Grants`] say. Where
//!    every component imports an interface whether it needs it or not (Rust's
//!    standard library imports all of `wasi:cli` and `wasi:filesystem`), this is
//!    where the capability is given or not: an empty environment, no directory.
//! 3. *Enter*: a call begins. Budgets are renewed, and what is recorded from here
//!    on is recorded for that call.
//! 4. *Rest*: the work is over that the call was part of. What goes on in its name
//!    ends.
//!
//! | capability | interfaces | default |
//! |---|---|---|
//! | [`baseline`] | `wasi:cli`, `wasi:clocks`, `wasi:io`, `wasi:random` | always; empty environment, output to the log |
//! | [`filesystem`] | `wasi:filesystem` | no directory |
//! | [`file_mode`] | `wardian:plugin/file-mode` | the same directories |
//! | [`http`] | `wasi:http` but for incoming requests | no request |
//! | [`log`] | `wardian:plugin/log` | always |
//! | [`sockets`] | `wasi:sockets` | no destination, no name |
//!
//! Provisioners have these besides, which no provider may import:
//!
//! | capability | interfaces | default |
//! |---|---|---|
//! | [`ui`] | `wardian:plugin/ui` | always |
//! | [`process`] | `wardian:plugin/process` | by handles of one call, whose every use is decided |
//! | [`communicator`] | `wardian:plugin/communicator` | by a handle of one call, which leads to one machine and whose every use is decided |
//!
//! Seats kept for what is not granted yet are in [`NOT_YET_GRANTED`]: whoever
//! adds a capability takes its line from there, writes its module, and adds it
//! to [`ALL`].

mod baseline;
mod communicator;
mod deterministic;
mod file_mode;
mod filesystem;
mod http;
mod log;
mod process;
mod sockets;
mod streams;
mod ui;

use std::sync::Arc;

use wasmtime::component::Linker;
use wasmtime_wasi::WasiCtxBuilder;

use crate::grants::Grants;
use crate::imports::InterfaceName;
use crate::output::Output;
use crate::state::GuestState;

pub(crate) use communicator::Here;
pub use communicator::{Connection, RemoteCommand};
pub(crate) use deterministic::Deterministic;
pub use file_mode::WritableFile;
pub(crate) use filesystem::{Files, GrantedFiles, Watch};
pub(crate) use http::Requests;
pub(crate) use process::Programs;
pub use process::{RunningProcess, Spawner};
pub(crate) use sockets::Destinations;

/// One thing that a plugin may be able to do.
trait Capability: Sync {
    /// The interfaces it offers.
    fn interfaces(&self) -> &'static [InterfaceName<'static>];

    /// Puts them into the linker. Once for each engine.
    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()>;

    /// Gives a new instance what was granted.
    fn configure(&self, new: &mut NewInstance<'_>);

    /// A call begins.
    fn enter(&self, state: &mut GuestState);

    /// The work is over.
    fn rest(&self, _state: &mut GuestState) {}
}

/// An instance that is about to be made.
pub(crate) struct NewInstance<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) wasi: &'a mut WasiCtxBuilder,
    pub(crate) output: &'a Output,
    pub(crate) destinations: &'a Arc<Destinations>,
    pub(crate) deterministic: Option<&'a Deterministic>,
}

const ALL: [&dyn Capability; 6] = [
    &baseline::Baseline,
    &filesystem::Filesystem,
    &file_mode::FileMode,
    &http::Http,
    &log::Log,
    &sockets::Sockets,
];

/// What provisioners have besides.
const OF_PROVISIONERS: [&dyn Capability; 3] = [&ui::Ui, &process::Process, &communicator::Communicator];

/// Paths of interfaces that plugins may come to have, and what they are for.
const NOT_YET_GRANTED: [(&str, &str); 4] = [
    ("wasi:config/", "it reads configuration of the host's"),
    ("wardian:plugin/process", "it runs programs"),
    ("wardian:plugin/communicator", "it connects to the machine that is provisioned"),
    ("wardian:plugin/ui", "it shows output, which is for provisioners"),
];

/// Makes a linker that offers everything there is. What a component may import of it is
/// seen before.
pub(crate) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    ALL.iter().chain(&OF_PROVISIONERS).try_for_each(|capability| capability.link(linker))
}

/// Gives a new instance what was granted.
pub(crate) fn configure(new: &mut NewInstance<'_>) {
    for capability in ALL {
        capability.configure(new);
    }
}

/// A call begins.
pub(crate) fn enter(state: &mut GuestState) {
    for capability in ALL {
        capability.enter(state);
    }
}

/// The work is over.
pub(crate) fn rest(state: &mut GuestState) {
    for capability in ALL {
        capability.rest(state);
    }
}

/// All interfaces of the host.
pub(crate) fn interfaces() -> impl Iterator<Item = &'static InterfaceName<'static>> {
    ALL.iter().flat_map(|capability| capability.interfaces())
}

/// Whether the host has an interface that serves the one that is wanted.
pub(crate) fn offers(wanted: &InterfaceName<'_>) -> bool {
    interfaces().any(|offered| offered.serves(wanted))
}

/// Whether a provisioner may import an interface that a provider may not.
pub(crate) fn offers_provisioners(wanted: &InterfaceName<'_>) -> bool {
    let offered = OF_PROVISIONERS.iter().flat_map(|capability| capability.interfaces());
    offered.into_iter().any(|offered| offered.serves(wanted))
}

/// What an interface is for that plugins may come to have.
pub(crate) fn not_yet_granted(path: &str) -> Option<&'static str> {
    NOT_YET_GRANTED.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, what)| *what)
}

/// An interface of WASI 0.2.
const fn wasi(path: &'static str) -> InterfaceName<'static> {
    InterfaceName { path, major: 0, minor: 2 }
}
