//! The arguments of the `plugin` commands.

use clap::{Args, Subcommand};

use super::options::ColorArguments;
use super::serve::BundleArguments;

/// `plugin`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct PluginArguments {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

/// Commands on plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Show a plugin's imports and the capabilities that it requests.
    ///
    /// Reads a component's file, or finds an installed or embedded plugin by its address. The
    /// plugin is not run.
    Inspect(PluginInspectArguments),
    /// Write a plugin as one file that Terraform and OpenTofu can run.
    ///
    /// The file is this program with the component appended. Put it into a mirror, named
    /// terraform-provider-TYPE_vVERSION, or use it as a development override.
    Bundle(BundleArguments),
}

/// `plugin inspect`.
#[derive(Args, Debug)]
pub(crate) struct PluginInspectArguments {
    /// A component's file, or a plugin's address such as hashicorp/local.
    #[arg(value_name = "FILE|ADDRESS")]
    pub(crate) plugin: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
