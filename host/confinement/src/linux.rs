//! The confinement on Linux.

mod attributes;
mod connect;
mod filter;
mod first_bytes;
mod http_requests;
mod isolation;
mod kernel;
mod launch;
mod names;
mod namespace_calls;
mod namespaces;
mod new_root;
mod opens;
mod probe;
mod program_memory;
mod programs;
mod refusals;
mod relay;
mod servers;
mod shim;
mod signals;
mod sockets;
mod supervisor;
mod system_calls;
mod views;

pub use connect::connect_within;
pub use launch::{PreparedConfinement, SupervisionHandle};
pub use probe::supported_level;
pub use shim::{SHIM_ARGUMENT, run_shim};
