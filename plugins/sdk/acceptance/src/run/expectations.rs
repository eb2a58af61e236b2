//! Compares the errors and warnings of a step with those that it expects.

use wardian_diagnostic::{Diagnostic, Diagnostics};

use super::StepFailure;
use crate::expected_error::{ExpectedDiagnostic, location};
use crate::failure::diagnostics_text;
use crate::step::Step;

/// Checks the expectations themselves.
pub(super) fn check(step: &Step) -> Result<(), StepFailure> {
    let mut all = step.expected_errors.iter().chain(&step.expected_warnings);
    match all.find_map(ExpectedDiagnostic::problem) {
        Some(problem) => Err(StepFailure::new("an expectation is not valid", problem)),
        None => Ok(()),
    }
}

/// Checks that every error is expected, and that every expected error and warning occurs.
pub(super) fn compare(step: &Step, diagnostics: &Diagnostics) -> Result<(), StepFailure> {
    let is_expected = |error: &&Diagnostic| step.expected_errors.iter().any(|one| one.matches(error));
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|one| one.is_error()).collect();
    let warnings: Vec<&Diagnostic> = diagnostics.iter().filter(|one| !one.is_error()).collect();
    missing(&step.expected_errors, &errors, "error")?;
    let unexpected: Diagnostics =
        errors.iter().filter(|error| !is_expected(error)).copied().cloned().collect();
    if !unexpected.is_empty() {
        let number = unexpected.len();
        let summary = if number == 1 {
            "an error occurred that is not expected".to_owned()
        } else {
            format!("{number} errors occurred that are not expected")
        };
        return Err(StepFailure::new(summary, diagnostics_text(&unexpected)));
    }
    missing(&step.expected_warnings, &warnings, "warning")
}

fn missing(expected: &[ExpectedDiagnostic], found: &[&Diagnostic], kind: &str) -> Result<(), StepFailure> {
    let Some(expected) = expected.iter().find(|one| !found.iter().any(|found| one.matches(found))) else {
        return Ok(());
    };
    let shown: Vec<String> = found
        .iter()
        .map(|one| format!("- {}: {}{}", one.summary, one.detail.replace('\n', " "), location(one)))
        .collect();
    let found = if shown.is_empty() { format!("There are no {kind}s.") } else { shown.join("\n") };
    Err(StepFailure::new(
        format!("an expected {kind} did not occur"),
        format!("expected: {expected}\n\nfound:\n{found}"),
    ))
}
