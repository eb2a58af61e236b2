//! Tests the backends with real servers and with Terraform as the second client: the suites
//! `backends` of `wardian-backend` and of the end-to-end tests. moto and Azurite are installed if
//! necessary; a suite skips what is missing, and prints the reason. If WARDIAN_STORAGE_TESTBENCH names
//! the program gunicorn of a Python environment with Google's storage-testbench, it is also used.

use std::process::ExitCode;

use anyhow::Result;

use super::{azurite, moto};
use crate::process;
use crate::progress::say;
use crate::test;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let mut variables = Vec::new();
    match process::on_path("python3") {
        Some(python) => {
            let server = moto::installed(&workspace.own_target(), &python)?;
            variables.push(("WARDIAN_MOTO_SERVER", server));
        }
        None => say("moto is not installed, because python3 is not on PATH"),
    }
    match process::on_path("npm") {
        Some(npm) => {
            let server = azurite::installed(&workspace.own_target(), &npm)?;
            variables.push(("WARDIAN_AZURITE", server));
        }
        None => say("Azurite is not installed, because npm is not on PATH"),
    }
    // Faults that last until the time limits of requests.
    variables.push(("WARDIAN_SLOW_FAULTS", "1".into()));
    let arguments = ["--test", "backends", "--", "--nocapture"].map(str::to_owned);
    test::run_with(workspace, &arguments, &variables)
}

/// The sizes of the tests of concurrent runs. The tests of every change run a sample.
const SIZES: &[(&str, &str)] = &[
    ("WARDIAN_CONCURRENT_APPLIES", "200"),
    ("WARDIAN_KILLED_RUNS", "300"),
    ("WARDIAN_SUSPENDED_RUNS", "100"),
];

/// Runs the tests of concurrent runs in the backend `postgres` in full size.
pub(crate) fn run_concurrently(workspace: &Workspace) -> Result<ExitCode> {
    let variables: Vec<_> = SIZES.iter().map(|(name, value)| (*name, (*value).into())).collect();
    let arguments = ["--test", "backends", "--", "--nocapture", "concurrent_runs"].map(str::to_owned);
    test::run_with(workspace, &arguments, &variables)
}
