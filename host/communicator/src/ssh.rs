//! SSH connections: sessions, authentication, commands and file transfers.

mod agent;
mod authentication;
mod command;
mod host_key;
mod session;
pub(crate) mod transfer;

pub(crate) use command::{SshCommand, Streams};
pub(crate) use session::Session;
