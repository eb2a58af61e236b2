//! Validations of variables. They differ from other conditions: the error is reported at the value
//! of the variable, the error message is checked only if the condition is false, and an error
//! message that cannot be shown is reported as a separate error.

use wardian_config::Condition;
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, Severity, Span};
use wardian_lang::{Cause, Scope};
use wardian_value::{Type, Value, convert::convert};

use super::{HiddenMessage, invalid_message, truth};
use crate::checks::ConditionResult;
use crate::evaluator::Phase;

/// Checks the validations of a variable. `place` is the source position of its value, and
/// `object` returns the variable's address. Returns the diagnostics and the result of each validation.
pub fn check_validations(
    validations: &[Condition],
    scope: &dyn Scope,
    place: &Span,
    phase: Phase,
    object: &dyn Fn() -> String,
) -> (Diagnostics, Vec<ConditionResult>) {
    let mut diagnostics = Diagnostics::new();
    let found = validations
        .iter()
        .map(|validation| {
            let result = check_one(validation, scope, place, phase, object);
            result.take(&mut diagnostics).unwrap_or(ConditionResult::Error)
        })
        .collect();
    (diagnostics, found)
}

fn check_one(
    validation: &Condition,
    scope: &dyn Scope,
    place: &Span,
    phase: Phase,
    object: &dyn Fn() -> String,
) -> Diagnosed<ConditionResult> {
    let expression = &validation.condition;
    let mut diagnostics = Diagnostics::new();
    let value = diagnostics.collect(expression.evaluate(scope));
    let message = diagnostics.collect(validation.error_message.evaluate(scope));
    let (Some(value), Some(message)) = (value, message) else { return Diagnosed::failed(diagnostics) };
    let holds = truth(expression, &value, scope, "Invalid variable validation result");
    if let Ok(Some(_)) = holds {
        scope.record_evaluated(&validation.span);
    }
    match holds {
        Ok(None) => return Diagnosed::new(ConditionResult::Unknown),
        Ok(Some(true)) => return Diagnosed::new(ConditionResult::Pass),
        Ok(Some(false)) => {}
        Err(problem) => return Diagnosed::failed(problem),
    }
    let (message, problem) = match text(validation, &message, scope) {
        Ok(Some(text)) => (text, None),
        // The message may become known when the values are planned.
        Ok(None) if phase == Phase::Validate => return Diagnosed::new(ConditionResult::Unknown),
        Ok(None) => {
            let detail = "The condition is false, and the message depends on values that are known only \
                after apply. In the message, use only values that are known during the plan.";
            let problem = invalid_message(&validation.error_message, detail.to_owned());
            return Diagnosed::failed(problem);
        }
        Err(problem) => {
            ("The condition is false, and its message cannot be shown.".to_owned(), Some(problem))
        }
    };
    diagnostics.extend(problem.map(|problem| problem.for_checked_object(&object())));
    let detail = format!("{message}\n\nThis was checked by the rule at {}.", validation.span);
    let mut failed = Diagnostic::error("Invalid value for variable", detail)
        .at(place.clone())
        .for_checked_object(&object());
    failed.values = expression.value_notes(scope, Cause::Value);
    diagnostics.push(failed);
    Diagnosed::with_diagnostics(ConditionResult::Fail(message), diagnostics)
}

/// Returns the message of a failed validation; `None` if it is not known yet.
fn text(validation: &Condition, message: &Value, scope: &dyn Scope) -> Result<Option<String>, Diagnostic> {
    let expression = &validation.error_message;
    let text = convert(&message.unmark_deep(), &Type::String)
        .map_err(|error| invalid_message(expression, format!("The message must be a string: {error}.")))?;
    if text.is_null() {
        return Ok(Some("The condition is false, and its message is null.".to_owned()));
    }
    let Some(text) = text.as_str() else { return Ok(None) };
    match HiddenMessage::from_marks(message.inside_marks()) {
        Some(hidden) => {
            let mut problem = hidden.explain(expression, scope);
            problem.severity = Severity::Error;
            Err(problem)
        }
        None => Ok(Some(text.trim().to_owned())),
    }
}
