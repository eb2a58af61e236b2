//! Converts the result of a command to text for comparison.
//!
//! ```text
//! $ apply -auto-approve
//! exit 0
//! warning main.tf:3 Check block assertion failed
//! says Apply complete! Resources: 1 added, 0 changed, 0 destroyed.
//! made terraform.tfstate
//!   {"lineage":"id-1","outputs":{},"resources":[...],"version":4}
//! plan p
//!   {"applyable":true,...}
//! ```
//!
//! Human-readable text is reduced to the summaries of diagnostics and the lines that other programs
//! search for. JSON is included completely, except for values that differ in every run.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::events;
use crate::folder::{Fate, Folder};
use crate::names::Names;

use wardian_end_to_end::{CommandLine, Output, diagnostics, lay_out};

/// Backups that the `state` commands create. The name contains the time in seconds.
static TIMED_BACKUP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\.\d{10}\.backup$").unwrap());

/// The line at the start of a provisioner, and the lines of its output.
static PROVISIONED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\S+( \((?:local-exec|fake)\): |: Provisioning with ')").unwrap());

/// The prefixes of lines that other programs search for, and whether the rest of the line may
/// differ between Terraform and Wardian.
const SUMMARIES: [(&str, Rest); 5] = [
    ("Plan: ", Rest::Same),
    ("Apply complete! ", Rest::Same),
    ("Destroy complete! ", Rest::Same),
    ("No changes.", Rest::Own),
    ("Import successful!", Rest::Own),
];

/// Commands whose output is read by other programs.
const READ_BY_MACHINES: [&str; 5] =
    ["state list", "workspace list", "workspace show", "output -raw", "console"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Same,
    Own,
}

/// Returns the result of one command.
pub fn of_command(
    command: &CommandLine,
    output: &Output,
    plan: Option<(String, Output)>,
    before: &Folder,
    after: &Folder,
    names: &mut Names,
) -> String {
    let mut text = format!("$ {}\n", command.line);
    let code = output.code.map_or("none".to_owned(), |code| code.to_string());
    let _ = writeln!(text, "exit {code}");
    // Names are assigned in the order of states, plans, events, because states and plans have a
    // fixed order.
    let files = files(before, after, names);
    let plan = plan.map(|(path, shown)| plan_text(&path, &shown, names)).unwrap_or_default();
    text.push_str(&diagnostics_and_summaries(command, output, names));
    text.push_str(&files);
    text.push_str(&plan);
    text
}

fn diagnostics_and_summaries(command: &CommandLine, output: &Output, names: &mut Names) -> String {
    let mut text = String::new();
    if let Some(events) = events::parse(&output.out, command) {
        for event in events {
            let _ = writeln!(text, "event {}", names.value(event));
        }
        for line in diagnostics::lines(&output.errors) {
            let _ = writeln!(text, "{line}");
        }
        return text;
    }
    if let Ok(value) = serde_json::from_str::<Value>(&output.out) {
        text.push_str("json\n");
        text.push_str(&lay_out(&names.value(value), 2));
        for line in diagnostics::lines(&output.errors) {
            let _ = writeln!(text, "{line}");
        }
        return text;
    }
    for line in diagnostics::lines(&format!("{}\n{}", output.out, output.errors)) {
        let _ = writeln!(text, "{}", names.text(&line));
    }
    let plain = diagnostics::plain(&output.out);
    if READ_BY_MACHINES.iter().any(|known| command.line.starts_with(known)) {
        // Lines in a frame are human-readable text.
        for line in plain.lines().filter(|line| !line.starts_with(['╷', '│', '╵'])) {
            let _ = writeln!(text, "out {}", names.text(line).trim_end());
        }
        return text;
    }
    for line in plain.lines() {
        if PROVISIONED.is_match(line) {
            let _ = writeln!(text, "says {}", names.text(line).trim_end());
        }
        for (start, rest) in SUMMARIES {
            if line.starts_with(start) {
                let _ = writeln!(text, "says {}", if rest == Rest::Same { line } else { start });
            }
        }
    }
    text
}

fn files(before: &Folder, after: &Folder, names: &mut Names) -> String {
    let mut text = String::new();
    for (path, fate) in before.changes(after) {
        if TIMED_BACKUP.is_match(path) {
            let _ = writeln!(text, "backup {}", TIMED_BACKUP.replace(path, ".[TIME].backup"));
            continue;
        }
        let word = match fate {
            Fate::Made => "made",
            Fate::Changed => "changed",
            Fate::Removed => "removed",
        };
        let content = after.get(path).unwrap_or_default();
        let origin = path.strip_suffix(".backup").and_then(|path| before.get(path));
        let is_backup = origin.is_some_and(|origin| is_same_snapshot(origin, content));
        let _ = writeln!(text, "{word} {path}{}", if is_backup { " (the state before)" } else { "" });
        if is_backup || fate == Fate::Removed {
            continue;
        }
        if let Some(state) = path.contains("tfstate").then(|| state(content, names)).flatten() {
            text.push_str(&lay_out(&state, 2));
        } else if Path::new(path).extension().is_some_and(|extension| extension == "tf") {
            for line in content.lines().filter(|line| !line.starts_with('#')) {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}

/// Returns whether two texts represent the same state, ignoring differences that occur when a state
/// is written again.
fn is_same_snapshot(earlier: &str, later: &str) -> bool {
    let snapshot = |text: &str| {
        let state: Value = serde_json::from_str(text).ok()?;
        Some((state["lineage"].clone(), state["serial"].clone()))
    };
    snapshot(earlier).is_some_and(|earlier| snapshot(later) == Some(earlier))
}

fn state(text: &str, names: &mut Names) -> Option<Value> {
    serde_json::from_str(text).ok().map(|state| names.value(state))
}

fn plan_text(path: &str, shown: &Output, names: &mut Names) -> String {
    match serde_json::from_str::<Value>(&shown.out) {
        Ok(plan) => format!("plan {path}\n{}", lay_out(&names.value(plan), 2)),
        Err(_) => format!("plan {path} cannot be shown\n"),
    }
}
