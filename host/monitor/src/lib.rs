//! The reference monitor: the one place where a use of a capability is decided, and
//! where it is recorded.
//!
//! Whoever carries out what a plugin asks for (a request of HTTP, an opened file, a
//! started program) describes it as a [`wardian_policy::Request`] and asks the plugin's
//! [`Monitor`]. What it gets is a [`Use`], without which there is nothing to carry out,
//! and whose end is the record; or [`Denied`], which is recorded already. So no wall has
//! a decision of its own, and nothing is used without a line in the [`AuditLog`].
//!
//! A [`PluginCall`](wardian_plugin::PluginCall) names the plugin, the function and the resource.
//!
//! This room knows no WebAssembly, no socket and no terminal, and opens no file but the
//! log that it is told to write.
//!
//! Always holds:
//! - a use that cannot be recorded is not allowed: once the log cannot be written,
//!   everything is denied;
//! - a record holds names and numbers, and nothing of what was sent or read; what is secret
//!   in a name is masked ([`wardian_plugin::SensitiveValues`]).

mod audit_log;
mod denials;
mod monitor;
mod record;
mod summary;

pub use audit_log::{AuditError, AuditLog};
pub use denials::DeniedUse;
pub use monitor::{Denied, Monitor, PluginIdentity, Use};
pub use record::{Capability, Outcome, Record};
pub use summary::{PluginSummary, Summary, UseKey, UseTotals};
