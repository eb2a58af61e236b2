//! The provider `terraform.io/builtin/terraform`, which runs in this process: the managed resource
//! `terraform_data`, the data source `terraform_remote_state`, and the functions that encode and
//! decode expressions and variable definitions.
//!
//! It is a [`wardian_plugin::Provider`] like any other: callers cannot distinguish it from a
//! component. The crate does not depend on configuration or the engine. It reads only the states in
//! the configuration of `terraform_remote_state`; relative paths are resolved against a directory
//! that the caller passes, and backends work in the environment that the caller passes.

mod attributes;
mod backends;
mod data_resource;
mod functions;
mod provider;
mod remote_state;
mod schemas;
mod state_sources;

pub use provider::BuiltInProvider;
pub use state_sources::{
    BackendRules, OtherBackends, PermittedBackend, RemoteStateEncryption, RemoteStateTarget,
};

/// The type name of the only built-in provider: the last component of
/// `terraform.io/builtin/terraform`.
pub const TYPE_NAME: &str = "terraform";
