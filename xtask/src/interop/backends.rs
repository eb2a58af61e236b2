//! Tests the backends with real servers and with Terraform as the second client: the suites
//! `backends` of `wardian-backend` and of the end-to-end tests. moto is installed if necessary; a
//! suite skips missing servers, and prints the reason.

use std::process::ExitCode;

use anyhow::Result;

use super::moto;
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
    let arguments = ["--test", "backends", "--", "--nocapture"].map(str::to_owned);
    test::run_with(workspace, &arguments, &variables)
}
