//! The provider `terraform.io/builtin/terraform`, in process: the managed resource
//! `terraform_data`, the data source `terraform_remote_state`, and the functions
//! that write and read the syntax of values.
//!
//! It is a [`wardian_plugin::Provider`] like any other: whoever asks it does not
//! learn that it is not a component. Knows no configuration and no engine. The only
//! files it reads are the states that `terraform_remote_state` names; relative
//! paths start at the directory that the caller says.

mod backends;
mod data_resource;
mod functions;
mod provider;
mod remote_state;
mod schemas;

pub use provider::BuiltInProvider;

/// The name of the one provider that is built in: the last part of
/// `terraform.io/builtin/terraform`.
pub const TYPE_NAME: &str = "terraform";
