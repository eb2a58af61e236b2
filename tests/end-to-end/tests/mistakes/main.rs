//! Scores the error messages for mistakes that users make.
//!
//! A mistake is a file `data/GROUP/NAME.txt` (see [`case`] for its format): the files, the
//! commands, and the expected content of the last command's output. Every mistake scores at most
//! three points:
//!
//! - position: the message points at the file and line and marks the incorrect text, or contains
//!   the name of the incorrect argument, variable or file;
//! - reason: the message gives the cause;
//! - remedy: the message explains what to do.
//!
//! Terraform's output is scored by the same rules, with separate phrases if its wording differs.
//! Only its positions, the summaries of its diagnostics and the phrases that match are recorded.
//! `table.md` contains the scores. The test fails if Wardian misses a point that the case does not
//! list as open, if an open point is met, or if Terraform scores more and no point is open.
//!
//! `WARDIAN_RECORD=1 cargo test --test mistakes` runs the `terraform` on PATH again, and rewrites
//! the recorded facts and the table. `WARDIAN_MISTAKES=state/` selects the mistakes whose names
//! contain `state/`, and prints their output.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod case;
mod facts;
mod run;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use case::{Case, POINTS};
use facts::Facts;
use wardian_end_to_end::{Program, each, terraform};

const MIN_MISTAKES: usize = 110;

#[test]
fn messages_explain_mistakes() {
    let asked_for = std::env::var("WARDIAN_MISTAKES").ok();
    let is_recording = std::env::var_os("WARDIAN_RECORD").is_some();
    let mut cases = every_case();
    assert!(cases.len() >= MIN_MISTAKES, "there are only {} mistakes", cases.len());
    if let Some(pattern) = &asked_for {
        cases.retain(|case| case.name.contains(pattern));
    }
    if is_recording && let Some(terraform) = terraform() {
        let program = Program::Terraform(terraform);
        let outputs = each(&cases, |case| run::last_output(&program, case));
        for (case, output) in cases.iter_mut().zip(outputs) {
            if asked_for.is_some() {
                println!("==== {} (Terraform)\n{output}", case.name);
            }
            case.record(Facts::from_output(&output));
        }
    }
    let outputs = each(&cases, |case| run::last_output(&Program::Wardian, case));
    let mut failures = Vec::new();
    let mut rows = Vec::new();
    for (case, output) in cases.iter().zip(&outputs) {
        if asked_for.is_some() {
            println!("==== {}\n{output}", case.name);
        }
        let row = table::Row::new(case, &Facts::from_output(output));
        failures.extend(
            problems(case, &row)
                .into_iter()
                .map(|problem| format!("==== {}: {problem}\n{output}", case.name)),
        );
        rows.push(row);
    }
    assert!(failures.is_empty(), "{} problems:\n{}", failures.len(), failures.join("\n"));
    if asked_for.is_none() {
        let path = here().join("table.md");
        let text = table::text(&rows);
        if is_recording {
            fs::write(&path, text).unwrap();
        } else {
            let recorded = fs::read_to_string(&path).unwrap();
            assert!(recorded == text, "table.md is outdated; record it again. It should be:\n{text}");
        }
    }
}

fn problems(case: &Case, row: &table::Row) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, point) in POINTS.iter().enumerate() {
        match (row.ours[index], case.open.contains_key(*point)) {
            (Some(false), false) => problems.push(format!("no {point}: {}", case.points[index].shown())),
            (Some(true) | None, true) => {
                problems.push(format!("the point {point} is not open any more: remove it from the case"));
            }
            (Some(false), true) | (Some(true) | None, false) => {}
        }
    }
    if row.our_sum() < row.their_sum() && case.open.is_empty() {
        problems.push(format!("Terraform scores {}, and Wardian {}", row.their_sum(), row.our_sum()));
    }
    problems
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

/// Returns all mistakes, sorted by name.
fn every_case() -> Vec<Case> {
    let mut paths = Vec::new();
    for group in fs::read_dir(here().join("data")).unwrap() {
        paths.extend(fs::read_dir(group.unwrap().path()).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    paths.iter().map(|path| Case::read(path)).collect()
}
