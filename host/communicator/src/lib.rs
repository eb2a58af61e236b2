//! Connections to the remote machines on which provisioners run commands.
//!
//! A [`RemoteConnection`] is created from the settings of a `connection` block
//! ([`ConnectionSettings`]) and a [`ConnectionContext`]. It is opened on first use, shared by all
//! provisioners of a resource, and reopened if it was lost between two uses. It runs commands and
//! copies files. This crate sends credentials only to the remote machine.
//!
//! A [`ConnectionAuthority`](wardian_access::ConnectionAuthority) checks each machine on the route
//! twice: before its name is resolved, and for each address before connecting to it. If a proxy or
//! a bastion resolves a name, only the name is checked, unless it is an address.
//!
//! Invariants:
//! - no error message and no `Debug` output contains a secret;
//! - if a host key is configured, no credential is sent to a machine without that key;
//! - connections are retried until `timeout`, since the machine may still be booting; a
//!   denial or a different host key ends the attempts immediately;
//! - output is returned in chunks of bounded size, as complete lines if the command writes lines,
//!   and a machine's writes block until its output is read;
//! - a lost connection is an error: a command whose exit status is unknown counts as failed, and a
//!   file whose upload was not acknowledged counts as not written.
//!
//! This crate does not depend on plugins, configuration or policy, reads no environment variables,
//! and logs nothing.

mod connection;
mod dial;
mod error;
mod proxy;
mod secret;
mod settings;
mod source;
mod ssh;
mod stream;
mod tls;
mod winrm;

pub use connection::{ConnectionContext, RemoteConnection, RunningCommand};
pub use error::{CommunicatorError, ConnectionPhase, FailureKind};
pub use secret::SecretString;
pub use settings::{
    AgentUse, ConnectionMethod, ConnectionSettings, Hop, Key, Proxy, ProxyScheme, ServerCertificate,
    SettingsError, SshSettings, TargetPlatform, WinRmAuthentication, WinRmSettings, WinRmTransport,
};
pub use wardian_network::{Resolver, SystemResolver};
pub use wardian_process::CommandEvent;
