//! The arguments of the `plugin` commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wardian_address::{ProviderAddress, Version};

use super::authoring::{
    PluginBuildArguments, PluginCheckArguments, PluginComponentizeArguments, PluginDebugArguments,
    PluginDeclareArguments, PluginDevArguments, PluginDocsArguments, PluginNewArguments,
};
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
    /// Build the component of a provider for a release.
    ///
    /// Starts the build tool of the project's language: cargo, go, componentize-qjs or componentize-py.
    Build(PluginBuildArguments),
    /// Write a plugin as one file that Terraform and OpenTofu can run.
    ///
    /// The file is this program with the component appended. Put it into a mirror, named
    /// terraform-provider-TYPE_vVERSION, or use it as a development override.
    Bundle(BundleArguments),
    /// Manage the cache of downloaded provider packages.
    Cache(PluginCacheArguments),
    /// Check a component before its release.
    ///
    /// Checks its imports and exports, its declaration and its schemas, and reports its size. The
    /// schemas are requested from the component, which runs in the sandbox without any access.
    Check(PluginCheckArguments),
    /// Convert a core module to a component.
    ///
    /// Embeds the plugin's world, adapts WASI 0.1 to WASI 0.2, and declares the capabilities in the
    /// file next to the module that has the extension .capabilities.json.
    Componentize(PluginComponentizeArguments),
    /// Print the calls of a plugin with their arguments and responses, or repeat one.
    ///
    /// Runs the command after "--" and records its calls: `plugin debug acme/dns -- plan`. Sensitive
    /// values are redacted. With -replay, repeats a recorded call with the component in a file.
    Debug(PluginDebugArguments),
    /// Declare the capabilities that a component needs.
    ///
    /// For components that were built without the Rust SDK, whose export macro declares
    /// capabilities. Users approve each capability before the component runs.
    Declare(Box<PluginDeclareArguments>),
    /// Build a provider, plan its example and run its tests, after each change.
    ///
    /// Starts the build tool of the project's language, overrides the provider with the built component,
    /// and grants it the capabilities that it declares, for these plans only.
    Dev(PluginDevArguments),
    /// Write the documentation of a provider in the layout of provider registries.
    ///
    /// Pages are generated from the schema and from examples/; templates in templates/ replace them.
    /// Guides are not changed.
    Docs(PluginDocsArguments),
    /// Create the project of a new provider.
    ///
    /// The project builds: it contains a resource and a data source with tests, an example
    /// configuration with its tests and policy, and workflows for tests and releases.
    New(PluginNewArguments),
    /// Build a release of a provider, for a provider registry or an OCI registry.
    ///
    /// With -dir, writes the files of a release: packages, component, manifest and SHA256SUMS,
    /// which the publisher signs. With an oci:// address, pushes one tag that OpenTofu, Wardian and
    /// WebAssembly component tools can use. Equal inputs produce identical bytes.
    Publish(Box<PluginPublishArguments>),
}

/// `plugin publish`.
#[derive(Args, Debug)]
pub(crate) struct PluginPublishArguments {
    /// The file of the component.
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) component: PathBuf,
    /// The provider's address, such as acme/dns.
    #[arg(long, value_name = "ADDRESS", required = true)]
    pub(crate) address: ProviderAddress,
    /// The version of the release.
    #[arg(long = "version", value_name = "VERSION", required = true, value_parser = version)]
    pub(crate) release_version: Version,
    /// A version of the plugin protocol, such as 6.0. Repeatable.
    #[arg(long, value_name = "VERSION", default_value = "6.0")]
    pub(crate) protocol: Vec<String>,
    /// A native package: its platform and its executable or zip file, as linux_amd64=FILE.
    /// Repeatable.
    #[arg(long, value_name = "OS_ARCH=FILE")]
    pub(crate) native: Vec<String>,
    /// A file that is added to each package, such as a license. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) document: Vec<PathBuf>,
    /// Pack the component into a zip file as well, for registries that accept only zip files.
    #[arg(long)]
    pub(crate) component_zip: bool,
    /// A description of the provider, for WebAssembly component tools.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The license, as an SPDX expression.
    #[arg(long, value_name = "LICENSE")]
    pub(crate) license: Option<String>,
    /// The URL of the source code.
    #[arg(long, value_name = "URL")]
    pub(crate) source: Option<String>,
    /// Write the release into this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Overwrite a published version that has different content.
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
    /// Push the release to this repository: oci://HOST/REPOSITORY.
    #[arg(value_name = "oci://HOST/REPOSITORY")]
    pub(crate) repository: Option<String>,
}

fn version(text: &str) -> Result<Version, String> {
    Version::parse(text).map_err(|error| error.to_string())
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
    /// Only list the packages that would be removed.
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
