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
mod differences;
mod events;
mod folder;
mod names;
mod run;
mod scenario;

use std::path::{Path, PathBuf};

use scenario::Scenario;
use wardian_end_to_end::{OpenCases, Program, case_files, each, terraform};

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
    let open = OpenCases::read(&here().join("open.txt"));
    open.assert_exist(all.iter().map(|scenario| &*scenario.name));
    open.assert_differences(
        &chosen,
        asked_for.is_some(),
        |scenario| &scenario.name,
        |scenario| {
            let seen = run::all_steps(&Program::Wardian, scenario);
            differences::between(scenario, &scenario.answer(), &seen)
        },
    );
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Returns all scenarios, sorted by name.
fn every_scenario() -> Vec<Scenario> {
    case_files(&here().join("data")).into_iter().map(|(name, path)| Scenario::read(name, path)).collect()
}
