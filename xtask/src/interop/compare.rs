//! `cargo xtask interop compare DIRECTORY...`: runs configurations with Terraform and with Wardian,
//! and reports the differences.
//!
//! Each configuration is copied, with the local modules that it calls, and both programs run in a
//! directory with the same path. Providers come from a filesystem mirror: the embedded plugins,
//! which Wardian serves to Terraform; the AWS provider if `WARDIAN_TEST_MIRROR` names a mirror with
//! it; and mock providers for all others (see `tests/mock-provider`). A configured backend is
//! overridden with the local backend. Required variables get values that are derived from their
//! types.
//!
//! The result of a directory is one of:
//! - same, if both programs succeed with the same plan;
//! - same error, if both programs report the same errors at the same positions;
//! - DIFFERS, with the differences by attribute.

mod differences;
mod generated_values;
mod options;
mod result;
mod setup;
mod steps;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use self::result::{DirectoryResult, table};
use self::setup::Setup;
use super::program::Program;
use crate::oracle;
use crate::progress::say;
use crate::workspace::Workspace;

pub(crate) use self::options::Options;

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let terraform = match oracle::terraform() {
        Ok(found) => found,
        Err(reason) => {
            say(&format!("skipped: {reason}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let binary = options.binary.clone().unwrap_or_else(|| workspace.host_program("wardian"));
    let mut setup = Setup::new(workspace, options, &terraform, &binary)?;
    let mut results = Vec::new();
    let mut report = options.report.as_deref().map(fs::File::create).transpose().context("--report")?;
    for directory in &options.directories {
        say(&format!("==> {}", directory.display()));
        let result = match compared(&mut setup, options, directory) {
            Ok(result) => result,
            Err(error) => DirectoryResult::failed(directory, &error),
        };
        result.print();
        if let Some(report) = &mut report {
            use std::io::Write as _;
            writeln!(report, "{}", result.to_json()).context("--report")?;
        }
        results.push(result);
    }
    say(&table(&results));
    let is_same = results.iter().all(DirectoryResult::is_same);
    Ok(if is_same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one configuration with both programs.
fn compared(setup: &mut Setup, options: &Options, directory: &Path) -> Result<DirectoryResult> {
    let project = setup.project(directory)?;
    let mut sides = Vec::new();
    for program in [setup.terraform.clone(), setup.wardian.clone()] {
        setup.copy(&project)?;
        let program = Program { environment: setup.environment(&project)?, ..program };
        sides.push(steps::run(&program, setup.place(), &project, options.is_applying)?);
    }
    let [theirs, ours] = sides.as_slice() else { anyhow::bail!("a program could not be run") };
    Ok(DirectoryResult::new(directory, &project, theirs, ours))
}
