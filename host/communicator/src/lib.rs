//! Connections with machines that are provisioned.
//!
//! A [`Connection`] is made of what a `connection` block says ([`ConnectionSettings`]) and
//! of its [`Surroundings`]. It is opened at its first use, shared by all provisioners of a
//! resource, and opened again where it was lost in between. It runs commands and copies
//! files; who it is to the other machine, only it knows.
//!
//! An [`Authority`] is asked at two walls for each machine on the way: before it is looked
//! up, and for each address before that is connected to. What is looked up behind a proxy
//! or a bastion is decided on by name alone, unless it is an address.
//!
//! What always holds:
//! - secrets are in no message and in no `Debug`;
//! - where a host key is known, nothing is proven to a machine that does not hold it;
//! - a machine is waited for as long as `timeout` says, since it may be starting; a refusal
//!   of ours and another host key end that at once;
//! - output comes in pieces of bounded size, whole lines where lines are written, and a
//!   machine whose output nobody takes waits;
//! - where a connection is lost, that is an error: a command whose end is not known did not
//!   succeed, and a file that was not acknowledged was not written.
//!
//! This crate knows no plugin, no configuration and no policy, reads no environment, and
//! writes no log.

mod authority;
mod connection;
mod dial;
mod error;
mod lines;
mod proxy;
mod secret;
mod settings;
mod source;
mod ssh;
mod stream;
mod tls;
mod winrm;

pub use authority::{Authority, Denied, Ended, Progress};
pub use connection::{Connection, RemoteCommand, Surroundings};
pub use error::{CommunicatorError, Doing, FailureKind};
pub use secret::Secret;
pub use settings::{
    AgentUse, ConnectionSettings, Hop, Key, Method, Proxy, ProxyScheme, ServerCertificate, SettingsError,
    SshSettings, TargetPlatform, WinRmAuthentication, WinRmSettings, WinRmTransport,
};
pub use wardian_network::{Resolver, SystemResolver};
pub use wardian_process::{Event, ExitStatus};
