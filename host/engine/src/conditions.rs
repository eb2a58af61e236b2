//! Conditions that people state: validations of variables, pre- and
//! postconditions, assertions.

use wardian_config::{Condition, Resource};
use wardian_lang::{Cause, Diagnostic, Diagnostics, Scope, Span};
use wardian_plugin::ResourceInstanceAddress;
use wardian_value::{Type, Value, convert::convert};

use crate::evaluator::Evaluator;

/// What is said where a condition does not hold.
#[derive(Clone, Copy)]
pub struct Complaint<'a> {
    /// In a few words.
    pub summary: &'static str,
    /// Where that is; at the condition itself where nothing else is named, and else
    /// the condition is named in the message.
    pub place: Option<&'a Span>,
}

/// What is said where a precondition of a resource does not hold.
pub const PRECONDITION: Complaint<'static> =
    Complaint { summary: "Resource precondition failed", place: None };

/// Checks conditions. Those that are not known yet are left for later.
pub fn check(conditions: &[Condition], scope: &dyn Scope, complaint: Complaint<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for condition in conditions {
        if let Err(found) = check_one(condition, scope, complaint) {
            diagnostics.extend(found);
        }
    }
    diagnostics
}

fn check_one(condition: &Condition, scope: &dyn Scope, complaint: Complaint<'_>) -> Result<(), Diagnostics> {
    let expression = &condition.condition;
    let problem = |detail: String| -> Diagnostics {
        let mut found = Diagnostic::error("Invalid condition result", detail).at(expression.span().clone());
        found.values = expression.value_notes(scope, Cause::Value);
        found.into()
    };
    let value = expression.evaluate(scope)?.unmark_deep();
    if !value.is_known() {
        // Of what type it will be says nothing yet; the message must be right all the same.
        return message(condition, scope, &mut Diagnostics::new()).map(|_| ());
    }
    let holds = convert(&value, &Type::Bool)
        .map_err(|error| problem(format!("The condition must be true or false: {error}.")))?;
    if holds.is_null() {
        return Err(problem("The condition must be true or false, and is null.".to_owned()));
    }
    if holds.as_bool() == Some(true) {
        return Ok(());
    }
    let mut diagnostics = Diagnostics::new();
    let message = message(condition, scope, &mut diagnostics)?;
    let mut failed = match complaint.place {
        None => Diagnostic::error(complaint.summary, message).at(expression.span().clone()),
        Some(place) => {
            let detail = format!("{message}\n\nThis was checked by the rule at {}.", condition.span);
            Diagnostic::error(complaint.summary, detail).at(place.clone())
        }
    };
    failed.values = expression.value_notes(scope, Cause::Value);
    diagnostics.push(failed);
    Err(diagnostics)
}

/// The message of a condition that does not hold; what keeps it from being shown is
/// warned about.
fn message(
    condition: &Condition,
    scope: &dyn Scope,
    warnings: &mut Diagnostics,
) -> Result<String, Diagnostics> {
    let expression = &condition.error_message;
    let invalid = |detail: String| -> Diagnostics {
        Diagnostic::error("Invalid error message", detail).at(expression.span().clone()).into()
    };
    let value = expression.evaluate(scope)?;
    let marks = value.inside_marks();
    let text = convert(&value.unmark_deep(), &Type::String)
        .map_err(|error| invalid(format!("The message must be a text: {error}.")))?;
    if text.is_null() {
        return Err(invalid("The message must be a text, and is null.".to_owned()));
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
            "The message is made from {what} values and is not shown. Leave them out of it, or use the \
             function {function} where they may be seen."
        );
        let mut warning = Diagnostic::warning(format!("Error message refers to {what} values"), detail)
            .at(expression.span().clone());
        warning.values = expression.value_notes(scope, cause);
        warnings.push(warning);
        return Ok(format!(
            "The condition does not hold. Its message is made from {what} values and is not shown."
        ));
    }
    Ok(match text.as_str() {
        Some(text) => text.trim().to_owned(),
        None => {
            "The condition does not hold. Its message follows from something that is not known yet.".into()
        }
    })
}

/// Evaluates a condition and its message where nothing is known, for what is wrong
/// with them whatever the values are.
pub fn check_unknown(conditions: &[Condition], scope: &dyn Scope) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for condition in conditions {
        diagnostics.collect(condition.condition.evaluate(scope));
        diagnostics.collect(condition.error_message.evaluate(scope));
    }
    diagnostics
}

/// [`check_unknown`], and whether conditions are true or false and messages texts.
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
                "The message must be a text",
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

/// Checks what must hold for an instance once its value is known.
pub fn check_postconditions(
    diagnostics: &mut Diagnostics,
    evaluator: &Evaluator,
    resource: &Resource,
    address: &ResourceInstanceAddress,
    value: Value,
) -> bool {
    if resource.lifecycle.postconditions.is_empty() {
        return true;
    }
    let repetition = evaluator.values.repetition_data(address);
    let scope = evaluator.scope(address.module(), repetition).with_self(value);
    let complaint = Complaint { summary: "Resource postcondition failed", place: None };
    let found = check(&resource.lifecycle.postconditions, &scope, complaint);
    let failed = found.has_errors();
    diagnostics.extend(found.in_block(&resource.context()).for_address(&address.to_string()));
    !failed
}
