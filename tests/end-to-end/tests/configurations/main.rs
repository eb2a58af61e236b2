//! Compares Wardian's results for complete configurations with Terraform's: whether the
//! configuration is valid, and every error and warning with its file, line and summary. `validate`
//! must report the same diagnostics.
//!
//! Each case is a file in `tests/configurations/data/valid` or `invalid`: the files of a
//! configuration in sequence, and then the recorded answer. If Wardian's answer differs
//! deliberately, the case contains the difference and the reason (see [`case::Case`]). The answers
//! in `positions` also contain the columns and the block of each diagnostic.
//!
//! `WARDIAN_RECORD=1 cargo test --test configurations` runs the `terraform` on PATH again and
//! rewrites the recorded answers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod answer;
mod case;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use answer::{Answer, Detail};
use case::Case;
use wardian_end_to_end::{Project, Terraform, each, terraform};

/// The minimum number of cases for each verdict.
const MIN_CASES: usize = 150;
/// The maximum number of cases with deliberate differences.
const MAX_DIFFERENCES: usize = 20;

#[test]
fn valid_configurations_match_terraform() {
    compare("valid", "valid");
}

#[test]
fn invalid_configurations_match_terraform() {
    compare("invalid", "invalid");
}

/// These handwritten cases use features of later language versions, which the recorded version of
/// Terraform does not support.
#[test]
fn configurations_for_later_terraform_versions_have_expected_diagnostics() {
    let failures: Vec<String> = problems(&cases("later"), |case| check(case, Detail::Lines))
        .into_iter()
        .map(|(_, problem)| problem)
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Terraform rejects these handwritten cases in `plan`; Wardian already rejects them in `validate`.
#[test]
fn plan_time_errors_are_reported_by_validate() {
    let failures: Vec<String> = problems(&cases("earlier"), |case| check(case, Detail::Lines))
        .into_iter()
        .map(|(_, problem)| problem)
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// These cases may be valid or invalid.
#[test]
fn positions_and_blocks_match_terraform() {
    let cases = recorded_cases("positions", Detail::Positions);
    let failures: Vec<String> = problems(&cases, |case| check(case, Detail::Positions))
        .into_iter()
        .map(|(_, problem)| problem)
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the cases of a directory, whose answers are recorded again if requested.
fn recorded_cases(folder: &str, detail: Detail) -> Vec<Case> {
    let cases = cases(folder);
    if std::env::var_os("WARDIAN_RECORD").is_some()
        && let Some(terraform) = terraform()
    {
        each(&cases, |case| record(&terraform, case, detail));
        return self::cases(folder);
    }
    cases
}

fn compare(folder: &str, verdict: &str) {
    let cases = recorded_cases(folder, Detail::Lines);
    assert!(cases.len() >= MIN_CASES, "only {} cases are {verdict}", cases.len());
    let differing = cases.iter().filter(|case| !case.differences.is_empty()).count();
    assert!(differing <= MAX_DIFFERENCES, "{differing} of the {folder} cases differ on purpose");
    let open = open();
    let mut failures = Vec::new();
    for (name, problem) in problems(&cases, |case| check(case, Detail::Lines)) {
        if !open.contains(&format!("{folder}/{name}")) {
            failures.push(problem);
        }
    }
    for case in &cases {
        if case.answer.verdict != verdict {
            failures.push(format!("{} is {} and is in {folder}", case.name, case.answer.verdict));
        }
    }
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {} cases differ:\n{}", cases.len(), failures.join("\n"));
}

/// Returns the cases that do not match yet, by directory and name.
fn open() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configurations/open.txt");
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Returns all cases of a directory, sorted by name.
fn cases(folder: &str) -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configurations/data").join(folder);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| Case::read(path)).collect()
}

/// Calls a function for every case, and returns the problems with the names of the cases.
fn problems(cases: &[Case], work: impl Fn(&Case) -> Option<String> + Sync) -> Vec<(String, String)> {
    each(cases, |case| work(case).map(|problem| (case.name.clone(), problem))).into_iter().flatten().collect()
}

/// Returns the difference from the expected answer.
fn check(case: &Case, detail: Detail) -> Option<String> {
    let project = project(case);
    if !case.providers.is_empty() {
        project.run("init -backend=false");
    }
    let seen = project.run("validate -json");
    let Some(answer) = Answer::from_json(&seen.out, detail) else {
        return Some(format!("{}: no answer:\n{}", case.name, seen.text()));
    };
    case.compare(&answer).map(|difference| format!("{}:\n{difference}", case.name))
}

fn project(case: &Case) -> Project {
    let files: Vec<(&str, &str)> = case.files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let project = Project::new(&files);
    case.providers.iter().for_each(|provider| provider.change_files(&project));
    project
}

fn record(terraform: &Terraform, case: &Case, detail: Detail) {
    let project = project(case);
    let ask = |line| {
        let output = terraform.command(&project, line).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // The command fails if the configuration is invalid, but still installs the modules.
    ask("init -backend=false -no-color");
    let said = ask("validate -json");
    let answer = Answer::from_json(&said, detail).unwrap_or_else(|| panic!("{}: {said}", case.name));
    case.rewrite(&answer);
}
