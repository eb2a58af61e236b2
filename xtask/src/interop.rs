//! `cargo xtask interop`: runs the same steps with Wardian and with the programs with which it must
//! be compatible, and prints the differences.
//!
//! | peer | procedure |
//! |---|---|
//! | `aws` | the AWS provider, once under `terraform` and once under `wardian`, each with a server that emulates AWS on this machine: `tests/interop/aws` is created, planned again, changed, replaced, continued by the other host, imported and destroyed |
//! | `backends` | each backend with a server on this machine (PostgreSQL, moto, HTTP servers), and with `terraform` as the second client: states, locks and workspaces of one program are used by the other, and states are migrated between every pair of backends |
//! | `terraform` | each embedded plugin, served as a native plugin in both protocol versions, under `terraform`, and in its sandbox under `wardian`: `tests/interop/PLUGIN` is initialized, validated, planned, applied, changed, imported and destroyed |
//! | `test-modules` | the public modules in `tests/interop/test-modules`, whose tests use only mocks, under `terraform test` and `wardian test`: each run has the same status |
//! | `wrappers` | tools that run `terraform`, installed from their registries, with Wardian under that name: the drivers in `tests/interop/wrappers` use each tool and check the results, once with Wardian and once with Terraform |
//! | `compare` | any configurations under `terraform` and `wardian`, with mock providers for providers that are not installed: exit codes, diagnostics and plans are equal |
//! | `install` | a configuration with 12 modules and 4 providers, installed by `terraform` and `wardian` from the same servers: lock files, manifests and files are equal, and each program uses the other program's directory; a Python program pulls Wardian's artifacts in the same way as OpenTofu |
//! | `languages` | the provider `inventory` in Rust, Go, JavaScript and Python, built with toolchains from PyPI and npm: all components have the same plans, states and diagnostics; `--bindings` only writes the bindings of the SDKs |
//! | `native` | unmodified native providers in Python and Go, under `native = "confine"`: Kubernetes with a client certificate and with an exec credential program, three C libraries, gRPC with keep-alive, a long connection, and curl with HTTP/2 |
//! | `postgres` | two users of one state in the backend `postgres`: 200 concurrent applies, 300 that are killed and 100 that are suspended for longer than their lease; no object is lost or created twice, no run writes after its lease, and every result equals that of some serial order |
//! | `review` | the page of `show -html` in headless Chromium: the dangerous change of five plans is on the first screen, each filter shows the right changes, and a hostile plan starts no script and no request |
//! | `ssh` | OpenSSH's server on a loopback address: the provisioner `file` takes at most twice as long as `scp` to copy 100 MB |
//!
//! Each command prints a table or a line for each peer. If a prerequisite is missing, the command
//! prints the reason and exits successfully.

mod aws;
mod aws_learning;
mod azurite;
mod backends;
mod compare;
mod documents;
mod generated;
mod install;
pub(crate) mod install_servers;
mod languages;
mod mirrors;
mod moto;
mod native;
mod program;
mod report;
mod review;
mod selection;
mod ssh;
mod terraform;
mod test_modules;
mod wrappers;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use self::selection::Selection;
use crate::workspace::Workspace;

/// Returns the mirror with the AWS provider, or the reason why it is missing.
pub(crate) fn mirror() -> Result<PathBuf> {
    let mirror = std::env::var_os("WARDIAN_TEST_MIRROR").map(PathBuf::from);
    let mirror = mirror.context("WARDIAN_TEST_MIRROR does not name a mirror with the AWS provider")?;
    let provider = mirror.join("registry.terraform.io/hashicorp/aws");
    anyhow::ensure!(provider.is_dir(), "{} does not exist", provider.display());
    Ok(mirror)
}

/// The command, with its own arguments.
pub(crate) enum Peer {
    Aws,
    Backends,
    Compare(compare::Options),
    Install,
    Languages(languages::Options),
    Native(native::Options),
    Postgres,
    Review(review::Options),
    Ssh,
    Terraform,
    TestModules(Selection),
    Wrappers(Selection),
}

impl Peer {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        match arguments {
            [peer] if peer == "aws" => Ok(Self::Aws),
            [peer] if peer == "backends" => Ok(Self::Backends),
            [peer, rest @ ..] if peer == "compare" => compare::Options::parse(rest).map(Self::Compare),
            [peer] if peer == "install" => Ok(Self::Install),
            [peer, rest @ ..] if peer == "languages" => languages::Options::parse(rest).map(Self::Languages),
            [peer, rest @ ..] if peer == "native" => native::Options::parse(rest).map(Self::Native),
            [peer] if peer == "postgres" => Ok(Self::Postgres),
            [peer, rest @ ..] if peer == "review" => review::Options::parse(rest).map(Self::Review),
            [peer] if peer == "ssh" => Ok(Self::Ssh),
            [peer] if peer == "terraform" => Ok(Self::Terraform),
            [peer, rest @ ..] if peer == "test-modules" => {
                Selection::parse(peer, rest).map(Self::TestModules)
            }
            [peer, rest @ ..] if peer == "wrappers" => Selection::parse(peer, rest).map(Self::Wrappers),
            _ => {
                bail!(
                    "`interop` requires an argument: aws, backends, install, languages, native, postgres, review, ssh, terraform, test-modules, wrappers or compare DIRECTORY..."
                )
            }
        }
    }

    /// Whether Wardian and its plugins must be built.
    pub(crate) fn needs_build(&self) -> bool {
        match self {
            Self::Compare(options) => options.binary.is_none(),
            Self::Languages(options) => options.needs_build(),
            Self::Native(options) => options.binary.is_none(),
            Self::Review(options) => options.binary.is_none(),
            Self::TestModules(selection) | Self::Wrappers(selection) => selection.binary.is_none(),
            Self::Aws | Self::Backends | Self::Install | Self::Postgres | Self::Ssh | Self::Terraform => true,
        }
    }
}

pub(crate) fn run(workspace: &Workspace, peer: &Peer) -> Result<ExitCode> {
    match peer {
        Peer::Aws => aws::run(workspace),
        Peer::Backends => backends::run(workspace),
        Peer::Postgres => backends::run_concurrently(workspace),
        Peer::Compare(options) => compare::run(workspace, options),
        Peer::Install => install::run(workspace),
        Peer::Languages(options) => languages::run(workspace, options),
        Peer::Native(options) => native::run(workspace, options),
        Peer::Review(options) => review::run(workspace, options),
        Peer::Ssh => ssh::run(workspace),
        Peer::Terraform => terraform::run(workspace),
        Peer::TestModules(options) => test_modules::run(workspace, options),
        Peer::Wrappers(options) => wrappers::run(workspace, options),
    }
}
