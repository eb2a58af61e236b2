//! The arguments of the `providers` commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wardian_address::ProviderAddress;
use wardian_install::mirror::Platform;

use super::options::ColorArguments;

/// `providers`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct ProvidersArguments {
    /// The directory of test files, relative to the configuration. The default is `tests`.
    #[arg(long, value_name = "PATH")]
    pub(crate) test_directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
    #[command(subcommand)]
    pub(crate) command: Option<ProvidersCommand>,
}

/// Other commands about providers.
#[derive(Debug, Subcommand)]
pub(crate) enum ProvidersCommand {
    /// Print the schemas of all providers of the configuration as JSON.
    Schema(ProvidersSchemaArguments),
    /// Record the hashes of provider packages for other platforms in the lock file.
    ///
    /// Takes the packages from each provider's registry, or from the given mirror, regardless of
    /// the sources in the CLI configuration. Installs nothing.
    Lock(ProvidersLockArguments),
    /// Copy the provider packages of the configuration into a directory.
    ///
    /// The directory can be used as a filesystem mirror and, on a web server, as a network mirror.
    /// It also receives the component of each provider that has one.
    Mirror(ProvidersMirrorArguments),
}

/// `providers schema`.
#[derive(Args, Debug)]
pub(crate) struct ProvidersSchemaArguments {
    /// Print JSON; required, because there is no other format.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `providers lock`.
#[derive(Args, Debug)]
pub(crate) struct ProvidersLockArguments {
    /// Take the packages from this directory, which has the layout of a filesystem mirror.
    #[arg(long, value_name = "DIR")]
    pub(crate) fs_mirror: Option<PathBuf>,
    /// Take the packages from the network mirror with this URL.
    #[arg(long, value_name = "URL")]
    pub(crate) net_mirror: Option<String>,
    /// A platform, such as linux_amd64, or wasip2_wasm for the component. Repeatable; without this
    /// option, this machine's platform.
    #[arg(long, value_name = "OS_ARCH", value_parser = platform)]
    pub(crate) platform: Vec<Platform>,
    /// Accepted without effect; packages are always taken from their source.
    #[arg(long, hide = true)]
    pub(crate) enable_plugin_cache: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
    /// The providers; without this argument, all providers of the configuration.
    #[arg(value_name = "PROVIDER")]
    pub(crate) providers: Vec<ProviderAddress>,
}

/// `providers mirror`.
#[derive(Args, Debug)]
pub(crate) struct ProvidersMirrorArguments {
    /// A platform, such as linux_amd64. Repeatable; without this option, this machine's platform.
    #[arg(long, value_name = "OS_ARCH", value_parser = platform)]
    pub(crate) platform: Vec<Platform>,
    /// `false`: copy the newest versions that the configuration allows, not the locked ones.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub(crate) lock_file: bool,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
    /// The directory of the mirror.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// Parses `OS_ARCH`.
fn platform(text: &str) -> Result<Platform, String> {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match text.split_once('_') {
        Some((os, architecture)) if is_word(os) && is_word(architecture) => Ok(Platform::named(text)),
        _ => Err("a platform is an operating system and an architecture, such as linux_amd64".to_owned()),
    }
}
