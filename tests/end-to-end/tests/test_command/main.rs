//! Cases of `wardian test`, whose results are compared with those of `terraform test`.
//!
//! A case is a file `data/GROUP/NAME.txt`, and Terraform's recorded answer is
//! `data/GROUP/NAME.answer`. `record.py` records the answers, and its documentation describes both
//! formats. Cases that differ from the answer are listed in `open.txt`, each with the reason; a
//! listed case that does not differ also fails the test, which keeps the list correct.
//!
//! `WARDIAN_TEST_CASES=mocks/` selects the cases whose names contain `mocks/`, and also shows known
//! differences. The group `aws` requires `WARDIAN_TEST_MIRROR`, a mirror with the AWS provider.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod answer;
mod case;
mod comparable;
mod events;
mod junit;
mod run;

use std::path::{Path, PathBuf};

use case::Case;
use wardian_end_to_end::{OpenCases, case_files, differences};

const MIN_CASES: usize = 350;

#[test]
fn tests_have_the_results_of_terraform() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/test_command");
    let all: Vec<Case> =
        case_files(&directory.join("data")).into_iter().map(|(name, path)| Case::read(name, &path)).collect();
    assert!(all.len() >= MIN_CASES, "there are only {} cases", all.len());
    let open = OpenCases::read(&directory.join("open.txt"));
    open.assert_exist(all.iter().map(|case| &*case.name));
    let mirror = aws_mirror();
    let asked_for = std::env::var("WARDIAN_TEST_CASES").ok();
    let pattern = asked_for.as_deref().unwrap_or_default();
    let chosen: Vec<&Case> = all
        .iter()
        .filter(|case| case.name.contains(pattern) && (mirror.is_some() || !case.needs_aws()))
        .collect();
    open.assert_differences(
        &chosen,
        asked_for.is_some(),
        |case| &case.name,
        |case| {
            let seen = run::all_steps(case, mirror.as_deref());
            differences(&case.expected(), &comparable::text(&seen))
        },
    );
}

/// Returns the mirror with the AWS provider, or prints the reason why its cases are skipped.
fn aws_mirror() -> Option<PathBuf> {
    let mirror = std::env::var_os("WARDIAN_TEST_MIRROR").map(PathBuf::from);
    if mirror.is_none() {
        println!("the group aws is skipped: WARDIAN_TEST_MIRROR does not name a mirror");
    }
    mirror
}
