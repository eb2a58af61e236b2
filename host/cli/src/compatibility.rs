//! What this program calls itself, and whose behaviour it has.

/// The version of Terraform whose language, formats and commands are spoken
/// here. Providers, state files and `required_version` are told this one.
pub(crate) use wardian_engine::TERRAFORM_VERSION;

/// This program's own version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The workspace that always is.
pub(crate) const DEFAULT_WORKSPACE: &str = "default";
