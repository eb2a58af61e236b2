//! `cargo xtask interop`: runs the same steps with Wardian and with the programs with which it must
//! be compatible, and prints the differences.
//!
//! | peer | procedure |
//! |---|---|
//! | `aws` | the AWS provider, once under `terraform` and once under `wardian`, each with a server that emulates AWS on this machine: `tests/interop/aws` is created, planned again, changed, replaced, continued by the other host, imported and destroyed |
//! | `terraform` | each embedded plugin, served as a native plugin in both protocol versions, under `terraform`, and in its sandbox under `wardian`: `tests/interop/PLUGIN` is initialized, validated, planned, applied, changed, imported and destroyed |
//! | `ssh` | OpenSSH's server on a loopback address: the provisioner `file` takes at most twice as long as `scp` to copy 100 MB |
//!
//! Each command prints a table. If a prerequisite is missing, the command prints the reason and
//! exits successfully.

mod aws;
mod documents;
mod generated;
mod moto;
mod program;
mod report;
mod ssh;
mod terraform;

use std::path::PathBuf;
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

#[derive(Clone, Copy)]
pub(crate) enum Peer {
    Aws,
    Ssh,
    Terraform,
}

impl Peer {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        match arguments {
            [peer] if peer == "aws" => Ok(Self::Aws),
            [peer] if peer == "ssh" => Ok(Self::Ssh),
            [peer] if peer == "terraform" => Ok(Self::Terraform),
            _ => bail!("`interop` takes one argument: aws, ssh or terraform"),
        }
    }
}

pub(crate) fn run(workspace: &Workspace, peer: Peer) -> Result<ExitCode> {
    match peer {
        Peer::Aws => aws::run(workspace),
        Peer::Ssh => ssh::run(workspace),
        Peer::Terraform => terraform::run(workspace),
    }
}
