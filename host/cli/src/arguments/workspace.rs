//! The arguments of the `workspace` commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::options::ColorArguments;
use super::values::duration;

/// `workspace`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct WorkspaceArguments {
    #[command(subcommand)]
    pub(crate) command: WorkspaceCommand,
}

/// Commands on workspaces.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Delete a workspace.
    Delete(WorkspaceDeleteArguments),
    /// List the workspaces.
    List(WorkspaceListArguments),
    /// Create a workspace and select it.
    New(WorkspaceNewArguments),
    /// Select another workspace.
    Select(WorkspaceSelectArguments),
    /// Print the name of the selected workspace.
    Show(WorkspaceShowArguments),
}

/// `workspace list`.
#[derive(Args, Debug)]
pub(crate) struct WorkspaceListArguments {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `workspace show`.
#[derive(Args, Debug)]
pub(crate) struct WorkspaceShowArguments {
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `workspace delete`.
#[derive(Args, Debug)]
pub(crate) struct WorkspaceDeleteArguments {
    /// The workspace's name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Delete the workspace even if its state has objects, which are then no longer managed.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) lock: StateLockArguments,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `workspace new`.
#[derive(Args, Debug)]
pub(crate) struct WorkspaceNewArguments {
    /// The workspace's name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Start with a copy of this state file.
    #[arg(long, value_name = "PATH")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) lock: StateLockArguments,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `workspace select`.
#[derive(Args, Debug)]
pub(crate) struct WorkspaceSelectArguments {
    /// The workspace's name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Create the workspace if it does not exist.
    #[arg(long)]
    pub(crate) or_create: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// Options for the lock of a workspace's state.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StateLockArguments {
    /// `false`: do not lock the state. Dangerous if others may use it at the same time.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock: bool,
    /// How long to wait for a lock that another process holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
}
