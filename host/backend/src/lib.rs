//! Backends: the places in which the states of a configuration are stored, locked and listed.
//!
//! A [`BackendType`] describes a backend: its name, the schema of its block, and how it is configured.
//! A configured [`Backend`] lists, creates and deletes workspaces, and opens the [`StateStorage`](wardian_state::StateStorage) of
//! each workspace's state. [`find`] returns the type with a name.
//!
//! [`StateStoreBackend`] stores states in the state store of a plugin.
//!
//! Objects, keys, lock items and tables are Terraform's, so that both programs can use a state in
//! turn, under one lock. Formats, serials, the journal and recovery are not a backend's task; see
//! [`StateManager`](wardian_state::StateManager).
//!
//! Invariants:
//! - every request has a time limit, and no request is sent before an operation needs it;
//! - a write returns success only if the service has confirmed it; if the response is lost, the
//!   error contains that the write may have taken effect;
//! - if the service has versions, a write replaces only the version that was read;
//! - the error for a held lock contains the holder's information as the service has stored it;
//! - errors and `Debug` output contain no secrets.
//!
//! Requests are sent over the HTTP client of `wardian-download`. The crate reads environment
//! variables only from its [`BackendHost`], and depends neither on the configuration nor on the
//! engine.

mod azurerm;
mod backend;
mod config;
mod consul;
mod gcs;
mod gzip;
mod hash;
mod host;
mod http;
mod initial;
mod kubernetes;
mod local;
mod oauth;
mod pg;
mod postgres;
mod read_only;
mod remote;
mod s3;
mod schema;
mod service;
mod state_store;
mod tls_files;
mod types;

pub use backend::{Backend, BackendError, BackendType};
pub use config::{BackendConfig, convert_argument};
pub use hash::block_hash;
pub use host::{BackendAccess, BackendHost, EnterpriseService, HttpClients, ServiceHosts};
pub use local::LocalBackend;
pub use read_only::ReadOnlyBackend;
pub use state_store::{StateStoreBackend, StateStoreOptions, StoreWarnings};
pub use types::{CLOUD, DEFAULT_WORKSPACE, LOCAL, UnavailableBackend, find, local_type};
