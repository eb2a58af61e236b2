//! Custom conditions: validations of variables, preconditions, postconditions and assertions.

use wardian_config::Condition;
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, Span};
use wardian_lang::{Cause, Expression, Scope};
use wardian_value::{Type, convert::convert};

use crate::checks::ConditionResult;

/// How a failed condition is reported.
#[derive(Clone, Copy)]
pub struct FailureReport<'a> {
    pub summary: &'static str,
    /// The position to report; `None` for the position of the condition itself. If it is set, the
    /// message contains the position of the condition.
    pub place: Option<&'a Span>,
    /// Whether the run continues.
    pub severity: FailureSeverity,
}

/// The consequence of a failed condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureSeverity {
    /// An error: dependents are not visited.
    Error,
    /// A warning, which is also reported if the result is not known yet.
    Warning,
}

impl FailureReport<'static> {
    /// Returns an error at the condition itself.
    const fn error(summary: &'static str) -> Self {
        Self { summary, place: None, severity: FailureSeverity::Error }
    }
}

/// A failed precondition of a resource.
pub const PRECONDITION: FailureReport<'static> = FailureReport::error("Resource precondition failed");

/// A failed postcondition of a resource.
pub const POSTCONDITION: FailureReport<'static> = FailureReport::error("Resource postcondition failed");

/// A failed precondition of an output.
pub const OUTPUT_PRECONDITION: FailureReport<'static> =
    FailureReport::error("Module output value precondition failed");

/// A failed assertion of a check.
pub const ASSERTION: FailureReport<'static> = FailureReport {
    summary: "Check block assertion failed",
    place: None,
    severity: FailureSeverity::Warning,
};

/// Checks conditions. Conditions with unknown results are not reported as failed. Returns the
/// diagnostics and the result of each condition.
pub fn check(
    conditions: &[Condition],
    scope: &dyn Scope,
    report: FailureReport<'_>,
) -> (Diagnostics, Vec<ConditionResult>) {
    let mut diagnostics = Diagnostics::new();
    let found = conditions
        .iter()
        .map(|condition| {
            check_one(condition, scope, report).take(&mut diagnostics).unwrap_or(ConditionResult::Error)
        })
        .collect();
    (diagnostics, found)
}

fn check_one(
    condition: &Condition,
    scope: &dyn Scope,
    report: FailureReport<'_>,
) -> Diagnosed<ConditionResult> {
    Diagnosed::from_result(try_check(condition, scope, report))
}

fn try_check(
    condition: &Condition,
    scope: &dyn Scope,
    report: FailureReport<'_>,
) -> Result<(ConditionResult, Diagnostics), Diagnostics> {
    let expression = &condition.condition;
    let problem = |detail: String| -> Diagnostics {
        let mut found = Diagnostic::error("Invalid condition result", detail).at(expression.span().clone());
        found.values = expression.value_notes(scope, Cause::Value);
        found.into()
    };
    let value = expression.evaluate(scope)?.unmark_deep();
    if !value.is_known() {
        // The result is unknown, but the message must be valid anyway.
        message(condition, scope).into_result()?;
        let mut diagnostics = Diagnostics::new();
        if report.severity == FailureSeverity::Warning {
            diagnostics.push(not_yet_known(expression, scope));
        }
        return Ok((ConditionResult::Unknown, diagnostics));
    }
    let holds = convert(&value, &Type::Bool)
        .map_err(|error| problem(format!("The condition must be true or false: {error}.")))?;
    if holds.is_null() {
        return Err(problem("The condition must be true or false, but is null.".to_owned()));
    }
    if holds.as_bool() == Some(true) {
        return Ok((ConditionResult::Pass, Diagnostics::new()));
    }
    let (message, mut diagnostics) = message(condition, scope).into_result()?;
    let (detail, place) = match report.place {
        None => (message.clone(), expression.span()),
        Some(place) => (format!("{message}\n\nThis was checked by the rule at {}.", condition.span), place),
    };
    let failed = match report.severity {
        FailureSeverity::Error => Diagnostic::error(report.summary, detail),
        FailureSeverity::Warning => Diagnostic::warning(report.summary, detail),
    };
    let mut failed = failed.at(place.clone());
    failed.values = expression.value_notes(scope, Cause::Value);
    diagnostics.push(failed);
    Ok((ConditionResult::Fail(message), diagnostics))
}

