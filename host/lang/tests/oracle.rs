//! Expressions whose answers were recorded from `terraform console`.
//!
//! `tests/data/expressions.tsv` holds one expression a line with its answer: the
//! value as `jsonencode` gives it, and its type; or `!` where Terraform refuses.
//! To record again with the `terraform` on PATH:
//!
//! ```text
//! WARDIAN_RECORD=1 cargo test -p wardian-lang --test oracle
//! ```

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wardian_lang::{EmptyScope, SourceFile, parse_expression};

struct Row {
    expression: String,
    json: String,
    ty: String,
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/expressions.tsv")
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(data()).unwrap();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
        .map(|line| {
            let mut columns = line.split('\t').map(str::to_owned);
            let mut next = || columns.next().unwrap_or_default();
            Row { expression: next(), json: next(), ty: next() }
        })
        .collect()
}

fn ours(expression: &str) -> Result<String, String> {
    let file = SourceFile::new("<test>", expression);
    let value = parse_expression(&file)
        .and_then(|expression| expression.evaluate(&EmptyScope))
        .map_err(|problems| problems.to_string())?;
    value.as_str().map(str::to_owned).ok_or_else(|| format!("not a string: {value:?}"))
}

fn our_type(expression: &str) -> Result<String, String> {
    let file = SourceFile::new("<test>", expression);
    let value = parse_expression(&file)
        .and_then(|expression| expression.evaluate(&EmptyScope))
        .map_err(|problems| problems.to_string())?;
    Ok(value.ty().to_string())
}

#[test]
fn answers_are_those_of_terraform() {
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        record();
    }
    let mut wrong = Vec::new();
    for Row { expression, json, ty } in rows() {
        let answer = ours(&format!("jsonencode({expression})"));
        match (&answer, json.as_str()) {
            (_, "?") | (Err(_), "!") => continue,
            (Ok(found), expected) if found == expected => {}
            (found, expected) => {
                wrong.push(format!("{expression}\n  expected {expected}\n  found    {found:?}"));
                continue;
            }
        }
        let found = our_type(&expression);
        let found = found.map(|found| found.split_whitespace().collect::<String>());
        if found.as_deref() != Ok(&ty) {
            wrong.push(format!("{expression}\n  expected type {ty}\n  found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn record() {
    let directory = std::env::temp_dir().join("wardian-oracle");
    std::fs::create_dir_all(&directory).unwrap();
    let text = std::fs::read_to_string(data()).unwrap();
    let mut recorded = String::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with("# ") {
            recorded.push_str(line);
        } else {
            let expression = line.split('\t').next().unwrap();
            recorded.push_str(expression);
            match console(&directory, &format!("jsonencode({expression})")) {
                Some(answer) => {
                    // What is not known has no JSON: such a row answers `?`.
                    let json: String = serde_json::from_str(&answer).unwrap_or_else(|_| "?".to_owned());
                    let ty = console(&directory, &format!("type({expression})")).unwrap();
                    write!(recorded, "\t{json}\t{}", one_line(&ty)).unwrap();
                }
                None => recorded.push_str("\t!"),
            }
        }
        recorded.push('\n');
    }
    std::fs::write(data(), recorded).unwrap();
}

fn console(directory: &Path, expression: &str) -> Option<String> {
    let mut child = Command::new("terraform")
        .arg("console")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(expression.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| text.trim().to_owned())
}

/// `type(...)` over several lines, as `Type` shows itself in one.
fn one_line(ty: &str) -> String {
    let joined: String = ty.split_whitespace().collect();
    joined
        .replace(",])", "])")
        .replace(",})", "})")
        .replace(",)", ")")
        .replace(':', "=")
        .replace("dynamic", "any")
}
