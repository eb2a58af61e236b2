//! Compares the result of a scenario with the recorded answer.

use std::fmt::Write as _;

use wardian_end_to_end::differences;

use crate::scenario::{Scenario, Side};

/// Returns the differences, except for lines that differ deliberately.
pub fn between(scenario: &Scenario, expected: &str, seen: &str) -> Option<String> {
    let mut report = String::new();
    let expected = without(scenario, Side::Terraform, expected, &mut report);
    let seen = without(scenario, Side::Ours, seen, &mut report);
    if expected.is_empty() {
        let _ = write!(report, "nothing is recorded; this is ours:\n{seen}");
    } else if let Some(differences) = differences(&expected, &seen) {
        report.push_str(&differences);
    }
    (!report.is_empty()).then_some(report)
}

/// Removes the lines that are declared to occur only on this side.
fn without(scenario: &Scenario, side: Side, answer: &str, report: &mut String) -> String {
    let mut expected: Vec<(usize, &str)> = scenario
        .differences
        .iter()
        .filter(|difference| difference.side == side)
        .map(|difference| (difference.command, &*difference.line))
        .collect();
    let mut kept = String::new();
    let mut command = 0;
    for line in answer.split_inclusive('\n') {
        if line.starts_with("$ ") {
            command += 1;
        }
        let known = expected.iter().position(|(number, text)| *number == command && *text == line.trim_end());
        match known {
            Some(index) => drop(expected.remove(index)),
            None => kept.push_str(line),
        }
    }
    for (number, line) in expected {
        let _ = writeln!(report, "command {number} has no line to leave out: {line} ({side:?})");
    }
    kept
}
