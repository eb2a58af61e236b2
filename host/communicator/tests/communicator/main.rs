//! Connections with real machines: Debian's sshd on loopback, as many as are needed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod commands;
mod host_keys;
mod logins;
mod losses;
mod settings;
mod sharing;
mod sshd;
mod uploads;
mod ways;
mod winrm;
