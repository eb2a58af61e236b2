//! Scenarios: several commands in one directory, whose results are compared with Terraform's.
//!
//! A scenario is a file `data/GROUP/NAME.txt` (see [`scenario`] for its format), and its recorded
//! answer is `data/GROUP/NAME.answer` (see [`answer`]). Scenarios that do not match yet are listed
//! in `open.txt`, each with the reason; a listed scenario that matches also fails the test, which
//! keeps the list correct.
//!
//! `WARDIAN_RECORD=1 cargo test --test scenarios` runs the `terraform` on PATH again and rewrites
//! the answers, except for handwritten answers, which Terraform cannot produce.
//! `WARDIAN_SCENARIOS=moved/` selects the scenarios whose names contain `moved/`, and also shows
//! known differences.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod answer;
mod diagnostics;
mod differences;
mod events;
mod folder;
mod layout;
mod names;
mod run;
mod scenario;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use scenario::Scenario;
use wardian_end_to_end::{Program, each, terraform};

const MIN_SCENARIOS: usize = 120;

#[test]
fn scenarios_match_terraform() {
    let asked_for = std::env::var("WARDIAN_SCENARIOS").ok();
    let pattern = asked_for.as_deref().unwrap_or_default();
    let all = every_scenario();
    assert!(all.len() >= MIN_SCENARIOS, "there are only {} scenarios", all.len());
    let chosen: Vec<&Scenario> = all.iter().filter(|scenario| scenario.name.contains(pattern)).collect();
    if std::env::var_os("WARDIAN_RECORD").is_some()
        && let Some(terraform) = terraform()
    {
        let program = Program::Terraform(terraform);
        each(&chosen, |scenario| {
            if scenario.by_hand.is_none() {
                scenario.write_answer(&run::all_steps(&program, scenario));
            }
        });
    }
    let open = open();
    for name in open.keys() {
        assert!(all.iter().any(|scenario| scenario.name == *name), "open.txt: there is no {name}");
    }
    let problems = each(&chosen, |scenario| {
        let differing = check(scenario);
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
    let text = fs::read_to_string(here().join("open.txt")).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (name, reason) = line.split_once(" # ").unwrap_or((line, ""));
            assert!(!reason.is_empty(), "open.txt: a reason is needed: {line}");
            (name.to_owned(), reason.to_owned())
        })
        .collect()
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Returns all scenarios, sorted by name.
fn every_scenario() -> Vec<Scenario> {
    let mut paths = Vec::new();
    for group in fs::read_dir(here().join("data")).unwrap() {
        for entry in fs::read_dir(group.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| Scenario::read(path)).collect()
}

/// Returns the difference from the recorded answer.
fn check(scenario: &Scenario) -> Option<String> {
    let seen = run::all_steps(&Program::Wardian, scenario);
    differences::between(scenario, &scenario.answer(), &seen)
        .map(|difference| format!("==== {}\n{difference}", scenario.name))
}
