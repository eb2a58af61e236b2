//! Clients against servers on loopback.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod bounds;
mod connections;
mod proxies;
mod secure;
mod server;
mod walls;
