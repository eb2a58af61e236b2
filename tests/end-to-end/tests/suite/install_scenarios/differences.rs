//! A readable diff of two results.

use std::fmt::Write as _;

use similar::TextDiff;

use super::scenario::InstallScenario;

/// Returns the differences, except for lines that differ deliberately.
pub(super) fn between(scenario: &InstallScenario, expected: &str, seen: &str) -> Option<String> {
    let mut report = String::new();
    let expected = without(scenario, false, expected, &mut report);
    let seen = without(scenario, true, seen, &mut report);
    if expected.is_empty() {
        let _ = write!(report, "nothing is recorded; this is Wardian's answer:\n{seen}");
        return Some(report);
    }
    let seen = with_recorded_positions(&expected, &seen);
    if expected != seen {
        report.push_str(&TextDiff::from_lines(&expected, &seen).unified_diff().context_radius(2).to_string());
    }
    (!report.is_empty()).then_some(report)
}

/// Removes positions of diagnostics that Terraform reports without a position, since an additional
/// position is not a difference.
fn with_recorded_positions(expected: &str, seen: &str) -> String {
    let has = |line: &str| expected.lines().any(|known| known == line);
    let mut kept = String::new();
    for line in seen.lines() {
        let mut words = line.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some(severity @ ("error" | "warning")), Some(_), Some(summary))
                if !has(line) && has(&format!("{severity} {summary}")) =>
            {
                let _ = writeln!(kept, "{severity} {summary}");
            }
            _ => {
                let _ = writeln!(kept, "{line}");
            }
        }
    }
    kept
}

/// Removes the lines that are declared to occur only on this side.
fn without(scenario: &InstallScenario, is_ours: bool, answer: &str, report: &mut String) -> String {
    let mut declared: Vec<(usize, &str)> = scenario
        .differences
        .iter()
        .filter(|difference| difference.is_ours == is_ours)
        .map(|difference| (difference.command, difference.line.as_str()))
        .collect();
    let mut kept = String::new();
    let mut command = 0;
    for line in answer.lines() {
        if line.starts_with("$ ") {
            command += 1;
        }
        match declared.iter().position(|(number, text)| *number == command && *text == line) {
            Some(index) => drop(declared.remove(index)),
            None => {
                let _ = writeln!(kept, "{line}");
            }
        }
    }
    for (number, line) in declared {
        let side = if is_ours { "Wardian" } else { "Terraform" };
        let _ = writeln!(report, "{side}'s result of command {number} does not contain: {line}");
    }
    kept
}
