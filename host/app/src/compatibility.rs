//! Versions, and names that Terraform defines.

/// The version of Terraform whose language, formats and commands this program implements. It is
/// passed to providers and written to state files, and `required_version` is checked against it.
pub use wardian_engine::TERRAFORM_VERSION;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The default workspace, which always exists.
pub const DEFAULT_WORKSPACE: &str = "default";
