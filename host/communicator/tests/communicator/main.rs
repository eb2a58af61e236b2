//! Tests connections to real SSH servers: instances of Debian's sshd on the loopback interface.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod commands;
mod host_keys;
mod logins;
mod lost_connections;
mod proxies;
mod settings;
mod sharing;
mod sshd;
mod uploads;
mod winrm;
