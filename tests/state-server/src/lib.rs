//! Servers for tests of backends, on addresses of this machine.
//!
//! [`StateServer`] is a server for the backend `http` with configurable faults, and [`ServiceServer`] one
//! for an API, [`Consul`], [`Enterprise`] or [`Kubernetes`]. [`Postgres`] and [`Moto`] run programs that are installed on the machine; if they are not, tests print the reason
//! and end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod consul;
mod enterprise;
mod kubernetes;
mod moto;
mod postgres;
mod program;
mod request;
mod service_server;
mod state_server;
mod tls;

pub use consul::Consul;
pub use enterprise::Enterprise;
pub use kubernetes::Kubernetes;
pub use moto::Moto;
pub use postgres::Postgres;
pub use request::{Request, Response};
pub use service_server::{Service, ServiceServer};
pub use state_server::{Fault, StateServer};
pub use tls::TestAuthority;
