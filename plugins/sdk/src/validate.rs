//! Checks of what a configuration says, for [`crate::Attribute::validate`] and
//! [`crate::Block::validate`].
//!
//! A check of a value sees it only where it is set and known. Checks that relate
//! attributes name siblings: attributes of the same object.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};

use wardian_value::{Path, Value, View};

use crate::{Diagnostic, Diagnostics};

/// A check. Made by the functions of this module.
pub struct Validator(Run);

type Run = Box<dyn Fn(&Check<'_>, &mut Diagnostics)>;

impl Validator {
    pub(crate) fn run(&self, check: &Check<'_>, diagnostics: &mut Diagnostics) {
        (self.0)(check, diagnostics);
    }
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Validator")
    }
}

/// What a check looks at.
pub struct Check<'a> {
    pub(crate) path: &'a Path,
    pub(crate) value: &'a Value,
    pub(crate) parent: &'a Value,
    pub(crate) root: &'a Value,
}

impl Check<'_> {
    /// Where the value is.
    pub fn path(&self) -> &Path {
        self.path
    }

    /// The value, which may be null or unknown.
    pub fn value(&self) -> &Value {
        self.value
    }

    /// An attribute of the same object.
    pub fn sibling(&self, name: &str) -> Option<&Value> {
        self.parent.get(name)
    }

    /// The whole configuration.
    pub fn root(&self) -> &Value {
        self.root
    }

    /// The name of what is checked, as it is written in a configuration.
    fn name(&self) -> String {
        let path = self.path.to_string();
        path.strip_prefix('.').unwrap_or(&path).to_owned()
    }

    /// That the value is not as it has to be: "must be between 1 and 5".
    pub fn invalid_value(&self, requirement: impl Display) -> Diagnostic {
        let got = match self.value.view() {
            View::String(text) => format!("{:?}", &**text),
            _ => format!("{:?}", self.value),
        };
        let detail = format!("Attribute {} {requirement}, got: {got}", self.name());
        Diagnostic::error("Invalid Attribute Value", detail).at(self.path.clone())
    }

    /// That attributes contradict each other.
    pub fn invalid_combination(&self, detail: impl Into<String>) -> Diagnostic {
        Diagnostic::error("Invalid Attribute Combination", detail).at(self.path.clone())
    }

    fn with<'a>(&'a self, path: &'a Path, value: &'a Value) -> Check<'a> {
        Check { path, value, parent: self.parent, root: self.root }
    }
}

/// A check of a value that is set and wholly known. The error says what it must
/// be: `"must start with a letter"`.
pub fn custom<M: Display>(check: impl Fn(&Value) -> Result<(), M> + 'static) -> Validator {
    any(move |context, diagnostics| {
        if context.value.is_null() || !context.value.is_wholly_known() {
            return;
        }
        if let Err(requirement) = check(context.value) {
            diagnostics.push(context.invalid_value(requirement));
        }
    })
}

