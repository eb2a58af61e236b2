//! The arguments of `query`.

use std::path::PathBuf;

use clap::Args;

use super::VariableArguments;
use super::options::{AuditArguments, OperationArguments, ProgressOutputArguments, TrustArguments};

/// `query`.
#[derive(Args, Debug)]
pub(crate) struct QueryArguments {
    /// Generate configuration that imports the objects, and write it to this file, which must not
    /// exist. With -json, the configuration is part of the output, and no file is written.
    #[arg(long, value_name = "PATH")]
    pub(crate) generate_config_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) output: ProgressOutputArguments,
}
