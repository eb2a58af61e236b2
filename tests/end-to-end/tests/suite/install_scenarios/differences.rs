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

/// Replaces the positions of diagnostics with the positions that Terraform reports for the same
/// summary, because an additional position or a different line in the same file is not a
/// difference. Wardian points at the argument, and Terraform at its block.
fn with_recorded_positions(expected: &str, seen: &str) -> String {
    let mut open: Vec<&str> = expected.lines().collect();
    let mut kept = String::new();
    for line in seen.lines() {
        let found = open.iter().position(|known| *known == line).or_else(|| {
            let (severity, summary) = without_position(line)?;
            open.iter().position(|known| {
                without_position(known) == Some((severity, summary))
                    || *known == format!("{severity} {summary}")
            })
        });
        let _ = writeln!(kept, "{}", found.map_or(line, |index| open.remove(index)));
    }
    kept
}

/// Returns the severity and the summary of a diagnostic with a position.
fn without_position(line: &str) -> Option<(&str, &str)> {
    let (severity, rest) = line.split_once(' ')?;
    let (position, summary) = rest.split_once(' ')?;
    (matches!(severity, "error" | "warning") && position.contains(".tf:")).then_some((severity, summary))
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
