//! Commands on states.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use wardian_address::ResourceInstanceAddress;
use wardian_engine::TargetAddress;

use super::options::{ColorArguments, LockArguments, StateOutArguments};
use super::values::duration;

/// `state`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct StateArguments {
    #[command(subcommand)]
    pub(crate) command: StateCommand,
}

/// What can be done with a state.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// List the instances in the state.
    List(StateListArguments),
    /// Give what is in the state another address.
    ///
    /// Moves an instance, a resource with all its instances, or a module instance with
    /// all that is in it. The real objects are not touched. The state as it was is kept
    /// in a file with the time in its name.
    Mv(StateMvArguments),
    /// Print the state file.
    Pull(StatePullArguments),
    /// Replace the state by another file.
    ///
    /// Refuses a state of another lineage, and one that is older than what is there.
    Push(StatePushArguments),
    /// Hand objects over to another provider.
    ReplaceProvider(StateReplaceProviderArguments),
    /// Forget objects without destroying them.
    ///
    /// The real objects stay. The state as it was is kept in a file with the time in its
    /// name.
    Rm(StateRmArguments),
    /// Show one instance.
    Show(StateShowArguments),
}

/// `state list`.
#[derive(Args, Debug)]
pub(crate) struct StateListArguments {
    /// Only these modules, resources or instances.
    #[arg(value_name = "ADDRESS")]
    pub(crate) addresses: Vec<TargetAddress>,
    /// Only instances whose attribute `id` is this.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state mv`.
#[derive(Args, Debug)]
pub(crate) struct StateMvArguments {
    /// The address that it has.
    #[arg(value_name = "SOURCE")]
    pub(crate) source: TargetAddress,
    /// The address that it gets.
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: TargetAddress,
    /// Only say what would be moved.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Where to keep the state of -state-out as it was.
    #[arg(long, value_name = "PATH")]
    pub(crate) backup_out: Option<PathBuf>,
    /// Accepted; there is no remote backend.
    #[arg(long, hide = true)]
    pub(crate) ignore_remote_version: bool,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state pull`.
#[derive(Args, Debug)]
pub(crate) struct StatePullArguments {
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state push`.
#[derive(Args, Debug)]
pub(crate) struct StatePushArguments {
    /// The state file to store; `-` for standard input.
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Whatever lineage and serial say.
    #[arg(long)]
    pub(crate) force: bool,
    /// `false`: do not lock the state. Dangerous if somebody else works on it.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock: bool,
    /// How long to wait for a lock that somebody else holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
    /// Accepted; there is no remote backend.
    #[arg(long, hide = true)]
    pub(crate) ignore_remote_version: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state replace-provider`.
#[derive(Args, Debug)]
pub(crate) struct StateReplaceProviderArguments {
    /// The provider that objects have.
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// The provider that they get.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// Do not ask before doing it.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Accepted; there is no remote backend.
    #[arg(long, hide = true)]
    pub(crate) ignore_remote_version: bool,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state rm`.
#[derive(Args, Debug)]
pub(crate) struct StateRmArguments {
    /// Modules, resources or instances.
    #[arg(value_name = "ADDRESS", required = true)]
    pub(crate) addresses: Vec<TargetAddress>,
    /// Only say what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Accepted; there is no remote backend.
    #[arg(long, hide = true)]
    pub(crate) ignore_remote_version: bool,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state show`.
#[derive(Args, Debug)]
pub(crate) struct StateShowArguments {
    /// The instance.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: ResourceInstanceAddress,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `taint`.
#[derive(Args, Debug)]
pub(crate) struct TaintArguments {
    /// The instance.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: ResourceInstanceAddress,
    /// Do not fail where there is no such instance.
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// Accepted; there is no remote backend.
    #[arg(long, hide = true)]
    pub(crate) ignore_remote_version: bool,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    #[command(flatten)]
    pub(crate) state_out: StateOutArguments,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `untaint`.
#[derive(Args, Debug)]
pub(crate) struct UntaintArguments {
    #[command(flatten)]
    pub(crate) object: TaintArguments,
}

/// `force-unlock`.
#[derive(Args, Debug)]
pub(crate) struct ForceUnlockArguments {
    /// The lock's ID, as the message about it says.
    #[arg(value_name = "LOCK_ID")]
    pub(crate) id: String,
    /// Do not ask before doing it.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
