//! Tests clients with servers on loopback addresses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod checks;
mod connections;
mod limits;
mod proxies;
mod server;
mod tls;
