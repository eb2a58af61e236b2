//! Conditions that people state: validations of variables, pre- and
//! postconditions, assertions.

use std::sync::Arc;

use wardian_address::{ModulePath, ResourceInstanceAddress};
use wardian_config::{Condition, Resource};
use wardian_diagnostic::{Diagnostic, DiagnosticOrigin, Diagnostics, Span};
use wardian_lang::{Cause, Expression, Scope};
use wardian_value::{Str, Type, Value, convert::convert};

use crate::checks::{Checkable, CheckedObject, Found};
use crate::evaluator::Evaluator;
use crate::values::RepetitionData;

/// What is said where a condition does not hold.
#[derive(Clone, Copy)]
pub struct Complaint<'a> {
    /// In a few words.
    pub summary: &'static str,
    /// Where that is; at the condition itself where nothing else is named, and else
    /// the condition is named in the message.
    pub place: Option<&'a Span>,
    /// Whether the run can go on.
    pub weight: Weight,
}

/// What it means that a condition does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// What depends on it is not done.
    Refusal,
    /// People are told, also where it is not known yet.
    Advice,
}

impl Complaint<'static> {
    /// A condition whose own place is told, and without which nothing goes on.
    const fn refusal(summary: &'static str) -> Self {
        Self { summary, place: None, weight: Weight::Refusal }
    }
}

/// What is said where a precondition of a resource does not hold.
pub const PRECONDITION: Complaint<'static> = Complaint::refusal("Resource precondition failed");

/// What is said where a postcondition of a resource does not hold.
const POSTCONDITION: Complaint<'static> = Complaint::refusal("Resource postcondition failed");

/// What is said where a precondition of an output does not hold.
pub const OUTPUT_PRECONDITION: Complaint<'static> =
    Complaint::refusal("Module output value precondition failed");

/// What is said where an assertion of a check does not hold.
pub const ASSERTION: Complaint<'static> =
    Complaint { summary: "Check block assertion failed", place: None, weight: Weight::Advice };

/// Checks conditions. Those that are not known yet are left for later. Returns what
/// is to be said, and what was found of each.
pub fn check(
    conditions: &[Condition],
    scope: &dyn Scope,
    complaint: Complaint<'_>,
) -> (Diagnostics, Vec<Found>) {
    let mut diagnostics = Diagnostics::new();
    let found = conditions
        .iter()
        .map(|condition| match check_one(condition, scope, complaint, &mut diagnostics) {
            Ok(found) => found,
            Err(problems) => {
                diagnostics.extend(problems);
                Found::Error
            }
        })
        .collect();
    (diagnostics, found)
}

/// What was found of one condition; the error is what keeps it from being evaluated.
fn check_one(
    condition: &Condition,
    scope: &dyn Scope,
    complaint: Complaint<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Found, Diagnostics> {
    let expression = &condition.condition;
    let problem = |detail: String| -> Diagnostics {
        let mut found = Diagnostic::error("Invalid condition result", detail).at(expression.span().clone());
        found.values = expression.value_notes(scope, Cause::Value);
        found.into()
    };
    let value = expression.evaluate(scope)?.unmark_deep();
    if !value.is_known() {
        // Of what type it will be says nothing yet; the message must be right all the same.
        message(condition, scope, &mut Diagnostics::new())?;
        if complaint.weight == Weight::Advice {
            diagnostics.push(not_yet_known(expression, scope));
        }
        return Ok(Found::Unknown);
    }
    let holds = convert(&value, &Type::Bool)
        .map_err(|error| problem(format!("The condition must be true or false: {error}.")))?;
    if holds.is_null() {
        return Err(problem("The condition must be true or false, and is null.".to_owned()));
    }
    if holds.as_bool() == Some(true) {
        return Ok(Found::Pass);
    }
    let message = message(condition, scope, diagnostics)?;
    let (detail, place) = match complaint.place {
        None => (message.clone(), expression.span()),
        Some(place) => (format!("{message}\n\nThis was checked by the rule at {}.", condition.span), place),
    };
    let failed = match complaint.weight {
        Weight::Refusal => Diagnostic::error(complaint.summary, detail),
        Weight::Advice => Diagnostic::warning(complaint.summary, detail),
    };
    let mut failed = failed.at(place.clone());
    failed.values = expression.value_notes(scope, Cause::Value);
    diagnostics.push(failed);
    Ok(Found::Fail(message))
}

fn not_yet_known(condition: &Expression, scope: &dyn Scope) -> Diagnostic {
    let mut warning = Diagnostic::warning(
        "Check block assertion known after apply",
        "Whether this holds follows from something that only an apply makes known, and is looked at again then.",
    )
    .at(condition.span().clone());
    warning.values = condition.value_notes(scope, Cause::Unknown);
    warning
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

impl Evaluator {
    /// Checks what must hold before anything is done for an instance, where `count`
    /// and `each` stand for what `repetition` says.
    pub fn check_preconditions(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
        repetition: RepetitionData,
    ) -> Diagnostics {
        let conditions = &resource.lifecycle.preconditions;
        if conditions.is_empty() {
            return Diagnostics::new();
        }
        let scope = self.scope(address.module(), repetition);
        let (diagnostics, found) = check(conditions, &scope, PRECONDITION);
        self.checks.report_resource(address, 0, found);
        diagnostics.for_address(&address.to_string())
    }

    /// Checks what must hold for an instance once its value is known.
    pub fn check_postconditions(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
        value: Value,
    ) -> Diagnostics {
        let conditions = &resource.lifecycle.postconditions;
        if conditions.is_empty() {
            return Diagnostics::new();
        }
        let repetition = self.values.repetition_data(address);
        let scope = self.scope(address.module(), repetition).with_self(value);
        let (diagnostics, found) = check(conditions, &scope, POSTCONDITION);
        self.checks.report_resource(address, resource.lifecycle.preconditions.len(), found);
        diagnostics.in_block(&resource.context()).for_address(&address.to_string())
    }

    /// Looks at the assertions of a check in all instances of its module. Those of a
    /// check whose data could not be read are left alone: that was told.
    pub fn evaluate_check(&mut self, path: &ModulePath, name: &Str) -> Diagnostics {
        let configuration = Arc::clone(&self.configuration);
        let Some(check_block) = configuration.module(path).and_then(|m| m.module.checks.get(name)) else {
            return Diagnostics::new();
        };
        let checkable = Checkable::Check(path.clone(), name.clone());
        let mut diagnostics = Diagnostics::new();
        for instance in self.values.module_instances(path).to_vec() {
            let object = CheckedObject::of_module(&instance);
            if self.checks.has_failed(&checkable, &object) {
                continue;
            }
            let scope = self.scope(&instance, RepetitionData::None);
            let (problems, found) = check(&check_block.assertions, &scope, ASSERTION);
            self.checks.report(&checkable, object, usize::from(check_block.data.is_some()), found);
            diagnostics
                .extend(problems.into_iter().map(|problem| problem.with_origin(DiagnosticOrigin::Check)));
        }
        diagnostics.in_block(&format!("check \"{name}\""))
    }
}
