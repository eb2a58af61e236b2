//! `audit`.

use std::path::PathBuf;

use clap::Args;

use super::options::ColorArguments;

/// `audit`.
#[derive(Args, Debug)]
pub(crate) struct AuditCommandArguments {
    /// The log: what -audit-log or WARDIAN_AUDIT named in a run.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print the policy that allows what was allowed in the run, and nothing else.
    #[arg(long, conflicts_with = "json")]
    pub(crate) suggest_policy: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
