//! Validators of configurations, for [`crate::Attribute::validate`] and [`crate::Block::validate`].
//!
//! A validator of a value is called only with values that are set and known. Validators for several
//! attributes refer to siblings, which are attributes of the same object.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};

use wardian_value::{Path, Value, View};

use crate::{Diagnostic, Diagnostics};

/// A validator. The functions of this module create validators.
pub struct Validator(Run);

type Run = Box<dyn Fn(&ValidationContext<'_>, &mut Diagnostics)>;

impl Validator {
    pub(crate) fn run(&self, context: &ValidationContext<'_>, diagnostics: &mut Diagnostics) {
        (self.0)(context, diagnostics);
    }
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Validator")
    }
}

/// The value that a validator checks, and the configuration that contains it.
pub struct ValidationContext<'a> {
    pub(crate) path: &'a Path,
    pub(crate) value: &'a Value,
    pub(crate) parent: &'a Value,
    pub(crate) root: &'a Value,
}

impl ValidationContext<'_> {
    /// Returns the path of the value that is validated.
    pub fn path(&self) -> &Path {
        self.path
    }

    /// Returns the value, which may be null or unknown.
    pub fn value(&self) -> &Value {
        self.value
    }

    /// Returns an attribute of the same object.
    pub fn sibling(&self, name: &str) -> Option<&Value> {
        self.parent.get(name)
    }

    /// Returns the complete configuration.
    pub fn root(&self) -> &Value {
        self.root
    }

    /// Returns the path as it is written in a configuration.
    fn name(&self) -> String {
        let path = self.path.to_string();
        path.strip_prefix('.').unwrap_or(&path).to_owned()
    }

    /// Returns the error for a value that does not meet a requirement, such as "must be between 1
    /// and 5".
    pub fn invalid_value(&self, requirement: impl Display) -> Diagnostic {
        let got = match self.value.view() {
            View::String(text) => format!("{:?}", &**text),
            _ => format!("{:?}", self.value),
        };
        let detail = format!("Attribute {} {requirement}, got: {got}", self.name());
        Diagnostic::error("Invalid Attribute Value", detail).at(self.path.clone())
    }

    /// Returns the error for attributes that contradict each other.
    pub fn invalid_combination(&self, detail: impl Into<String>) -> Diagnostic {
        Diagnostic::error("Invalid Attribute Combination", detail).at(self.path.clone())
    }

    fn with<'a>(&'a self, path: &'a Path, value: &'a Value) -> ValidationContext<'a> {
        ValidationContext { path, value, parent: self.parent, root: self.root }
    }
}

/// Checks a value with a function, if the value is set and wholly known. The function returns the
/// requirement as an error: `"must start with a letter"`.
pub fn custom<M: Display>(check: impl Fn(&Value) -> Result<(), M> + 'static) -> Validator {
    custom_with_context(move |context, diagnostics| {
        if context.value.is_null() || !context.value.is_wholly_known() {
            return;
        }
        if let Err(requirement) = check(context.value) {
            diagnostics.push(context.invalid_value(requirement));
        }
    })
}

