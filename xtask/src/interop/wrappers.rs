//! Runs tools that wrap `terraform`, with Wardian in place of Terraform: each tool is installed from
//! its registry, and a driver in `tests/interop/wrappers` uses it and checks the results.
//!
//! If Terraform is on PATH, the driver runs a second time with Terraform, and the values that the
//! driver recorded must be the same.

mod install;
mod tools;
mod trial;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use self::install::{Installed, Interpreters};
use self::tools::{NOT_RUN, TOOLS, Tool};
use self::trial::{Outcome, Peer, Temporary};
use super::selection::Selection;
use crate::oracle::{self, first_difference};
use crate::progress::{elapsed, say};
use crate::workspace::Workspace;

/// The state that the runs of all tools share.
struct Trials {
    wardian: Peer,
    /// Terraform, or the reason why it is missing.
    terraform: Result<Peer>,
    sources: PathBuf,
    place: PathBuf,
}

/// The result of a tool that works.
struct Success {
    outcome: Outcome,
    /// The comparison of the result with Terraform's result.
    comparison: String,
}

/// Runs the selected tools.
pub(crate) fn run(workspace: &Workspace, Selection { binary, only }: &Selection) -> Result<ExitCode> {
    let target = workspace.own_target().join("interop/wrappers");
    let binary = binary.clone().unwrap_or_else(|| workspace.host_program("wardian"));
    let binary = binary.canonicalize().with_context(|| format!("there is no {}", binary.display()))?;
    let temporary = Temporary::new()?;
    let place = temporary.0.clone();
    let trials = Trials {
        wardian: Peer::wardian(&binary, &place, &target)?,
        terraform: oracle::terraform().and_then(|terraform| Peer::terraform(&terraform, &binary, &place)),
        sources: workspace.root.join("tests/interop/wrappers"),
        place,
    };
    let interpreters = Interpreters::find();
    let started = Instant::now();
    let [mut working, mut failing, mut skipped] = [0; 3];
    for tool in TOOLS.iter().filter(|tool| tool.name.contains(only.as_str())) {
        let title = format!("{} {}", tool.name, tool.version);
        if let Some(reason) = interpreters.missing(tool) {
            say(&format!("{title:38} skipped: {reason}"));
            skipped += 1;
            continue;
        }
        let installed = interpreters.install(tool, &target.join("tools"));
        match installed.and_then(|installed| trials.run(tool, &installed)) {
            Ok(Success { outcome, comparison }) => {
                working += 1;
                say(&format!(
                    "{title:38} works: {} checks, {} commands, {comparison}, {}: {}",
                    outcome.checks,
                    outcome.commands,
                    elapsed(outcome.time),
                    outcome.steps.join(", "),
                ));
            }
            Err(error) => {
                failing += 1;
                say(&format!("{title:38} FAILS: {error:#}"));
            }
        }
    }
    if working + failing + skipped == 0 {
        bail!("no tool has `{only}` in its name");
    }
    for (name, reason) in NOT_RUN.iter().filter(|(name, _)| name.contains(only.as_str())) {
        say(&format!("{name:38} not run: {reason}"));
    }
    if let Err(reason) = &trials.terraform {
        say(&format!("not compared with Terraform: {reason}"));
    }
    let time = elapsed(started.elapsed());
    say(&format!("{working} tools work, {failing} fail, {skipped} skipped, {time}"));
    Ok(if failing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Trials {
    /// Runs the driver with Wardian, then with Terraform, and compares the values.
    fn run(&self, tool: &Tool, installed: &Installed) -> Result<Success> {
        let run = |peer: &Peer| peer.run(tool, installed, &self.sources, &self.place.join("trial"));
        let outcome = match (run(&self.wardian), &self.terraform) {
            (Ok(outcome), _) => outcome,
            (Err(error), Ok(terraform)) if tool.not_compared.is_none() => {
                return Err(match run(terraform) {
                    Ok(_) => error.context("works with Terraform"),
                    Err(theirs) => error.context(format!("fails with Terraform, too: {theirs:#}\nWardian")),
                });
            }
            (Err(error), _) => return Err(error),
        };
        let comparison = match (&self.terraform, tool.not_compared) {
            (Err(_), _) => "not compared".to_owned(),
            (Ok(_), Some(reason)) => format!("not compared ({reason})"),
            (Ok(terraform), None) => {
                let theirs = run(terraform).context("with Terraform")?;
                if let Some(difference) = first_difference("", &theirs.values, &outcome.values) {
                    bail!("Wardian's values differ from Terraform's {difference}");
                }
                format!("same as Terraform ({})", elapsed(theirs.time))
            }
        };
        Ok(Success { outcome, comparison })
    }
}
