//! Native plugins: programs of their own that speak gRPC, protocol 5 or 6, behind
//! the traits of `wardian-plugin`.
//!
//! A [`Bridge`] makes a [`NativePlugin`] of a file; that makes providers. Of another
//! file it makes a [`NativeProvisioner`]. Behind them are processes, started when a call
//! first needs one. The protocol is described in `proto/`; what the two versions have in
//! common is there once, and so is one implementation here enough for both.
//!
//! This crate knows no configuration, no state, no engine and no terminal, reads no
//! environment variable, and takes every path from its caller. A native plugin is
//! outside of every sandbox: it may do what its user may.
//!
//! Always holds:
//! - a process has the environment that the caller names and what the protocol
//!   needs, and nothing else of ours;
//! - a call ends: with an answer, or with an error diagnostic that names plugin,
//!   call and resource;
//! - a process that did not answer in time is killed, since nobody knows what it is
//!   doing;
//! - no process outlives the bridge, and none stays a zombie; on Linux none
//!   outlives us, even if we are killed;
//! - a process that is to be confined never runs otherwise;
//! - whoever listens at the address that a plugin named must hold the certificate
//!   that the process showed.

mod calls;
mod cert_pinning;
mod codec;
mod conversion;
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
    reason = "generated from proto/, which has the explanations"
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
mod stderr;
mod tls;

pub use handshake::{HandshakeError, ProtocolVersion};
pub use launch::{LaunchError, NativePackage, Security};
pub use plugin::{Bridge, NativePlugin};
pub use provisioner::NativeProvisioner;
pub use reattach::{ReattachError, Reattachment, parse_reattachments};
pub use schema_cache::SchemaCache;
pub use tls::IdentityError;
pub use wardian_process::{Confinement, ConfinementError, TcpPorts};

/// How long plugins may take.
#[derive(Clone, Debug)]
pub struct NativeLimits {
    /// Time from a process's start to the connection.
    pub start: std::time::Duration,
    /// Time for calls that reach nothing outside: schemas, validation, state
    /// upgrades, moves, functions.
    pub local_call: std::time::Duration,
    /// Time for calls that may wait for a remote system.
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
