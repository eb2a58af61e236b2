//! Commands on workspaces.

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

/// What can be done with workspaces.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Delete a workspace.
    Delete(WorkspaceDeleteArguments),
    /// List the workspaces.
    List(WorkspaceListArguments),
    /// Make a workspace and work in it.
    New(WorkspaceNewArguments),
    /// Work in another workspace.
    Select(WorkspaceSelectArguments),
    /// Print the name of the workspace that is worked in.
    Show(WorkspaceShowArguments),
}

/// `workspace list`.
#[derive(Args, Debug)]
pub(crate) struct WorkspaceListArguments {
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
    /// The workspace.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Even if its state has objects, which nobody knows of afterwards.
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
    /// The workspace.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Begin with a copy of this state file.
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
    /// The workspace.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Make it if there is none of that name.
    #[arg(long)]
    pub(crate) or_create: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// The lock of a workspace's state.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StateLockArguments {
    /// `false`: do not lock the state. Dangerous if somebody else works on it.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock: bool,
    /// How long to wait for a lock that somebody else holds.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) lock_timeout: Duration,
}
