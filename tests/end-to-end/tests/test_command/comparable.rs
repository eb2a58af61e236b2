//! Converts the results of commands to text for comparison.
//!
//! ```text
//! $ test
//! exit 1
//! says   run "a"... fail
//! error main.tftest.hcl:3 Test assertion failed
//! left terraform_data.main
//! junit testsuite name="main.tftest.hcl" tests="1" skipped="0" failures="1" errors="0"
//! $ test, as JSON
//! exit 1
//! test_run main.tftest.hcl a:   "a"... fail {"progress":"complete","run":"a","status":"fail"}
//! error main.tftest.hcl:3 Test assertion failed, in main.tftest.hcl a
//! ```
//!
//! The details of diagnostics are Wardian's own and not compared. Neither is the output of commands
//! other than `test` if it is written for people.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use wardian_end_to_end::diagnostics;

use crate::answer::{Answer, Format};
use crate::{events, junit};

/// The lines about the progress and the result of a suite.
static PROGRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^(  run "|\S+\.tftest\.\w+\.\.\. |Success!|Failure!)"#).unwrap());
/// The lines about objects that remain.
static LEFT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^  - (\S.*)$").unwrap());

/// Commands whose output is read by other programs.
const READ_BY_MACHINES: [&str; 3] = ["state list", "console", "fmt"];

/// Returns the results of all commands.
pub fn text(answers: &[Answer]) -> String {
    let mut text = String::new();
    for answer in answers {
        let _ = writeln!(text, "$ {}", answer.line);
        if let Some(code) = answer.init {
            let _ = writeln!(text, "init exit {code}");
        }
        text.push_str(&format(&answer.line, &answer.human));
        text.push_str(&junit::lines(&answer.junit));
        if let Some(json) = &answer.json {
            let _ = writeln!(text, "$ {}, as JSON", answer.line);
            text.push_str(&format(&answer.line, json));
        }
    }
    text.replace("Terraform", "Wardian")
}

fn format(line: &str, format: &Format) -> String {
    let mut text = format!("exit {}\n", format.code.map_or("none".to_owned(), |code| code.to_string()));
    if let Some(events) = events::lines(&format.out) {
        text.push_str(&events);
        text.extend(diagnostics::lines(&format.errors).into_iter().map(|line| line + "\n"));
        return text;
    }
    if let Ok(validated) = serde_json::from_str::<Value>(&format.out)
        && line.starts_with("validate")
    {
        for name in ["valid", "error_count", "warning_count"] {
            let _ = writeln!(text, "{name} {}", validated[name]);
        }
        let diagnostics = validated["diagnostics"].as_array().into_iter().flatten();
        text.extend(diagnostics.map(|diagnostic| events::diagnostic(diagnostic) + "\n"));
        return text;
    }
    let plain = diagnostics::plain(&format.out);
    let is_for_machines = READ_BY_MACHINES.iter().any(|known| line.starts_with(known));
    for line in plain.lines() {
        if is_for_machines {
            let _ = writeln!(text, "out {line}");
        } else if PROGRESS.is_match(line) {
            // A sentence about warnings may follow.
            let line = if line.starts_with("Success! The configuration") { "Success!" } else { line };
            let _ = writeln!(text, "says {line}");
        }
    }
    for line in diagnostics::lines(&format!("{plain}\n{}", format.errors)) {
        let _ = writeln!(text, "{line}");
    }
    for line in format.errors.lines().filter(|_| line.starts_with("test")) {
        if let Some(left) = LEFT.captures(line) {
            let _ = writeln!(text, "left {}", &left[1]);
        }
    }
    text
}
