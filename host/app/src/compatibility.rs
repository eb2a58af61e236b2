//! The version of Wardian, the version of Terraform with which Wardian is compatible, and names
//! that Terraform defines.

/// The version of Terraform whose language, formats and commands Wardian implements. It is passed
/// to providers, written to state files and compared with `required_version`.
pub use wardian_engine::TERRAFORM_VERSION;

/// The version of Wardian.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use wardian_backend::DEFAULT_WORKSPACE;
