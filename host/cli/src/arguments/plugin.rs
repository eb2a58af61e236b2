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
    /// Manage the cache of downloaded provider packages.
    Cache(PluginCacheArguments),
}

/// `plugin cache`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct PluginCacheArguments {
    #[command(subcommand)]
    pub(crate) command: PluginCacheCommand,
}

/// Commands on the plugin cache.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCacheCommand {
    /// Remove packages from the plugin cache, the least recently installed first.
    ///
    /// Configurations that use a removed package need `wardian init` again.
    Prune(PluginCachePruneArguments),
}

/// `plugin cache prune`.
#[derive(Args, Debug)]
pub(crate) struct PluginCachePruneArguments {
    /// The size to which the cache is reduced, such as 500MB or 2GB; 0 removes everything.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_size: u64,
    /// Only list what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// Parses a number of bytes with an optional unit.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit: u64 = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        "KIB" => 1 << 10,
        "MIB" => 1 << 20,
        "GIB" => 1 << 30,
        _ => return Err("the unit must be B, KB, MB, GB, KiB, MiB or GiB".to_owned()),
    };
    let number: u64 =
        digits.parse().map_err(|_| "a size is a number with a unit, such as 500MB".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "the size is too large".to_owned())
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
