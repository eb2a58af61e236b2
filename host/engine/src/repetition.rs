//! How many instances there are of a resource or a module call: its `count` or
//! `for_each`.

use std::collections::BTreeMap;

use wardian_address::ModuleInstance;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Cause, Expression, Scope};
use wardian_value::convert::convert;
use wardian_value::{Marks, Number, Str, Type, Value};

use crate::evaluator::{Evaluator, Phase};
use crate::values::{Repetition, RepetitionData};

/// The most instances that `count` may ask for: what a plan of it would hold is
/// bounded by memory, and a mistyped number shall not be.
const COUNT_LIMIT: u64 = 10_000_000;

impl Evaluator {
    /// The instances of a call or a resource by its `count` or `for_each`. While
    /// validating there is one, that stands for all there may be.
    pub fn repetition(
        &self,
        instance: &ModuleInstance,
        count: Option<&Expression>,
        for_each: Option<&Expression>,
    ) -> Result<Repetition, Diagnostics> {
        let scope = self.scope(instance, RepetitionData::None);
        let found = match (count, for_each) {
            (Some(count), _) => counted(count, &scope)?.map(Repetition::Count),
            (None, Some(for_each)) => keyed(for_each, &scope)?.map(Repetition::ForEach),
            (None, None) => Some(Repetition::Single),
        };
        if self.phase == Phase::Validate {
            return Ok(Repetition::Single);
        }
        match (found, count.or(for_each)) {
            (Some(repetition), _) => Ok(repetition),
            (None, Some(expression)) => Err(not_yet_known(expression, count.is_some(), &scope).into()),
            (None, None) => Ok(Repetition::Single),
        }
    }
}

/// The number that `count` asks for; `None` where it is not known yet.
fn counted(count: &Expression, scope: &dyn Scope) -> Result<Option<u64>, Diagnostics> {
    let value = count.evaluate(scope)?;
    let problem = |summary: &str, detail: String, cause: Cause| -> Diagnostics {
        let mut diagnostic = Diagnostic::error(summary, detail).at(count.span().clone());
        diagnostic.values = count.value_notes(scope, cause);
        diagnostic.into()
    };
    let invalid = |detail: &str| problem("Invalid count argument", detail.to_owned(), Cause::Value);
    let ephemeral = value.inside_marks().is_ephemeral();
    // How many instances there are says nothing of what is sensitive in it.
    let number = convert(&value.unmark_deep(), &Type::Number).map_err(|error| {
        problem("Incorrect value type", format!("This is no number of instances: {error}."), Cause::Value)
    })?;
    if ephemeral {
        let detail = "An ephemeral value cannot say how many instances there are: the instances are stored, \
                      and the value is not.";
        return Err(problem("Invalid count argument", detail.to_owned(), Cause::Ephemeral));
    }
    if number.is_null() {
        return Err(invalid("It is null, and a whole number is needed."));
    }
    let Some(number) = number.as_number() else { return Ok(None) };
    match Number::as_i64(number) {
        Some(count) if count < 0 => Err(invalid("There cannot be less than zero instances.")),
        Some(count) if count.unsigned_abs() > COUNT_LIMIT => {
            Err(invalid(&format!("More than {COUNT_LIMIT} instances are not supported.")))
        }
        Some(count) => Ok(Some(count.unsigned_abs())),
        None => Err(invalid("The number of instances must be a whole one.")),
    }
}

/// The keys that `for_each` names with their values; `None` where they are not
/// known yet.
fn keyed(for_each: &Expression, scope: &dyn Scope) -> Result<Option<BTreeMap<Str, Value>>, Diagnostics> {
    let value = for_each.evaluate(scope)?;
    keys(&value).map_err(|refusal| {
        let detail = format!("No instances can be made from this value: {}", refusal.reason);
        let mut diagnostic = Diagnostic::error(refusal.summary, detail).at(for_each.span().clone());
        diagnostic.values = for_each.value_notes(scope, refusal.cause);
        diagnostic.into()
    })
}

/// Why a value cannot be one of `for_each`.
struct Refusal {
    summary: &'static str,
    reason: String,
    cause: Cause,
}

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self { summary: "Invalid for_each argument", reason: reason.into(), cause: Cause::Value }
    }

    fn of_set(reason: impl Into<String>) -> Self {
        Self { summary: "Invalid for_each set argument", ..Self::new(reason) }
    }
}

fn keys(value: &Value) -> Result<Option<BTreeMap<Str, Value>>, Refusal> {
    let marks = value.marks();
    // The values of a map may be what they like, its keys may not; and the elements
    // of a set are keys.
    if marks.is_ephemeral() {
        let reason = "ephemeral values cannot be used, since the keys are stored in the state.";
        return Err(Refusal { cause: Cause::Ephemeral, ..Refusal::new(reason) });
    }
    if marks.contains(Marks::SENSITIVE) {
        let reason = "it is sensitive, and its keys would become part of addresses, which are shown. If the \
                      keys are no secret, say so with `nonsensitive`.";
        return Err(Refusal { cause: Cause::Sensitive, ..Refusal::new(reason) });
    }
    if value.is_null() {
        return Err(Refusal::new("it is null. A map, or a set of strings, is needed."));
    }
    if !matches!(value.ty(), Type::Map(_) | Type::Object(_) | Type::Set(_) | Type::Dynamic) {
        return Err(Refusal::new(format!(
            "a map or a set of strings is needed, and this is of type {}.",
            value.ty().friendly_name()
        )));
    }
    if !value.is_known() {
        return Ok(None);
    }
    if let Some(elements) = value.as_mapping() {
        return Ok(Some(elements.clone()));
    }
    let mut found = BTreeMap::new();
    for element in value.as_elements().unwrap_or_default() {
        match element.as_str() {
            Some(text) => {
                found.insert(Str::new(text), element.clone());
            }
            None if element.is_null() => return Err(Refusal::of_set("the set contains null.")),
            None if !element.is_known() && matches!(element.ty(), Type::String | Type::Dynamic) => {
                return Ok(None);
            }
            None => {
                return Err(Refusal::of_set(format!(
                    "all elements of a set must be strings, and these are of type {}.",
                    element.ty().friendly_name()
                )));
            }
        }
    }
    Ok(Some(found))
}

fn not_yet_known(expression: &Expression, is_count: bool, scope: &dyn Scope) -> Diagnostic {
    let (summary, detail) = if is_count {
        (
            "Invalid count argument",
            "How many instances there will be follows from something that only an apply makes known, and a \
             plan needs to know it now. Apply first what the number comes from, with -target, or let it \
             follow from something that is known.",
        )
    } else {
        (
            "Invalid for_each argument",
            "It holds keys that are known only after an apply, so that it cannot be told which instances \
             there will be. Use keys that the configuration itself states, and keep what is not known yet in \
             the map's values; or apply first what the value depends on, with -target.",
        )
    };
    let mut diagnostic = Diagnostic::error(summary, detail).at(expression.span().clone());
    diagnostic.values = expression.value_notes(scope, Cause::Unknown);
    diagnostic
}
