//! Files with syntax errors, and the errors of `terraform validate` for each.
//!
//! `tests/data/syntax/broken.tsv` contains a file's text as a JSON string, and all errors as `line
//! summary`, in order. Errors that are not syntax errors are omitted. To record again with the
//! `terraform` on PATH:
//!
//! ```text
//! WARDIAN_RECORD=1 cargo test -p wardian-lang --test broken
//! ```

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wardian_diagnostic::SourceFile;
use wardian_lang::parse_body;

/// Terraform's errors in the readable part of a broken file that are not syntax errors.
const NOT_OF_THE_SYNTAX: &[&str] = &[
    "Invalid reference",
    "Invalid resource name",
    "Missing name for resource",
    "Unexpected \"a\" block",
    "Unexpected \"b\" block",
    "Unsupported argument",
    "Unsupported block type",
];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/syntax/broken.tsv")
}

fn ours(text: &str) -> Vec<String> {
    let (_, found) = parse_body(&SourceFile::new("main.tf", text));
    found
        .iter()
        .map(|problem| {
            let line = problem.subject.as_ref().unwrap().start_position().line;
            format!("{line} {}", problem.summary)
        })
        .collect()
}

#[test]
fn syntax_errors_match_terraform() {
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        record();
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in std::fs::read_to_string(data()).unwrap().lines().filter(|row| !row.starts_with('#')) {
        let mut columns = row.split('\t');
        let text: String = serde_json::from_str(columns.next().unwrap()).unwrap();
        let is_syntax = |answer: &&str| {
            let (_, summary) = answer.split_once(' ').unwrap();
            !NOT_OF_THE_SYNTAX.contains(&summary)
        };
        let expected: Vec<&str> = columns.filter(is_syntax).collect();
        count += 1;
        let found = ours(&text);
        if found != expected {
            wrong.push(format!("{text:?}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(count >= 120, "only {count} rows");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn record() {
    let directory = std::env::temp_dir().join("wardian-broken");
    std::fs::create_dir_all(&directory).unwrap();
    let mut recorded = String::new();
    for row in std::fs::read_to_string(data()).unwrap().lines() {
        let text = row.split('\t').next().unwrap();
        recorded.push_str(text);
        if !row.starts_with('#') {
            let text: String = serde_json::from_str(text).unwrap();
            std::fs::write(directory.join("main.tf"), text).unwrap();
            for answer in validate(&directory) {
                recorded.push('\t');
                recorded.push_str(&answer);
            }
        }
        recorded.push('\n');
    }
    std::fs::write(data(), recorded).unwrap();
}

fn validate(directory: &Path) -> Vec<String> {
    let output = Command::new("terraform")
        .args(["validate", "-json"])
        .current_dir(directory)
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|diagnostic| diagnostic["severity"] == "error")
        .map(|diagnostic| {
            let line = diagnostic["range"]["start"]["line"].as_u64().unwrap_or(0);
            format!("{line} {}", diagnostic["summary"].as_str().unwrap())
        })
        .collect()
}
