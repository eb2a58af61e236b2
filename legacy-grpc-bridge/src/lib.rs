//! Native plugins: executables that run in separate processes and use gRPC with protocol 5 or 6.
//! This crate implements the traits of `wardian-plugin` for them.
//!
//! From an executable file, a [`Bridge`] creates either a [`NativePlugin`], which creates
//! providers, or a [`NativeProvisioner`]. A process is started when a call first needs it. `proto/`
//! describes the protocol; the common parts of the two versions are defined once, so one
//! implementation is sufficient.
//!
//! This crate does not depend on configuration, state, the engine or a terminal, reads no
//! environment variables, and receives every path from its caller. A native plugin is not
//! sandboxed, and has the same access as its user unless it is confined.
//!
//! Invariants:
//! - a process has only the environment variables that the caller passes and the variables that the
//!   protocol requires;
//! - every call ends, either with a response or with an error diagnostic that names the plugin,
//!   the call and the resource;
//! - a process that does not respond within the time limit is killed, since its state is unknown;
//! - no process outlives the bridge or remains as a zombie; on Linux, no process outlives Wardian,
//!   even if Wardian is killed;
//! - a process that must be confined is never run without confinement;
//! - the peer at the address that a plugin announced must hold the certificate that the process
//!   announced.

mod calls;
mod cert_pinning;
mod codec;
mod conversion;
mod cpu_limit;
mod executable;
mod failure;
mod handshake;
mod launch;
pub mod method;
mod plugin;
mod process;
mod sandbox_exec;
#[allow(
    missing_docs,
    dead_code,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "generated from proto/, which contains the documentation"
)]
pub mod protocol {
    include!(concat!(env!("OUT_DIR"), "/protocol.rs"));
}
mod http2;
mod provider;
mod provisioner;
mod reattach;
mod schema;
mod schema_cache;
pub mod server;
mod shared;
mod shared_process;
mod state_store;
mod stderr;
mod tls;

pub use handshake::{HandshakeError, ProtocolVersion};
pub use launch::{
    LaunchError, NativePackage, NativeSupervisor, ProcessConfinement, ProcessNamespaces, Security,
};
pub use plugin::{Bridge, NativePlugin};
pub use provisioner::NativeProvisioner;
pub use reattach::{ReattachError, Reattachment, parse_reattachments};
pub use schema_cache::SchemaCache;
pub use tls::IdentityError;
pub use wardian_confinement::{
    ConfinementError, ConfinementLevel, DirectoryView, LandlockRules, ProgramAccess, SHIM_ARGUMENT,
    SupportedLevel, TcpPorts, ViewEntry, run_shim, supported_level,
};

/// Time limits of plugins.
#[derive(Clone, Debug)]
pub struct NativeLimits {
    /// Time limit from the start of a process to the connection.
    pub start: std::time::Duration,
    /// Time limit for calls without external access: schemas, validation, state upgrades, moves,
    /// functions.
    pub local_call: std::time::Duration,
    /// Time limit for calls that may wait for a remote system.
    pub remote_call: std::time::Duration,
}

impl Default for NativeLimits {
    fn default() -> Self {
        Self {
            start: std::time::Duration::from_mins(1),
            local_call: std::time::Duration::from_mins(2),
            remote_call: std::time::Duration::from_hours(4),
        }
    }
}
