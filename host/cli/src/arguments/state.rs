//! The arguments of the `state` commands.

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

/// Commands on a state.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// List the versions of the state.
    ///
    /// Requires a backend that keeps versions, such as "postgres".
    History(StateHistoryArguments),
    /// Print the identities of instances as JSON.
    ///
    /// A provider uses an identity to find an object. Instances whose provider stores no identity
    /// are omitted.
    Identities(StateIdentitiesArguments),
    /// List the instances in the state.
    #[command(alias = "ls")]
    List(StateListArguments),
    /// Change addresses in the state.
    ///
    /// Moves an instance, a resource with all its instances, or a module instance with all of its
    /// resources. Remote objects are not changed. The previous state is saved to a file with the
    /// time in its name.
    #[command(alias = "move")]
    Mv(StateMvArguments),
    /// Print the state file.
    Pull(StatePullArguments),
    /// Replace the state with the content of a file.
    ///
    /// Rejects a state with another lineage, and a state that is older than the current one.
    Push(StatePushArguments),
    /// Replace the provider of resources in the state.
    ReplaceProvider(StateReplaceProviderArguments),
    /// Replace the state with one of its versions.
    ///
    /// Remote objects are not changed: the next plan shows how they differ from the restored state.
    /// The state is not lost, because the restored state is a new version.
    Restore(StateRestoreArguments),
    /// Remove objects from the state without destroying them.
    ///
    /// The remote objects continue to exist. The previous state is saved to a file with the time in
    /// its name.
    #[command(alias = "remove")]
    Rm(StateRmArguments),
    /// Show one instance.
    Show(StateShowArguments),
}

/// `state identities`.
#[derive(Args, Debug)]
pub(crate) struct StateIdentitiesArguments {
    /// Include only these modules, resources or instances.
    #[arg(value_name = "ADDRESS")]
    pub(crate) addresses: Vec<TargetAddress>,
    /// Print JSON; required, because there is no other format.
    #[arg(long)]
    pub(crate) json: bool,
    /// Include only instances whose `id` attribute has this value.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
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
    /// The current address.
    #[arg(value_name = "SOURCE")]
    pub(crate) source: TargetAddress,
    /// The new address.
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: TargetAddress,
    /// Only show which instances would be moved.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The backup file for the previous content of the file of -state-out.
    #[arg(long, value_name = "PATH")]
    pub(crate) backup_out: Option<PathBuf>,
    /// Accepted without effect; there is no remote backend.
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
    /// Print the version with this serial. Requires a backend that keeps versions.
    #[arg(long, value_name = "SERIAL")]
    pub(crate) at: Option<u64>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state push`.
#[derive(Args, Debug)]
pub(crate) struct StatePushArguments {
    /// The state file to store; `-` for standard input.
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Store the state even if its lineage differs or its serial is too low.
    #[arg(long)]
    pub(crate) force: bool,
    /// `false`: do not lock the state. Dangerous if others may use it at the same time.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock: bool,
    /// How long to wait for a lock that another process holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
    /// Accepted without effect; there is no remote backend.
    #[arg(long, hide = true)]
    pub(crate) ignore_remote_version: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state replace-provider`.
#[derive(Args, Debug)]
pub(crate) struct StateReplaceProviderArguments {
    /// The current provider of the objects.
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// The new provider.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// Do not ask for approval.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Accepted without effect; there is no remote backend.
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
    /// Only show which instances would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Accepted without effect; there is no remote backend.
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
    /// The instance's address.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: ResourceInstanceAddress,
    /// Print JSON. Sensitive values are included.
    #[arg(long)]
    pub(crate) json: bool,
    /// The state file to read, instead of terraform.tfstate.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    /// Show the instance in the version with this serial. Requires a backend that keeps versions.
    #[arg(long, value_name = "SERIAL", conflicts_with = "state")]
    pub(crate) at: Option<u64>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state history`.
#[derive(Args, Debug)]
pub(crate) struct StateHistoryArguments {
    /// The maximum number of versions to list.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `state restore`.
#[derive(Args, Debug)]
pub(crate) struct StateRestoreArguments {
    /// The serial of the version.
    #[arg(value_name = "SERIAL")]
    pub(crate) serial: u64,
    /// How long to wait for a lock that another process holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `taint`.
#[derive(Args, Debug)]
pub(crate) struct TaintArguments {
    /// The instance's address.
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: ResourceInstanceAddress,
    /// Succeed even if the instance does not exist.
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// Accepted without effect; there is no remote backend.
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
    /// The lock's ID, from the message about the lock.
    #[arg(value_name = "LOCK_ID")]
    pub(crate) id: String,
    /// Do not ask for approval.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
