//! The arguments of the commands that serve plugins to other hosts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wardian_address::ProviderAddress;

use super::options::ColorArguments;

/// A major version of the native plugins' protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// Supported by Terraform 0.12 and later; it has no nested attributes.
    #[value(name = "5")]
    Five,
    /// Supported by Terraform 1.0 and later.
    #[value(name = "6")]
    Six,
}

/// The plugin to serve, and how to serve it.
#[derive(Args, Debug)]
pub(crate) struct ServedArguments {
    /// A component's file, a native plugin's file (`serve` only), or the address of an embedded
    /// plugin such as hashicorp/random.
    #[arg(value_name = "PLUGIN")]
    pub(crate) plugin: String,
    /// Serve only this version of the protocol: 5 or 6. By default, the host chooses the version.
    #[arg(long, value_name = "VERSION")]
    pub(crate) protocol: Option<Protocol>,
    /// The provider's address, if the file's name does not contain it.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<ProviderAddress>,
}

/// `serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) served: ServedArguments,
    /// More plugins, served together with the first as one provider.
    #[arg(value_name = "FURTHER")]
    pub(crate) further: Vec<String>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `plugin bundle`.
#[derive(Args, Debug)]
pub(crate) struct BundleArguments {
    #[command(flatten)]
    pub(crate) served: ServedArguments,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
