//! Confines native programs, as an unprivileged user.
//!
//! | access | enforced by |
//! |---|---|
//! | files | Landlock ([`LandlockRules`]), and a mount namespace if there is one; attributes of files by the supervisor |
//! | connections, host names, Unix domain sockets | the supervisor ([`SupervisorOptions`]), which opens them on behalf of the program |
//! | programs | the supervisor: only the program itself is executed; granted programs run outside of the confinement (`programs.rs`) |
//! | other processes, namespaces, interfaces such as `io_uring` | a seccomp filter (`system_calls.rs`) |
//!
//! No process of the program ever owns an unconnected internet socket. Instead of it, the program
//! receives one end of a connection to the host, which relays it when the program connects to an address
//! that policy allows. Therefore, other ways to send or to listen have nothing to act on.
//!
//! Without Landlock or supervised system calls, namespaces alone confine the program
//! (`linux/isolation.rs`).
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
#[cfg(target_os = "linux")]
mod linux;
mod supervision;
#[cfg(not(target_os = "linux"))]
mod unsupported;
mod view;

pub use confinement::{ConfinedChild, Confinement};
pub use landlock::{ConfinementError, LandlockRules, TcpPorts};
pub use level::{ConfinementLevel, SupportedLevel};
#[cfg(target_os = "linux")]
pub use linux::{
    PreparedConfinement, SHIM_ARGUMENT, SupervisionHandle, connect_within, run_shim, supported_level,
};
pub use supervision::{NamespaceOptions, NamespaceRole, ProgramAccess, SupervisorOptions};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{
    PreparedConfinement, SHIM_ARGUMENT, SupervisionHandle, connect_within, run_shim, supported_level,
};
pub use view::{DirectoryView, ViewEntry};
