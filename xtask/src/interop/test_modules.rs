//! Runs the tests of public modules with `terraform test` and `wardian test`, and compares the status
//! of each run.
//!
//! `tests/interop/test-modules/modules.json` lists the modules, whose tests use only mocks. They are
//! fetched with git. Providers come from filesystem mirrors: the embedded plugins, which Wardian
//! serves to Terraform; the AWS provider if `WARDIAN_TEST_MIRROR` names a mirror with it; and mock
//! providers for all others, whose schemas are derived from the module and its tests (see
//! `tests/mock-provider`).

mod checkout;
mod list;
mod setup;
mod trial;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};

use self::checkout::Checkouts;
use self::list::TestModule;
use self::setup::Setup;
use self::trial::Trial;
use super::selection::Selection;
use crate::oracle;
use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<ExitCode> {
    let terraform = oracle::terraform();
    let git = process::on_path("git").context("`git` is not on PATH");
    let (terraform, git) = match (terraform, git) {
        (Ok(terraform), Ok(git)) => (terraform, git),
        (Err(reason), _) | (_, Err(reason)) => {
            say(&format!("skipped: {reason}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let list = workspace.root.join("tests/interop/test-modules/modules.json");
    let modules: Vec<TestModule> =
        list::read(&list)?.into_iter().filter(|module| module.name().contains(&selection.only)).collect();
    let place = workspace.own_target().join("interop/test-modules");
    let checkouts = Checkouts::new(git, place.join("repositories"));
    let mut setup: Option<Setup> = None;
    let mut rows = Vec::new();
    let mut skipped = 0;
    for module in &modules {
        let directory = match checkouts.directory(module) {
            Ok(directory) => directory,
            Err(reason) => {
                say(&format!("{}: skipped: it cannot be fetched: {reason:#}", module.name()));
                skipped += 1;
                continue;
            }
        };
        let setup = match &mut setup {
            Some(setup) => setup,
            none => none.insert(Setup::new(workspace, selection.binary.as_deref(), &terraform, &place)?),
        };
        let trial = Trial::run(setup, module, &directory).with_context(|| module.name())?;
        for line in trial.problems(module) {
            say(&format!("  {}: {line}", module.name()));
        }
        say(&row(module, &trial));
        rows.push((module, trial));
    }
    Ok(summary(&rows, skipped))
}

/// A line of the table.
fn row(module: &TestModule, trial: &Trial) -> String {
    let result = match (trial.is_accepted(module), &module.differs) {
        (true, None) => "equal".to_owned(),
        (true, Some(reason)) => format!("as expected: {reason}"),
        (false, _) => "DIFFERS".to_owned(),
    };
    format!(
        "{:78} {:8} {:4} runs {:4} equal {:6.1} s {:6.1} s  {result}",
        module.name(),
        module.commit.get(..8).unwrap_or(&module.commit),
        trial.runs(),
        trial.equal(),
        trial.theirs.elapsed.as_secs_f64(),
        trial.ours.elapsed.as_secs_f64(),
    )
}

fn summary(rows: &[(&TestModule, Trial)], skipped: usize) -> ExitCode {
    let differing = rows.iter().filter(|(module, trial)| !trial.is_accepted(module)).count();
    let sum = |count: fn(&Trial) -> usize| rows.iter().map(|(_, trial)| count(trial)).sum::<usize>();
    let time = |elapsed: fn(&Trial) -> Duration| {
        rows.iter().map(|(_, trial)| elapsed(trial)).sum::<Duration>().as_secs_f64()
    };
    let mut text = format!(
        "\n{} modules, {} runs, {} equal; terraform {:.1} s, wardian {:.1} s",
        rows.len(),
        sum(Trial::runs),
        sum(Trial::equal),
        time(|trial| trial.theirs.elapsed),
        time(|trial| trial.ours.elapsed),
    );
    if skipped > 0 {
        let _ = write!(text, "; {skipped} modules skipped");
    }
    let _ = write!(text, "\n{differing} modules differ");
    say(&text);
    if differing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
