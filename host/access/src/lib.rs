//! The types that describe accesses: requests, hosts, paths and IP addresses in canonical form, and
//! the traits through which a crate requests authorization.
//!
//! [`AccessRequest`] describes one use of a capability. `policy` decides on the request, and
//! `monitor` records it. [`HttpAuthority`], [`ProcessAuthority`],
//! [`ConnectionAuthority`] and [`NativeAuthority`] let `network`, `process`, `communicator` and
//! `confinement` request authorization without depending on `policy` or `monitor`; [`Denied`]
//! describes a denial.
//!
//! This crate does not depend on any other crate of the workspace. It performs no I/O, resolves
//! no names, and makes no decisions.
//!
//! Invariants: each host, IP address, path and port has one canonical form. Input that has no
//! canonical form or is ambiguous results in an error, and callers treat the error as a denial.

mod connection;
mod denied;
mod file_operation;
mod host;
pub mod host_name;
mod http;
mod ip_address;
mod native;
mod path;
mod process;
mod protected;
mod reach_error;
mod request;

pub use connection::{
    ConnectProgress, ConnectionAuthority, FinishedConnection, HostConnection, HostConnections, HostPeer,
};
pub use denied::Denied;
pub use file_operation::FileOperation;
pub use host::{Host, HostProblem};
pub use http::{HttpAuthority, HttpCredential, HttpExchange, is_token_byte};
pub use ip_address::{AddressKind, EmbeddedAddresses, canonical};
pub use native::{AllowedConnection, ConnectionRecord, NativeAuthority};
pub use path::{PathProblem, is_within, normalize};
pub use process::{ExitStatus, FinishedProgram, ProcessAuthority, ProgramLaunch};
pub use protected::{ProtectedClass, ProtectedClasses};
pub use reach_error::ReachError;
pub use request::{
    AccessExtent, AccessRequest, AccessRequestError, CommunicatorConnection, EnvironmentName, FileAccess,
    NetworkRequest, ProcessStart, Scheme, parse_port,
};