fn not_yet_known(condition: &Expression, scope: &dyn Scope) -> Diagnostic {
    let mut warning = Diagnostic::warning(
        "Check block assertion known after apply",
        "The result of this condition depends on values that are known only after apply, and is checked \
         again then.",
    )
    .at(condition.span().clone());
    warning.values = condition.value_notes(scope, Cause::Unknown);
    warning
}

/// Returns the message of a failed condition. Adds a warning if the message must not be shown.
fn message(condition: &Condition, scope: &dyn Scope) -> Diagnosed<String> {
    Diagnosed::from_result(try_message(condition, scope))
}

fn try_message(condition: &Condition, scope: &dyn Scope) -> Result<(String, Diagnostics), Diagnostics> {
    let expression = &condition.error_message;
    let invalid = |detail: String| -> Diagnostics {
        Diagnostic::error("Invalid error message", detail).at(expression.span().clone()).into()
    };
    let value = expression.evaluate(scope)?;
    let marks = value.inside_marks();
    let text = convert(&value.unmark_deep(), &Type::String)
        .map_err(|error| invalid(format!("The message must be a string: {error}.")))?;
    if text.is_null() {
        return Err(invalid("The message must be a string, but is null.".to_owned()));
    }
    let hidden = if marks.is_sensitive() {
        Some(("sensitive", "nonsensitive", Cause::Sensitive))
    } else if marks.is_ephemeral() {
        Some(("ephemeral", "ephemeralasnull", Cause::Ephemeral))
    } else {
        None
    };
    if let Some((what, function, cause)) = hidden {
        let detail = format!(
            "The message contains {what} values and is not shown. Remove them from the message, or use the \
             function {function} for values that may be shown."
        );
        let mut warning = Diagnostic::warning(format!("Error message refers to {what} values"), detail)
            .at(expression.span().clone());
        warning.values = expression.value_notes(scope, cause);
        let message = format!("The condition is false. Its message contains {what} values and is not shown.");
        return Ok((message, warning.into()));
    }
    let message = match text.as_str() {
        Some(text) => text.trim().to_owned(),
        None => "The condition is false. Its message depends on values that are not known yet.".into(),
    };
    Ok((message, Diagnostics::new()))
}

/// Evaluates conditions and their messages with unknown values and reports errors that do not
/// depend on the values.
pub fn check_unknown(conditions: &[Condition], scope: &dyn Scope) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for condition in conditions {
        diagnostics.collect(condition.condition.evaluate(scope));
        diagnostics.collect(condition.error_message.evaluate(scope));
    }
    diagnostics
}

/// Checks conditions like [`check_unknown`]. Also checks that conditions are booleans and messages
/// are strings.
pub fn check_types(conditions: &[Condition], scope: &dyn Scope) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let parts = |condition: &Condition| {
        [
            (
                condition.condition.clone(),
                Type::Bool,
                "Invalid condition result",
                "The condition must be true or false",
            ),
            (
                condition.error_message.clone(),
                Type::String,
                "Invalid error message",
                "The message must be a string",
            ),
        ]
    };
    for (expression, ty, summary, needed) in conditions.iter().flat_map(parts) {
        let Some(value) = diagnostics.collect(expression.evaluate(scope)) else { continue };
        if let Err(error) = convert(&value.unmark_deep(), &ty) {
            diagnostics.push(
                Diagnostic::error(summary, format!("{needed}: {error}.")).at(expression.span().clone()),
            );
        }
    }
    diagnostics
}
