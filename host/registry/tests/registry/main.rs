//! Tests against servers on the loopback interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod discovery;
mod login;
mod mirrors;
mod modules;
mod providers;
mod release;
mod server;
