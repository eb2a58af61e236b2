//! Servers for tests of backends, on addresses of this machine.
//!
//! [`StateServer`] is a server for the backend `http` with configurable faults, which [`Gcs`] uses for
//! buckets of Google Cloud Storage, and [`Azure`] for a storage account of Azure. [`ServiceServer`] is one
//! for an API, [`Consul`], [`Enterprise`], [`Kubernetes`] or [`Objects`]. [`Postgres`], [`Moto`], [`Azurite`] and
//! [`StorageTestbench`] run programs that are installed on the machine; if they are not, tests print the reason
//! and end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod azure;
mod azurite;
mod consul;
mod database_proxy;
mod enterprise;
mod gcs;
mod kubernetes;
mod moto;
mod objects;
mod postgres;
mod program;
mod request;
mod service_server;
mod state_server;
mod testbench;
mod tls;

pub use azure::Azure;
pub use azurite::Azurite;
pub use consul::Consul;
pub use database_proxy::DatabaseProxy;
pub use enterprise::Enterprise;
pub use gcs::Gcs;
pub use kubernetes::Kubernetes;
pub use moto::{Moto, MotoService};
pub use objects::Objects;
pub use postgres::{Pooler, Postgres};
pub use program::free_port;
pub use request::{Request, Response};
pub use service_server::{Service, ServiceServer};
pub use state_server::{Fault, StateServer, TestService};
pub use testbench::StorageTestbench;
pub use tls::TestAuthority;
