//! The arguments of the commands that plan, apply or refresh.

use std::path::PathBuf;

use clap::Args;
use wardian_engine::TargetAddress;

use super::VariableArguments;
use super::options::{
    AuditArguments, LockArguments, OperationArguments, PlanningArguments, ProgressOutputArguments,
    ScopeArguments, StateOutArguments, TrustArguments, ViewArguments,
};

/// `plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
    /// Save the plan to this file.
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Encrypt the plan file with the passphrase in WARDIAN_PLAN_PASSPHRASE, or one entered at the
    /// prompt.
    #[arg(long, requires = "out")]
    pub(crate) encrypt: bool,
    /// Generate configuration for imported objects that have none, and write it to this file, which
    /// must not exist.
    #[arg(long, value_name = "PATH")]
    pub(crate) generate_config_out: Option<PathBuf>,
    /// Exit with 2 if there are changes, and with 0 if there are none.
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
    /// Review the plan on the whole terminal. With -out, the plan is saved only if you approve it.
    #[arg(long, conflicts_with_all = ["json", "summary"])]
    pub(crate) review: bool,
    /// Show only the counts and the changes that destroy or replace objects.
    #[arg(long)]
    pub(crate) summary: bool,
    /// Accepted without effect; a plan writes no state.
    #[arg(long, value_name = "PATH", hide = true)]
    pub(crate) state_out: Option<PathBuf>,
    /// Accepted without effect; a plan writes no state.
    #[arg(long, value_name = "PATH", hide = true)]
    pub(crate) backup: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) output: ProgressOutputArguments,
}

/// `apply`.
#[derive(Args, Debug)]
pub(crate) struct ApplyArguments {
    /// The saved plan to apply.
    #[arg(value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// Do not ask for approval.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Review the plan on the whole terminal, and approve it there.
    #[arg(long, conflicts_with_all = ["auto_approve", "json", "summary"])]
    pub(crate) review: bool,
    /// Show only the counts and the changes that destroy or replace objects.
    #[arg(long)]
    pub(crate) summary: bool,
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) output: ProgressOutputArguments,
}

/// `destroy`.
#[derive(Args, Debug)]
pub(crate) struct DestroyArguments {
    /// Do not ask for approval.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Review the plan on the whole terminal, and approve it there.
    #[arg(long, conflicts_with_all = ["auto_approve", "json", "summary"])]
    pub(crate) review: bool,
    /// Show only the counts and the changes that destroy or replace objects.
    #[arg(long)]
    pub(crate) summary: bool,
    #[command(flatten)]
    pub(crate) scope: ScopeArguments,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) output: ProgressOutputArguments,
}

/// `refresh`.
#[derive(Args, Debug)]
pub(crate) struct RefreshArguments {
    /// Include only this module, resource or instance, and its dependencies. Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) target: Vec<TargetAddress>,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) output: ProgressOutputArguments,
}

/// `import`.
#[derive(Args, Debug)]
pub(crate) struct ImportArguments {
    /// The address of the resource instance to which the object is imported.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,
    /// The object's ID, in the form that the provider requires.
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    pub(crate) id: String,
    /// The directory of the configuration, instead of the current one.
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Accepted without effect; there is no remote backend.
    #[arg(long, hide = true)]
    pub(crate) ignore_remote_version: bool,
    #[command(flatten)]
    pub(crate) variables: VariableArguments,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) audit: AuditArguments,
    #[command(flatten)]
    pub(crate) view: ViewArguments,
}
