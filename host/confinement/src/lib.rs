//! Confines native programs, as an unprivileged user, without namespaces.
//!
//! | access | enforced by |
//! |---|---|
//! | files | Landlock ([`LandlockRules`]); attributes of files by the supervisor |
//! | connections, host names, Unix domain sockets | the supervisor ([`SupervisorOptions`]), which opens them on behalf of the program |
//! | programs | the supervisor: only the program itself is executed; granted programs run outside of the confinement (`programs.rs`) |
//! | other processes, namespaces, interfaces such as `io_uring` | a seccomp filter (`system_calls.rs`) |
//!
//! No process of the program ever owns an unconnected internet socket. Instead of it, the program
//! receives a Unix domain socket, which the supervisor replaces by a connected socket when the
//! program connects to an address that policy allows. Therefore, other ways to send or to listen have
//! nothing to act on.
//!
//! Invariants:
//! - The supervisor decides on a copy of the arguments, and acts on the objects that it checked. A
//!   call with a pointer continues in the kernel only if the kernel enforces the rest.
//! - If the supervisor ends, supervised calls fail.
//! - All processes of the program stay in one process group, since they cannot leave it.
//!
//! This crate does not depend on plugins or policy: a [`NativeAuthority`](wardian_access::NativeAuthority)
//! decides and records. It reads no environment variables.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod confinement;
mod landlock;
mod level;
mod supervision;

#[cfg(target_os = "linux")]
mod attributes;
#[cfg(target_os = "linux")]
mod connect;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod first_bytes;
#[cfg(target_os = "linux")]
mod http_requests;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod opens;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod program_memory;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod refusals;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod shim;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(not(target_os = "linux"))]
mod unsupported;

pub use confinement::{ConfinedChild, Confinement};
#[cfg(target_os = "linux")]
pub use connect::connect_within;
pub use landlock::{ConfinementError, LandlockRules, TcpPorts};
#[cfg(target_os = "linux")]
pub use launch::{PreparedConfinement, SupervisionHandle};
pub use level::{ConfinementLevel, SupportedLevel};
#[cfg(target_os = "linux")]
pub use probe::supported_level;
#[cfg(target_os = "linux")]
pub use shim::{SHIM_ARGUMENT, run_shim};
pub use supervision::{ProgramAccess, SupervisorOptions};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{
    PreparedConfinement, SHIM_ARGUMENT, SupervisionHandle, connect_within, run_shim, supported_level,
};