/// Checks any value, including null and unknown values, with a function that receives its context.
pub fn custom_with_context(check: impl Fn(&ValidationContext<'_>, &mut Diagnostics) + 'static) -> Validator {
    Validator(Box::new(check))
}

fn string<M: Display>(check: impl Fn(&str) -> Result<(), M> + 'static) -> Validator {
    custom(move |value| value.as_str().map_or(Ok(()), &check))
}

/// Requires a string that meets a condition. `requirement` describes the condition: `"must be
/// lower-case"`.
pub fn matches(requirement: &'static str, condition: impl Fn(&str) -> bool + 'static) -> Validator {
    string(move |text| if condition(text) { Ok(()) } else { Err(requirement) })
}

/// Requires that the number of characters of a string is in this range (`1..=63`).
pub fn length(range: impl RangeBounds<usize>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    string(move |text| {
        in_range(text.chars().count(), range).map_err(|bounds| format!("string length must be {bounds}"))
    })
}

/// Requires a string that is one of the choices.
pub fn one_of<T: Into<String>>(choices: impl IntoIterator<Item = T>) -> Validator {
    let choices: Vec<String> = choices.into_iter().map(Into::into).collect();
    string(move |text| {
        if choices.iter().any(|choice| choice == text) {
            return Ok(());
        }
        Err(format!("value must be one of: {choices:?}"))
    })
}

/// Requires a string that is not one of the choices.
pub fn none_of<T: Into<String>>(choices: impl IntoIterator<Item = T>) -> Validator {
    let choices: Vec<String> = choices.into_iter().map(Into::into).collect();
    string(move |text| {
        if choices.iter().all(|choice| choice != text) {
            return Ok(());
        }
        Err(format!("value must be none of: {choices:?}"))
    })
}

/// Requires an integer.
pub fn integer() -> Validator {
    custom(|value| match value.as_number() {
        Some(number) if number.as_i64().is_none() && number.to_f64().fract() != 0.0 => {
            Err("must be a whole number")
        }
        _ => Ok(()),
    })
}

/// Requires an integer in a range (`1..=10`, `0..`).
pub fn range(range: impl RangeBounds<i64>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    custom(move |value| {
        let number = value.as_number().and_then(wardian_value::Number::as_i64);
        number.map_or(Ok(()), |number| {
            in_range(number, range).map_err(|bounds| format!("value must be {bounds}"))
        })
    })
}

/// Requires a number, possibly with a fraction, in a range.
pub fn float_range(range: impl RangeBounds<f64>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    custom(move |value| {
        value.as_number().map_or(Ok(()), |number| {
            in_range(number.to_f64(), range).map_err(|bounds| format!("value must be {bounds}"))
        })
    })
}

/// Requires that the number of elements of a collection is in this range (`1..`).
pub fn size(range: impl RangeBounds<usize>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    custom_with_context(move |context, diagnostics| {
        let size = match context.value.view() {
            View::List(elements) | View::Tuple(elements) => elements.len(),
            // Unknown elements of a set may turn out to be equal to other elements.
            View::Set(elements) if context.value.is_wholly_known() => elements.len(),
            View::Map(elements) | View::Object(elements) => elements.len(),
            _ => return,
        };
        if let Err(bounds) = in_range(size, range) {
            diagnostics.push(context.invalid_value(format!("must have {bounds} elements")));
        }
    })
}

/// Applies a validator to each element of a list, set or map.
pub fn elements(validator: Validator) -> Validator {
    custom_with_context(move |context, diagnostics| match context.value.view() {
        View::List(elements) | View::Tuple(elements) => {
            for (index, element) in (0u64..).zip(elements) {
                validator.run(&context.with(&context.path.index(index), element), diagnostics);
            }
        }
        View::Set(elements) => {
            for element in elements {
                validator.run(&context.with(context.path, element), diagnostics);
            }
        }
        View::Map(elements) => {
            for (key, element) in elements {
                validator.run(&context.with(&context.path.key(key.clone()), element), diagnostics);
            }
        }
        _ => {}
    })
}

/// Applies a validator for strings to each key of a map.
pub fn keys(validator: Validator) -> Validator {
    custom_with_context(move |context, diagnostics| {
        if let View::Map(elements) = context.value.view() {
            for key in elements.keys() {
                let text = Value::string(key.clone());
                validator.run(&context.with(&context.path.key(key.clone()), &text), diagnostics);
            }
        }
    })
}

/// Requires that the elements of a list are unique.
pub fn unique() -> Validator {
    custom(|value| {
        let elements = value.as_elements().unwrap_or_default();
        let repeated = elements.iter().enumerate().any(|(index, one)| elements[..index].contains(one));
        if repeated { Err("must not contain equal elements") } else { Ok(()) }
    })
}

/// Requires that at least one of the validators succeeds.
pub fn any_of(validators: impl IntoIterator<Item = Validator>) -> Validator {
    let validators: Vec<Validator> = validators.into_iter().collect();
    custom_with_context(move |context, diagnostics| {
        let mut errors = Diagnostics::new();
        for validator in &validators {
            let mut found = Diagnostics::new();
            validator.run(context, &mut found);
            if !found.has_errors() {
                return;
            }
            errors.append(found);
        }
        diagnostics.append(errors);
    })
}

/// Rejects the attribute if one of these siblings is set.
pub fn conflicts_with<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    custom_with_context(move |context, diagnostics| {
        if context.value.is_null() {
            return;
        }
        for sibling in siblings.iter().filter(|name| is_set(context, name) == Some(true)) {
            let detail =
                format!("Attribute {sibling:?} cannot be specified together with {}", context.name());
            diagnostics.push(context.invalid_combination(detail));
        }
    })
}

