//! The arguments of `wardian audit`.

use std::path::PathBuf;

use clap::Args;

use super::options::ColorArguments;

/// `audit`.
#[derive(Args, Debug)]
pub(crate) struct AuditCommandArguments {
    /// The audit logs: the files that -audit-log or WARDIAN_AUDIT named in runs.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print only the policy that allows the accesses that were allowed in the runs.
    #[arg(long, conflicts_with = "json")]
    pub(crate) suggest_policy: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
