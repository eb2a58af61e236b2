//! Commands on policies.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wardian_plugin::address::ProviderAddress;

use super::options::ColorArguments;

/// `policy`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

/// What can be done with policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what is wrong with policies.
    ///
    /// Reads the policies of all levels or, where a file is given, that one alone, as if
    /// it were the organisation's.
    Check(PolicyCheckArguments),
    /// Say what policies let a plugin do, and by which lines.
    Explain(PolicyExplainArguments),
}

/// `policy check`.
#[derive(Args, Debug)]
pub(crate) struct PolicyCheckArguments {
    /// The file to check, instead of those that are in effect.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `policy explain`.
#[derive(Args, Debug)]
pub(crate) struct PolicyExplainArguments {
    /// The plugin, such as hashicorp/http.
    #[arg(value_name = "ADDRESS")]
    pub(crate) plugin: ProviderAddress,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
