//! Evaluates the assertions of a run.

use wardian_config::Condition;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Cause, Expression, ReferenceMode, ReferenceSubject, Scope};
use wardian_value::{Type, Value, convert::convert};

use crate::comparison;
use crate::status::TestStatus;

/// The result of a run's assertions.
#[derive(Debug, Default)]
pub(crate) struct Asserted {
    pub(crate) status: TestStatus,
    pub(crate) diagnostics: Diagnostics,
}

/// Evaluates assertions. Every assertion is evaluated, even if others fail.
pub(crate) fn evaluate(assertions: &[Condition], scope: &dyn Scope) -> Asserted {
    let mut asserted = Asserted { status: TestStatus::Pass, diagnostics: Diagnostics::new() };
    for assertion in assertions {
        let status = evaluate_one(assertion, scope, &mut asserted.diagnostics);
        asserted.status = asserted.status.max(status);
    }
    asserted
}

fn evaluate_one(assertion: &Condition, scope: &dyn Scope, diagnostics: &mut Diagnostics) -> TestStatus {
    let condition = &assertion.condition;
    let references = [condition, &assertion.error_message].into_iter().flat_map(Expression::references);
    let mut ephemeral = references
        .filter(|reference| {
            matches!(reference.subject, ReferenceSubject::Resource { mode: ReferenceMode::Ephemeral, .. })
        })
        .peekable();
    if ephemeral.peek().is_some() {
        diagnostics.extend(ephemeral.map(|reference| {
            let detail = "Ephemeral resources are closed before the assertions are evaluated. Refer to an \
                          object that depends on the ephemeral resource.";
            Diagnostic::error("Ephemeral resources cannot be asserted", detail).at(reference.subject_span())
        }).collect::<Diagnostics>());
        return TestStatus::Error;
    }
    let value = diagnostics.collect(condition.evaluate(scope));
    // The message must be valid even if the condition holds.
    let message = message(&assertion.error_message, scope, diagnostics);
    let (Some(value), Some(message)) = (value, message) else { return TestStatus::Error };
    match truth(condition, &value, scope) {
        Ok(true) => TestStatus::Pass,
        Ok(false) => {
            let mut failed = Diagnostic::error("Test assertion failed", message).at(condition.span().clone());
            failed.values = condition.value_notes(scope, Cause::Value);
            failed.values.extend(comparison::notes(condition, scope));
            diagnostics.push(failed);
            TestStatus::Fail
        }
        Err(problem) => {
            diagnostics.push(problem);
            TestStatus::Error
        }
    }
}

fn truth(condition: &Expression, value: &Value, scope: &dyn Scope) -> Result<bool, Diagnostic> {
    let span = || -> Span { condition.span().clone() };
    let value = value.unmark_deep();
    if !value.is_known() {
        let detail = "The condition depends on a value that is not known before the apply. Remove the value from \
                      the condition, execute the run with `command = apply`, or set the value in an override with \
                      `override_during = plan`.";
        let mut problem = Diagnostic::error("Unknown condition value", detail).at(span());
        problem.values = condition.value_notes(scope, Cause::Unknown);
        return Err(problem);
    }
    let invalid = |detail: String| {
        let mut problem = Diagnostic::error("Invalid condition run", detail).at(span());
        problem.values = condition.value_notes(scope, Cause::Value);
        problem
    };
    if value.is_null() {
        return Err(invalid("The condition must be true or false, but is null.".to_owned()));
    }
    let holds = convert(&value, &Type::Bool)
        .map_err(|error| invalid(format!("The condition must be true or false: {error}.")))?;
    holds.as_bool().ok_or_else(|| invalid("The condition must be true or false.".to_owned()))
}

/// Returns the message of a false condition; an empty text if it is not known or must not be shown.
fn message(expression: &Expression, scope: &dyn Scope, diagnostics: &mut Diagnostics) -> Option<String> {
    let value = diagnostics.collect(expression.evaluate(scope))?;
    let marks = value.inside_marks();
    let text = match convert(&value.unmark_deep(), &Type::String) {
        Ok(text) => text,
        Err(error) => {
            let detail = format!("The message must be a string: {error}.");
            diagnostics
                .push(Diagnostic::error("Invalid error message", detail).at(expression.span().clone()));
            return None;
        }
    };
    let hidden = if marks.is_sensitive() {
        Some(("sensitive", "nonsensitive", Cause::Sensitive))
    } else if marks.is_ephemeral() {
        Some(("ephemeral", "ephemeralasnull", Cause::Ephemeral))
    } else {
        None
    };
    if let Some((kind, function, cause)) = hidden {
        let detail = format!(
            "The message contains {kind} values and is not shown. Remove them from the message, or use the \
             function {function} for values that may be shown."
        );
        let summary = format!("Error message refers to {kind} values");
        let mut warning = Diagnostic::warning(summary, detail).at(expression.span().clone());
        warning.values = expression.value_notes(scope, cause);
        diagnostics.push(warning);
        return Some(String::new());
    }
    Some(text.as_str().unwrap_or_default().trim().to_owned())
}
