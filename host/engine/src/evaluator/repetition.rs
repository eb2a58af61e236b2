//! The number of instances of a resource or a module call: `count` and `for_each`.

use std::collections::BTreeMap;

use wardian_address::ModuleInstance;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Cause, Expression, Scope};
use wardian_value::convert::convert;
use wardian_value::{Marks, Number, Str, Type, Value};

use super::{Evaluator, Phase};
use crate::values::{Repetition, RepetitionData};

/// Maximum value of `count`. It prevents a mistyped number from exhausting the memory.
const MAX_COUNT: u64 = 10_000_000;

impl Evaluator {
    /// Returns the instances of a module call or a resource, from its `count` or `for_each`. During
    /// validation, one instance represents all instances.
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
        if let (Some(repetition), Some(expression)) = (&found, count.or(for_each)) {
            let number = match repetition {
                Repetition::Single => 1,
                Repetition::Count(number) => *number,
                Repetition::ForEach(elements) => u64::try_from(elements.len()).unwrap_or(u64::MAX),
            };
            self.budget.spend_instances(number, expression.span())?;
        }
        match (found, count.or(for_each)) {
            (Some(repetition), _) => Ok(repetition),
            (None, Some(expression)) => Err(not_yet_known(expression, count.is_some(), &scope).into()),
            (None, None) => Ok(Repetition::Single),
        }
    }
}

/// Returns the value of `count`; `None` if it is not known yet.
fn counted(count: &Expression, scope: &dyn Scope) -> Result<Option<u64>, Diagnostics> {
    let value = count.evaluate(scope)?;
    let problem = |summary: &str, detail: String, cause: Cause| -> Diagnostics {
        let mut diagnostic = Diagnostic::error(summary, detail).at(count.span().clone());
        diagnostic.values = count.value_notes(scope, cause);
        diagnostic.into()
    };
    let invalid = |detail: &str| problem("Invalid count argument", detail.to_owned(), Cause::Value);
    let ephemeral = value.inside_marks().is_ephemeral();
    // The number of instances does not reveal sensitive values.
    let number = convert(&value.unmark_deep(), &Type::Number).map_err(|error| {
        let detail = format!("This value is not a number of instances: {error}.");
        problem("Incorrect value type", detail, Cause::Value)
    })?;
    if ephemeral {
        let detail = "An ephemeral value cannot be used here: the state stores the instances, but it must \
            not store ephemeral values.";
        return Err(problem("Invalid count argument", detail.to_owned(), Cause::Ephemeral));
    }
    if number.is_null() {
        return Err(invalid("The value is null; a whole number is required."));
    }
    let Some(number) = number.as_number() else { return Ok(None) };
    match Number::as_i64(number) {
        Some(count) if count < 0 => Err(invalid("The number of instances must not be negative.")),
        Some(count) if count.unsigned_abs() > MAX_COUNT => {
            Err(invalid(&format!("More than {MAX_COUNT} instances are not supported.")))
        }
        Some(count) => Ok(Some(count.unsigned_abs())),
        None => Err(invalid("The number of instances must be a whole number.")),
    }
}

/// Returns the keys of `for_each` with their values; `None` if they are not known yet.
fn keyed(for_each: &Expression, scope: &dyn Scope) -> Result<Option<BTreeMap<Str, Value>>, Diagnostics> {
    let value = for_each.evaluate(scope)?;
    keys(&value).map_err(|refusal| {
        let detail = format!("This value cannot be used as for_each: {}", refusal.reason);
        let mut diagnostic = Diagnostic::error(refusal.summary, detail).at(for_each.span().clone());
        diagnostic.values = for_each.value_notes(scope, refusal.cause);
        diagnostic.into()
    })
}

/// The reason why a value cannot be used for `for_each`.
struct Refusal {
    summary: &'static str,
    reason: String,
    cause: Cause,
}

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self { summary: "Invalid for_each argument", reason: reason.into(), cause: Cause::Value }
    }

    fn for_set(reason: impl Into<String>) -> Self {
        Self { summary: "Invalid for_each set argument", ..Self::new(reason) }
    }
}

fn keys(value: &Value) -> Result<Option<BTreeMap<Str, Value>>, Refusal> {
    let marks = value.marks();
    // The values of a map may have marks, but its keys may not; the elements of a set become keys.
    if marks.is_ephemeral() {
        let reason = "ephemeral values cannot be used, because the keys are stored in the state.";
        return Err(Refusal { cause: Cause::Ephemeral, ..Refusal::new(reason) });
    }
    if marks.contains(Marks::SENSITIVE) {
        let reason = "it is sensitive, and its keys would become part of addresses, which are displayed. If \
            the keys are not secret, use `nonsensitive`.";
        return Err(Refusal { cause: Cause::Sensitive, ..Refusal::new(reason) });
    }
    if value.is_null() {
        return Err(Refusal::new("it is null. A map or a set of strings is required."));
    }
    if !matches!(value.ty(), Type::Map(_) | Type::Object(_) | Type::Set(_) | Type::Dynamic) {
        return Err(Refusal::new(format!(
            "a map or a set of strings is required, but this value is of type {}.{}",
            value.ty().friendly_name(),
            match value.ty() {
                Type::List(_) | Type::Tuple(_) => " To use a list of strings, convert it with toset(...).",
                _ => "",
            }
        )));
    }
    if !value.is_known() {
        return Ok(None);
    }
    if let Some(elements) = value.as_mapping() {
        return Ok(Some(elements.to_map()));
    }
    let mut found = BTreeMap::new();
    for element in value.as_elements().unwrap_or_default() {
        match element.as_str() {
            Some(text) => {
                found.insert(Str::new(text), element.clone());
            }
            None if element.is_null() => return Err(Refusal::for_set("the set contains null.")),
            None if !element.is_known() && matches!(element.ty(), Type::String | Type::Dynamic) => {
                return Ok(None);
            }
            None => {
                return Err(Refusal::for_set(format!(
                    "all elements of a set must be strings; these are of type {}. To convert them, use \
                     toset([for element in ... : tostring(element)]).",
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
            "The number of instances depends on values that are known only after apply, but the plan must \
             determine it. Apply the objects that the number depends on first, with -target, or use values \
             that are known.",
        )
    } else {
        (
            "Invalid for_each argument",
            "The value contains keys that are known only after apply, so the instances cannot be \
             determined. Use keys from the configuration and put unknown values into the map's \
             values; or apply the objects that the value depends on first, with -target.",
        )
    };
    let mut diagnostic = Diagnostic::error(summary, detail).at(expression.span().clone());
    diagnostic.values = expression.value_notes(scope, Cause::Unknown);
    diagnostic
}
