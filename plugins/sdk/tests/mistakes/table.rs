//! Checks that each row of `table.md` refers to tests that exist, and that the table contains each case.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The tests of a row are its last column: `PATH::NAME` from the root of the repository, or `cases/NAME.rs`.
fn references(table: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in table.lines().enumerate().filter(|(_, line)| line.starts_with("| ")) {
        let last = line.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap_or_default();
        found.extend(last.split('`').skip(1).step_by(2).map(|reference| (index + 1, reference.to_owned())));
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn each_mistake_has_a_test() {
    let here = crate::here();
    let table = fs::read_to_string(here.join("table.md")).unwrap();
    let mut problems = Vec::new();
    let mut cases = BTreeSet::new();
    let mut rows = BTreeSet::new();
    for (line, reference) in references(&table) {
        rows.insert(line);
        if let Some(case) = reference.strip_prefix("cases/") {
            cases.insert(case.to_owned());
            if !here.join("cases").join(case).is_file() {
                problems.push(format!("table.md:{line}: there is no case {case}"));
            }
            continue;
        }
        let Some((path, name)) = reference.split_once("::") else {
            problems.push(format!("table.md:{line}: `{reference}` is neither PATH::TEST nor cases/NAME.rs"));
            continue;
        };
        let source = fs::read_to_string(root().join(path)).unwrap_or_default();
        if !source.contains(&format!("fn {name}(")) {
            problems.push(format!("table.md:{line}: {path} has no test {name}"));
        }
    }
    for entry in fs::read_dir(here.join("cases")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !cases.contains(&name) {
            problems.push(format!("table.md does not contain cases/{name}"));
        }
    }
    let is_row = |line: &&str| line.starts_with("| ") && !line.ends_with("| test |");
    let expected = table.lines().filter(is_row).count();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(rows.len(), expected, "each row needs a test");
    assert!(rows.len() >= 60, "there are only {} rows", rows.len());
}
