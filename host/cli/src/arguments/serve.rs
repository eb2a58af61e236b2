//! Commands that make native plugins of components, and of other native plugins.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wardian_address::ProviderAddress;

use super::options::ColorArguments;

/// A major version of the protocol of native plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// Hosts of Terraform 0.12 and later know it; it has no nested attributes.
    #[value(name = "5")]
    Five,
    /// Hosts of Terraform 1.0 and later know it.
    #[value(name = "6")]
    Six,
}

/// Which plugin, and how it is served.
#[derive(Args, Debug)]
pub(crate) struct ServedArguments {
    /// A component's file, that of a native plugin for `serve`, or the address of a plugin of this program such as
    /// hashicorp/random.
    #[arg(value_name = "PLUGIN")]
    pub(crate) plugin: String,
    /// Serve one version of the protocol alone: 5 or 6. Both otherwise, of which the host
    /// chooses.
    #[arg(long, value_name = "VERSION")]
    pub(crate) protocol: Option<Protocol>,
    /// The address of the provider, where the file's name does not say it.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<ProviderAddress>,
}

/// `serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) served: ServedArguments,
    /// Further plugins, to be served with the first as one provider.
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
