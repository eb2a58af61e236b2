//! Multi-line expressions of all forms, compared with Terraform's results.
//!
//! `tests/data/syntax/valid.tsv` contains an expression as a JSON string, and its value as
//! `jsonencode` returns it. To record again with the `terraform` on PATH:
//!
//! ```text
//! WARDIAN_RECORD=1 cargo test -p wardian-lang --test valid
//! ```

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wardian_diagnostic::SourceFile;
use wardian_lang::{EmptyScope, parse_body, parse_expression};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/syntax/valid.tsv")
}

fn rows() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(data()).unwrap();
    let row = |row: &str| {
        let (text, value) = row.split_once('\t').unwrap_or((row, ""));
        (serde_json::from_str(text).unwrap(), value.to_owned())
    };
    text.lines().filter(|line| !line.starts_with("# ")).map(row).collect()
}

/// Returns a file in which every expression is an argument of `jsonencode`.
fn file(expressions: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for (index, expression) in expressions.enumerate() {
        writeln!(text, "v{index} = {expression}").unwrap();
        writeln!(text, "j{index} = jsonencode(\n{expression}\n)").unwrap();
    }
    text
}

#[test]
fn values_match_terraform() {
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        record();
    }
    let rows = rows();
    assert!(rows.len() >= 60);
    let mut wrong = Vec::new();
    for (text, expected) in &rows {
        let (body, problems) = parse_body(&SourceFile::new("main.tf", file(std::iter::once(text.clone()))));
        assert!(problems.is_empty(), "{text}: {problems}");
        let encoded = body.attribute("j0").unwrap().expression.evaluate(&EmptyScope);
        let found =
            encoded.map(|value| value.as_str().unwrap().to_owned()).map_err(|found| found.to_string());
        if found.as_ref() != Ok(expected) {
            wrong.push(format!("{text:?}\n  expected {expected}\n  found    {found:?}"));
        }
        // Parsed as a separate expression, the text does not end at the end of a line.
        let alone = parse_expression(&SourceFile::new("x", format!("{text}\n"))).unwrap();
        let in_body = &body.attribute("v0").unwrap().expression;
        assert_eq!(alone.evaluate(&EmptyScope), in_body.evaluate(&EmptyScope), "{text}");
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn record() {
    let directory = std::env::temp_dir().join("wardian-valid");
    std::fs::create_dir_all(&directory).unwrap();
    let rows = rows();
    let text = file(rows.iter().map(|(text, _)| text.clone()));
    std::fs::write(directory.join("main.tf"), format!("locals {{\n{text}}}\n")).unwrap();
    let mut child = Command::new("terraform")
        .arg("console")
        .current_dir(&directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let all: Vec<String> = (0..rows.len()).map(|index| format!("local.j{index}")).collect();
    let question = format!("jsonencode([{}])", all.join(", "));
    child.stdin.take().unwrap().write_all(question.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    // The output is a JSON string, which contains JSON.
    let answer: String = serde_json::from_slice(&output.stdout).unwrap();
    let values: Vec<String> = serde_json::from_str(&answer).unwrap();
    let mut recorded = "# An expression, and its value as jsonencode gives it.\n".to_owned();
    for ((text, _), value) in rows.iter().zip(values) {
        writeln!(recorded, "{}\t{value}", serde_json::to_string(text).unwrap()).unwrap();
    }
    std::fs::write(data(), recorded).unwrap();
}