/// A check that sees everything, null and unknown values too.
pub fn any(check: impl Fn(&Check<'_>, &mut Diagnostics) + 'static) -> Validator {
    Validator(Box::new(check))
}

fn string<M: Display>(check: impl Fn(&str) -> Result<(), M> + 'static) -> Validator {
    custom(move |value| value.as_str().map_or(Ok(()), &check))
}

/// A string, by a condition with its description: `"must be lower-case"`.
pub fn matches(requirement: &'static str, condition: impl Fn(&str) -> bool + 'static) -> Validator {
    string(move |text| if condition(text) { Ok(()) } else { Err(requirement) })
}

/// A string of so many characters (`1..=63`).
pub fn length(range: impl RangeBounds<usize>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    string(move |text| {
        in_range(text.chars().count(), range).map_err(|bounds| format!("string length must be {bounds}"))
    })
}

/// A string that is one of these.
pub fn one_of<T: Into<String>>(choices: impl IntoIterator<Item = T>) -> Validator {
    let choices: Vec<String> = choices.into_iter().map(Into::into).collect();
    string(move |text| {
        if choices.iter().any(|choice| choice == text) {
            return Ok(());
        }
        Err(format!("value must be one of: {choices:?}"))
    })
}

/// A string that is none of these.
pub fn none_of<T: Into<String>>(choices: impl IntoIterator<Item = T>) -> Validator {
    let choices: Vec<String> = choices.into_iter().map(Into::into).collect();
    string(move |text| {
        if choices.iter().all(|choice| choice != text) {
            return Ok(());
        }
        Err(format!("value must be none of: {choices:?}"))
    })
}

/// A whole number.
pub fn whole() -> Validator {
    custom(|value| match value.as_number() {
        Some(number) if number.as_i64().is_none() && number.to_f64().fract() != 0.0 => {
            Err("must be a whole number")
        }
        _ => Ok(()),
    })
}

/// A whole number in a range (`1..=10`, `0..`).
pub fn range(range: impl RangeBounds<i64>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    custom(move |value| {
        let number = value.as_number().and_then(wardian_value::Number::as_i64);
        number.map_or(Ok(()), |number| {
            in_range(number, range).map_err(|bounds| format!("value must be {bounds}"))
        })
    })
}

/// A number, fractions allowed, in a range.
pub fn float_range(range: impl RangeBounds<f64>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    custom(move |value| {
        value.as_number().map_or(Ok(()), |number| {
            in_range(number.to_f64(), range).map_err(|bounds| format!("value must be {bounds}"))
        })
    })
}

/// A collection of so many elements (`1..`).
pub fn size(range: impl RangeBounds<usize>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    any(move |check, diagnostics| {
        let size = match check.value.view() {
            View::List(elements) | View::Tuple(elements) => elements.len(),
            // Unknown elements of a set may turn out to be equal.
            View::Set(elements) if check.value.is_wholly_known() => elements.len(),
            View::Map(elements) | View::Object(elements) => elements.len(),
            _ => return,
        };
        if let Err(bounds) = in_range(size, range) {
            diagnostics.push(check.invalid_value(format!("must have {bounds} elements")));
        }
    })
}

/// Each element of a list, set or map passes a check.
pub fn elements(validator: Validator) -> Validator {
    any(move |check, diagnostics| match check.value.view() {
        View::List(elements) | View::Tuple(elements) => {
            for (index, element) in (0u64..).zip(elements) {
                validator.run(&check.with(&check.path.index(index), element), diagnostics);
            }
        }
        View::Set(elements) => {
            for element in elements {
                validator.run(&check.with(check.path, element), diagnostics);
            }
        }
        View::Map(elements) => {
            for (key, element) in elements {
                validator.run(&check.with(&check.path.key(key.clone()), element), diagnostics);
            }
        }
        _ => {}
    })
}

/// Each key of a map passes a check of strings.
pub fn keys(validator: Validator) -> Validator {
    any(move |check, diagnostics| {
        if let View::Map(elements) = check.value.view() {
            for key in elements.keys() {
                let text = Value::string(key.clone());
                validator.run(&check.with(&check.path.key(key.clone()), &text), diagnostics);
            }
        }
    })
}

/// Elements of a list are unique.
pub fn unique() -> Validator {
    custom(|value| {
        let elements = value.as_elements().unwrap_or_default();
        let repeated = elements.iter().enumerate().any(|(index, one)| elements[..index].contains(one));
        if repeated { Err("must not have the same element twice") } else { Ok(()) }
    })
}

/// At least one of the checks passes.
pub fn either(validators: impl IntoIterator<Item = Validator>) -> Validator {
    let validators: Vec<Validator> = validators.into_iter().collect();
    any(move |check, diagnostics| {
        let mut errors = Diagnostics::new();
        for validator in &validators {
            let mut found = Diagnostics::new();
            validator.run(check, &mut found);
            if !found.has_errors() {
                return;
            }
            errors.append(found);
        }
        diagnostics.append(errors);
    })
}

/// Not together with any of these siblings.
pub fn conflicts_with<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    any(move |check, diagnostics| {
        if check.value.is_null() {
            return;
        }
        for sibling in siblings.iter().filter(|name| is_set(check, name) == Some(true)) {
            let detail = format!("Attribute {sibling:?} cannot be specified together with {}", check.name());
            diagnostics.push(check.invalid_combination(detail));
        }
    })
}

/// Only together with all of these siblings.
pub fn requires<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    any(move |check, diagnostics| {
        if check.value.is_null() {
            return;
        }
        for sibling in siblings.iter().filter(|name| is_set(check, name) == Some(false)) {
            let detail =
                format!("Attribute {sibling:?} must be specified when {} is specified", check.name());
            diagnostics.push(check.invalid_combination(detail));
        }
    })
}

/// This one or at least one of these siblings is set.
pub fn at_least_one_of<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    any(move |check, diagnostics| {
        let (set, unknown) = count(check, &siblings);
        if set == 0 && unknown == 0 {
            let detail =
                format!("At least one of these attributes must be configured: {}", list(check, &siblings));
            diagnostics.push(check.invalid_combination(detail));
        }
    })
}

/// Exactly one of this one and these siblings is set.
pub fn exactly_one_of<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    any(move |check, diagnostics| {
        let (set, unknown) = count(check, &siblings);
        if set == 0 && unknown == 0 {
            let detail = format!(
                "No attribute specified when one (and only one) of {} is required",
                list(check, &siblings)
            );
            diagnostics.push(check.invalid_combination(detail));
        } else if set > 1 {
            let detail = format!(
                "{set} attributes specified when one (and only one) of {} is required",
                list(check, &siblings)
            );
            diagnostics.push(check.invalid_combination(detail));
        }
    })
}

fn names<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Vec<String> {
    siblings.into_iter().map(Into::into).collect()
}

/// Whether a sibling is set; `None` where that is not known.
fn is_set(check: &Check<'_>, sibling: &str) -> Option<bool> {
    match check.sibling(sibling) {
        None => Some(false),
        Some(value) if !value.is_known() => None,
        Some(value) => Some(!value.is_null()),
    }
}

/// How many of this one and its siblings are set, and of how many that is unknown.
fn count(check: &Check<'_>, siblings: &[String]) -> (usize, usize) {
    let own = if check.value.is_known() { Some(!check.value.is_null()) } else { None };
    let all = siblings.iter().map(|name| is_set(check, name)).chain([own]);
    all.fold((0, 0), |(set, unknown), one| match one {
        Some(true) => (set + 1, unknown),
        Some(false) => (set, unknown),
        None => (set, unknown + 1),
    })
}

fn list(check: &Check<'_>, siblings: &[String]) -> String {
    let mut all = vec![check.name()];
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
