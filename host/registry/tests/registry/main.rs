//! Tests against a registry on the loopback interface.

mod discovery;
mod login;
mod mirrors;
mod modules;
mod providers;
mod release;
mod server;
