//! Custom conditions: validations of variables, preconditions, postconditions and assertions.

mod validations;

use wardian_config::Condition;
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics};
use wardian_lang::{Cause, Expression, Scope};
use wardian_value::{Marks, Type, Value, convert::convert};

use crate::checks::ConditionResult;
pub use validations::check_validations;

/// The way in which a failed condition is reported.
#[derive(Clone, Copy)]
pub struct FailureReport {
    pub summary: &'static str,
    /// Whether the run continues.
    pub severity: FailureSeverity,
}

/// The consequence of a failed condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureSeverity {
    /// An error: dependents are not visited.
    Error,
    /// A warning. It is also reported if the result is not known yet.
    Warning,
}

/// A failed precondition of a resource.
pub const PRECONDITION: FailureReport =
    FailureReport { summary: "Resource precondition failed", severity: FailureSeverity::Error };

/// A failed postcondition of a resource.
pub const POSTCONDITION: FailureReport =
    FailureReport { summary: "Resource postcondition failed", severity: FailureSeverity::Error };

pub const OUTPUT_PRECONDITION: FailureReport =
    FailureReport { summary: "Module output value precondition failed", severity: FailureSeverity::Error };

/// A failed assertion of a check.
pub const ASSERTION: FailureReport =
    FailureReport { summary: "Check block assertion failed", severity: FailureSeverity::Warning };

/// Checks conditions. Conditions with unknown results are not reported as failed. Returns the
/// diagnostics and the result of each condition. `object` returns the address of the object to which
/// the conditions apply.
pub fn check(
    conditions: &[Condition],
    scope: &dyn Scope,
    report: FailureReport,
    object: &dyn Fn() -> String,
) -> (Diagnostics, Vec<ConditionResult>) {
    let mut diagnostics = Diagnostics::new();
    let found = conditions
        .iter()
        .map(|condition| {
            check_one(condition, scope, report, object)
                .take(&mut diagnostics)
                .unwrap_or(ConditionResult::Error)
        })
        .collect();
    (diagnostics, found)
}

fn check_one(
    condition: &Condition,
    scope: &dyn Scope,
    report: FailureReport,
    object: &dyn Fn() -> String,
) -> Diagnosed<ConditionResult> {
    let expression = &condition.condition;
    let mut diagnostics = Diagnostics::new();
    // The error message must be valid even if the condition holds.
    let value = diagnostics.collect(expression.evaluate(scope));
    let message = message(condition, scope).take(&mut diagnostics);
    let (Some(value), Some(message)) = (value, message) else { return Diagnosed::failed(diagnostics) };
    let holds = match truth(expression, &value, scope, "Invalid condition result") {
        Ok(Some(holds)) => holds,
        Ok(None) => {
            if report.severity == FailureSeverity::Warning {
                diagnostics.push(not_yet_known(expression, scope).for_checked_object(&object()));
            }
            return Diagnosed::with_diagnostics(ConditionResult::Unknown, diagnostics);
        }
        Err(problem) => {
            diagnostics.push(problem);
            return Diagnosed::failed(diagnostics);
        }
    };
    scope.record_evaluated(&condition.span);
    if holds {
        return Diagnosed::with_diagnostics(ConditionResult::Pass, diagnostics);
    }
    let mut failed = match report.severity {
        FailureSeverity::Error => Diagnostic::error(report.summary, message.clone()),
        FailureSeverity::Warning => Diagnostic::warning(report.summary, message.clone()),
    }
    .at(expression.span().clone())
    .for_checked_object(&object());
    failed.values = expression.value_notes(scope, Cause::Value);
    diagnostics.push(failed);
    Diagnosed::with_diagnostics(ConditionResult::Fail(message), diagnostics)
}

/// Returns whether a condition holds; `None` if that is not known yet.
fn truth(
    condition: &Expression,
    value: &Value,
    scope: &dyn Scope,
    summary: &'static str,
) -> Result<Option<bool>, Diagnostic> {
    let problem = |detail: String| {
        let mut found = Diagnostic::error(summary, detail).at(condition.span().clone());
        found.values = condition.value_notes(scope, Cause::Value);
        found
    };
    let value = value.unmark_deep();
    if !value.is_known() {
        return Ok(None);
    }
    let holds = convert(&value, &Type::Bool)
        .map_err(|error| problem(format!("The condition must be true or false: {error}.")))?;
    if holds.is_null() {
        return Err(problem("The condition must be true or false, but is null.".to_owned()));
    }
    Ok(holds.as_bool())
}

fn not_yet_known(condition: &Expression, scope: &dyn Scope) -> Diagnostic {
    let mut warning = Diagnostic::warning(
        "Check block assertion known after apply",
        "This condition depends on values that are known only after apply. Wardian checks it again during \
         apply.",
    )
    .at(condition.span().clone());
    warning.values = condition.value_notes(scope, Cause::Unknown);
    warning
}

/// Returns the message to report if a condition is false. Adds a warning if the message must not be
/// shown.
fn message(condition: &Condition, scope: &dyn Scope) -> Diagnosed<String> {
    Diagnosed::from_result(try_message(condition, scope))
}

fn try_message(condition: &Condition, scope: &dyn Scope) -> Result<(String, Diagnostics), Diagnostics> {
    let expression = &condition.error_message;
    let value = expression.evaluate(scope)?;
    let hidden = HiddenMessage::from_marks(value.inside_marks());
    let text = convert(&value.unmark_deep(), &Type::String)
        .map_err(|error| invalid_message(expression, format!("The message must be a string: {error}.")))?;
    if text.is_null() {
        return Err(
            invalid_message(expression, "The message must be a string, but is null.".to_owned()).into()
        );
    }
    if let Some(hidden) = hidden {
        let warning = hidden.explain(expression, scope);
        let message =
            format!("The condition is false. Its message contains {} values and is not shown.", hidden.kind);
        return Ok((message, warning.into()));
    }
    let message = match text.as_str() {
        Some(text) => text.trim().to_owned(),
        None => "The condition is false. Its message depends on values that are not known yet.".into(),
    };
    Ok((message, Diagnostics::new()))
}

fn invalid_message(message: &Expression, detail: String) -> Diagnostic {
    Diagnostic::error("Invalid error message", detail).at(message.span().clone())
}

/// The reason why the message of a failed condition is not shown.
struct HiddenMessage {
    kind: &'static str,
    function: &'static str,
    cause: Cause,
}

impl HiddenMessage {
    fn from_marks(marks: Marks) -> Option<Self> {
        if marks.is_sensitive() {
            Some(Self { kind: "sensitive", function: "nonsensitive", cause: Cause::Sensitive })
        } else if marks.is_ephemeral() {
            Some(Self { kind: "ephemeral", function: "ephemeralasnull", cause: Cause::Ephemeral })
        } else {
            None
        }
    }

    /// Returns a warning about the message.
    fn explain(&self, message: &Expression, scope: &dyn Scope) -> Diagnostic {
        let Self { kind, function, .. } = self;
        let detail = format!(
            "The message contains {kind} values and is not shown. Remove them from the message, or use the \
             function {function} for values that may be shown."
        );
        let mut warning = Diagnostic::warning(format!("Error message refers to {kind} values"), detail)
            .at(message.span().clone());
        warning.values = message.value_notes(scope, self.cause);
        warning
    }
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
