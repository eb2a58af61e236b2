//! Installation scenarios: commands in one directory with servers on loopback addresses, whose
//! results are compared with Terraform's.
//!
//! A scenario is a file `tests/installations/GROUP/NAME.txt` (see [`scenario`] for its format), and
//! its recorded answer is `NAME.answer` (see [`answer`]). Scenarios that do not match yet are listed
//! in `open.txt`, each with the reason; a listed scenario that matches also fails the test.
//!
//! With `WARDIAN_RECORD=1`, and `terraform` on PATH, the answers are recorded again.
//! `WARDIAN_INSTALLATIONS=git/` selects the scenarios whose names contain `git/`, and also shows
//! known differences.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

#[path = "install_scenarios/answer.rs"]
mod answer;
#[path = "install_scenarios/differences.rs"]
mod differences;
#[path = "install_scenarios/programs.rs"]
mod programs;
#[path = "install_scenarios/run.rs"]
mod run;
#[path = "install_scenarios/scenario.rs"]
mod scenario;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use scenario::InstallScenario;
use wardian_end_to_end::{Program, each, terraform};

const MIN_SCENARIOS: usize = 60;

#[test]
fn installations_match_terraform() {
    let asked_for = std::env::var("WARDIAN_INSTALLATIONS").ok();
    let pattern = asked_for.as_deref().unwrap_or_default();
    let all = every_scenario();
    assert!(all.len() >= MIN_SCENARIOS, "there are only {} scenarios", all.len());
    let chosen: Vec<&InstallScenario> = all.iter().filter(|one| one.name.contains(pattern)).collect();
    if std::env::var_os("WARDIAN_RECORD").is_some()
        && let Some(terraform) = terraform()
    {
        let program = Program::Terraform(terraform);
        each(&chosen, |scenario| {
            if let Some(answer) = run::all_steps(&program, scenario) {
                scenario.write_answer(&answer);
            }
        });
    }
    let open = open();
    for name in open.keys() {
        assert!(all.iter().any(|scenario| scenario.name == *name), "open.txt: there is no {name}");
    }
    let problems = each(&chosen, |scenario| {
        let seen = run::all_steps(&Program::Wardian, scenario)?;
        let differing = differences::between(scenario, &scenario.answer(), &seen)
            .map(|difference| format!("==== {}\n{difference}", scenario.name));
        match (differing, open.contains_key(&scenario.name)) {
            (Some(difference), false) => Some(difference),
            (Some(difference), true) if asked_for.is_some() => Some(difference),
            (None, true) => Some(format!("{} is the same now: strike it out of open.txt", scenario.name)),
            (Some(_), true) | (None, false) => None,
        }
    });
    let failures: Vec<String> = problems.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), chosen.len(), failures.join("\n"));
}

/// Returns the scenarios that do not match yet, with the reasons.
fn open() -> BTreeMap<String, String> {
    let text = fs::read_to_string(directory().join("open.txt")).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (name, reason) = line.split_once(" # ").unwrap_or((line, ""));
            assert!(!reason.is_empty(), "open.txt: a reason is needed: {line}");
            (name.to_owned(), reason.to_owned())
        })
        .collect()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/installations")
}

/// Returns all scenarios, sorted by name.
fn every_scenario() -> Vec<InstallScenario> {
    let mut paths = Vec::new();
    for group in fs::read_dir(directory()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for entry in fs::read_dir(group.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| InstallScenario::read(path)).collect()
}