/// Requires that these siblings are set if the attribute is set.
pub fn also_requires<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    custom_with_context(move |context, diagnostics| {
        if context.value.is_null() {
            return;
        }
        for sibling in siblings.iter().filter(|name| is_set(context, name) == Some(false)) {
            let detail =
                format!("Attribute {sibling:?} must be specified when {} is specified", context.name());
            diagnostics.push(context.invalid_combination(detail));
        }
    })
}

/// Requires that the attribute or at least one of these siblings is set.
pub fn at_least_one_of<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    custom_with_context(move |context, diagnostics| {
        let (set, unknown) = count(context, &siblings);
        if set == 0 && unknown == 0 {
            let detail =
                format!("At least one of these attributes must be configured: {}", list(context, &siblings));
            diagnostics.push(context.invalid_combination(detail));
        }
    })
}

/// Requires that exactly one of the attribute and these siblings is set.
pub fn exactly_one_of<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    custom_with_context(move |context, diagnostics| {
        let (set, unknown) = count(context, &siblings);
        if set == 0 && unknown == 0 {
            let detail = format!(
                "No attribute specified when one (and only one) of {} is required",
                list(context, &siblings)
            );
            diagnostics.push(context.invalid_combination(detail));
        } else if set > 1 {
            let detail = format!(
                "{set} attributes specified when one (and only one) of {} is required",
                list(context, &siblings)
            );
            diagnostics.push(context.invalid_combination(detail));
        }
    })
}

fn names<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Vec<String> {
    siblings.into_iter().map(Into::into).collect()
}

/// Returns whether a sibling is set; `None` if this is unknown.
fn is_set(context: &ValidationContext<'_>, sibling: &str) -> Option<bool> {
    match context.sibling(sibling) {
        None => Some(false),
        Some(value) if !value.is_known() => None,
        Some(value) => Some(!value.is_null()),
    }
}

/// Counts how many attributes are set, and how many are unknown, among this attribute and its siblings.
fn count(context: &ValidationContext<'_>, siblings: &[String]) -> (usize, usize) {
    let own = if context.value.is_known() { Some(!context.value.is_null()) } else { None };
    let all = siblings.iter().map(|name| is_set(context, name)).chain([own]);
    all.fold((0, 0), |(set, unknown), one| match one {
        Some(true) => (set + 1, unknown),
        Some(false) => (set, unknown),
        None => (set, unknown + 1),
    })
}

fn list(context: &ValidationContext<'_>, siblings: &[String]) -> String {
    let mut all = vec![context.name()];
    all.extend(siblings.iter().cloned());
    format!("[{}]", all.join(","))
}

fn in_range<T: PartialOrd + Copy + Display>(value: T, range: (Bound<T>, Bound<T>)) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(match range {
        (Bound::Included(low), Bound::Included(high)) => format!("between {low} and {high}"),
        (low, high) => {
            let low = match low {
                Bound::Included(low) => format!("at least {low}"),
                Bound::Excluded(low) => format!("greater than {low}"),
                Bound::Unbounded => String::new(),
            };
            let high = match high {
                Bound::Included(high) => format!("at most {high}"),
                Bound::Excluded(high) => format!("less than {high}"),
                Bound::Unbounded => String::new(),
            };
            let and = if low.is_empty() || high.is_empty() { "" } else { " and " };
            format!("{low}{and}{high}")
        }
    })
}
