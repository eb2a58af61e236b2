//! The reference monitor, which checks and records every access of a plugin.
//!
//! Code that performs an access for a plugin (sends an HTTP request, opens a file, starts a
//! program) describes it as a [`wardian_access::AccessRequest`] and passes it to the plugin's
//! [`Monitor`]. The code receives either a [`Use`], which is required for the access and writes the
//! record when it is dropped, or a [`Denied`](wardian_access::Denied), whose record has already
//! been written. Therefore, the code of a capability makes no decisions of its own, and every
//! access is recorded in the [`AuditLog`].
//!
//! A [`PluginCall`](wardian_plugin::PluginCall) identifies the plugin, the function and the
//! resource.
//!
//! This crate does not depend on WebAssembly, sockets or a terminal, and opens no files except the
//! audit log.
//!
//! Invariants:
//! - an access that cannot be recorded is denied: after a failed write to the audit log, every
//!   access is denied;
//! - a record contains names and numbers, but no data that was sent or read; sensitive values in
//!   names are redacted ([`wardian_plugin::SensitiveValues`]).

mod audit_log;
mod denials;
mod host_requests;
mod monitor;
mod native;
mod program;
mod record;
mod summary;

pub use audit_log::{AuditError, AuditLog};
pub use denials::DeniedUse;
pub use host_requests::{HOST_NAME, HostRequests};
pub use monitor::{Monitor, PluginIdentity, Use};
pub use native::NativeMonitor;
pub use program::ProgramMonitor;
pub use record::{Capability, Outcome, Record};
pub use summary::{PluginSummary, Summary, UseKey, UseTotals};
