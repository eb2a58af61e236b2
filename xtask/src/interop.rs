//! `cargo xtask interop`: runs the same steps with Wardian and with the programs with which it must
//! be compatible, and prints the differences.
//!
//! | peer | procedure |
//! |---|---|
//! | `aws` | the AWS provider, once under `terraform` and once under `wardian`, each with a server that emulates AWS on this machine: `tests/interop/aws` is created, planned again, changed, replaced, continued by the other host, imported and destroyed |
//! | `terraform` | each embedded plugin, served as a native plugin in both protocol versions, under `terraform`, and in its sandbox under `wardian`: `tests/interop/PLUGIN` is initialized, validated, planned, applied, changed, imported and destroyed |
//! | `wrappers` | tools that run `terraform`, installed from their registries, with Wardian under that name: the drivers in `tests/interop/wrappers` use each tool and check the results, once with Wardian and once with Terraform |
//! | `ssh` | OpenSSH's server on a loopback address: the provisioner `file` takes at most twice as long as `scp` to copy 100 MB |
//!
//! Each command prints a table or a line for each peer. If a prerequisite is missing, the command prints the reason and
//! exits successfully.

mod aws;
mod documents;
mod generated;
mod moto;
mod program;
mod report;
mod ssh;
mod terraform;
mod wrappers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;

/// Returns the mirror with the AWS provider, or the reason why it is missing.
pub(crate) fn mirror() -> Result<PathBuf> {
    let mirror = std::env::var_os("WARDIAN_TEST_MIRROR").map(PathBuf::from);
    let mirror = mirror.context("WARDIAN_TEST_MIRROR does not name a mirror with the AWS provider")?;
    let provider = mirror.join("registry.terraform.io/hashicorp/aws");
    anyhow::ensure!(provider.is_dir(), "{} does not exist", provider.display());
    Ok(mirror)
}

const USAGE: &str = "`interop` requires an argument: aws, ssh, terraform or wrappers";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    Aws,
    Ssh,
    Terraform,
    Wrappers,
}

/// The arguments after `interop`.
pub(crate) struct Options {
    peer: Peer,
    /// The binary to run, instead of the built one.
    binary: Option<PathBuf>,
    /// Selects the tools whose names contain this text.
    only: String,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let (peer, arguments) = arguments.split_first().context(USAGE)?;
        let peer = match peer.as_str() {
            "aws" => Peer::Aws,
            "ssh" => Peer::Ssh,
            "terraform" => Peer::Terraform,
            "wrappers" => Peer::Wrappers,
            _ => bail!("{USAGE}"),
        };
        let mut options = Self { peer, binary: None, only: String::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--binary" if peer == Peer::Wrappers => options.binary = Some(value()?.into()),
                "--only" if peer == Peer::Wrappers => options.only.clone_from(value()?),
                other => bail!("this command of `interop` does not accept `{other}`"),
            }
        }
        Ok(options)
    }

    /// Returns the binary to run, if it is not the built one.
    pub(crate) fn binary(&self) -> Option<&Path> {
        self.binary.as_deref()
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    match options.peer {
        Peer::Aws => aws::run(workspace),
        Peer::Ssh => ssh::run(workspace),
        Peer::Terraform => terraform::run(workspace),
        Peer::Wrappers => wrappers::run(workspace, options.binary(), &options.only),
    }
}
