//! Validators of strings, numbers and collections.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};

use wardian_value::{Number, Type, Value, View};

use super::{Subject, Validator, checked};

pub(super) fn string<M: Display>(check: impl Fn(&str) -> Result<(), M> + 'static) -> Validator {
    checked(Subject::Strings, move |value| value.as_str().map_or(Ok(()), &check))
}

/// Requires a string that meets a condition. `requirement` describes the condition: `"must be
/// lower-case"`.
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::matches("must be lower-case", |text| text == text.to_lowercase());
/// ```
pub fn matches(requirement: &'static str, condition: impl Fn(&str) -> bool + 'static) -> Validator {
    string(move |text| if condition(text) { Ok(()) } else { Err(requirement) })
}

/// Requires that the number of characters of a string is in this range (`1..=63`).
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::length(1..=63);
/// ```
pub fn length(range: impl RangeBounds<usize>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    string(move |text| {
        in_range(text.chars().count(), range).map_err(|bounds| format!("string length must be {bounds}"))
    })
}

/// Requires a string that is one of the choices.
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::one_of(["tcp", "udp"]);
/// ```
pub fn one_of<T: Into<String>>(choices: impl IntoIterator<Item = T>) -> Validator {
    let choices: Vec<String> = choices.into_iter().map(Into::into).collect();
    string(move |text| {
        if choices.iter().any(|choice| choice == text) {
            return Ok(());
        }
        Err(format!("value must be one of: {choices:?}"))
    })
}

/// Requires a string that is one of the choices in upper or lower case. Only ASCII letters have
/// two cases.
///
/// ```
/// use wardian_sdk::validate;
///
/// let protocol = validate::one_of_ignore_case(["tcp", "udp"]);
/// ```
pub fn one_of_ignore_case<T: Into<String>>(choices: impl IntoIterator<Item = T>) -> Validator {
    let choices: Vec<String> = choices.into_iter().map(Into::into).collect();
    string(move |text| {
        if choices.iter().any(|choice| choice.eq_ignore_ascii_case(text)) {
            return Ok(());
        }
        Err(format!("value must be one of (in upper or lower case): {choices:?}"))
    })
}

/// Requires a number that is one of the choices.
///
/// ```
/// use wardian_sdk::validate;
///
/// let cores = validate::one_of_numbers([1, 2, 4]);
/// ```
pub fn one_of_numbers<T: Into<Number>>(choices: impl IntoIterator<Item = T>) -> Validator {
    let choices: Vec<Number> = choices.into_iter().map(Into::into).collect();
    number(move |number| {
        if choices.contains(number) {
            return Ok(());
        }
        Err(format!("value must be one of: {}", listed(&choices)))
    })
}

/// Requires a number that is not one of the choices.
///
/// ```
/// use wardian_sdk::validate;
///
/// let port = validate::none_of_numbers([22]);
/// ```
pub fn none_of_numbers<T: Into<Number>>(choices: impl IntoIterator<Item = T>) -> Validator {
    let choices: Vec<Number> = choices.into_iter().map(Into::into).collect();
    number(move |number| {
        if !choices.contains(number) {
            return Ok(());
        }
        Err(format!("value must be none of: {}", listed(&choices)))
    })
}

fn listed(choices: &[Number]) -> String {
    choices.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn number<M: Display>(check: impl Fn(&Number) -> Result<(), M> + 'static) -> Validator {
    checked(Subject::Numbers, move |value| value.as_number().map_or(Ok(()), &check))
}

/// Requires a string that is not one of the choices.
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::none_of(["default"]);
/// ```
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
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::integer();
/// ```
pub fn integer() -> Validator {
    number(|number| {
        if number.as_i64().is_none() && number.to_f64().fract() != 0.0 {
            return Err("must be a whole number");
        }
        Ok(())
    })
}

/// Requires an integer in a range (`1..=10`, `0..`).
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::range(1..=65535);
/// ```
pub fn range(range: impl RangeBounds<i64>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    number(move |number| {
        number.as_i64().map_or(Ok(()), |number| {
            in_range(number, range).map_err(|bounds| format!("value must be {bounds}"))
        })
    })
}

/// Requires a number, possibly with a fraction, in a range.
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::float_range(0.0..=1.0);
/// ```
pub fn float_range(range: impl RangeBounds<f64>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    number(move |number| in_range(number.to_f64(), range).map_err(|bounds| format!("value must be {bounds}")))
}

/// Requires that the number of elements of a collection is in this range (`1..`).
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::size(1..);
/// ```
pub fn size(range: impl RangeBounds<usize>) -> Validator {
    let range = (range.start_bound().cloned(), range.end_bound().cloned());
    Validator::new(Subject::Collections, move |context, diagnostics| {
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
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::elements(validate::length(1..));
/// ```
pub fn elements(validator: Validator) -> Validator {
    let subject = Subject::Elements(Box::new(validator.subject.clone()));
    let problem = validator.problem.clone();
    let each = Validator::new(subject, move |context, diagnostics| match context.value.view() {
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
    });
    Validator { problem, ..each }
}

/// Applies a validator for strings to each key of a map.
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::keys(validate::regex("^[a-z]+$"));
/// ```
pub fn keys(validator: Validator) -> Validator {
    let problem = validator.definition_error(&Type::String);
    let each = Validator::new(Subject::Maps, move |context, diagnostics| {
        if let View::Map(elements) = context.value.view() {
            for key in elements.keys() {
                let text = Value::string(key.clone());
                validator.run(&context.with(&context.path.key(key.clone()), &text), diagnostics);
            }
        }
    });
    Validator { problem, ..each }
}

/// Requires that the elements of a list are unique.
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::unique();
/// ```
pub fn unique() -> Validator {
    checked(Subject::Lists, |value| {
        // The elements of a set are unique, so a repeated element makes the set smaller.
        let elements = value.as_elements().unwrap_or_default();
        let set =
            Value::set(value.ty().element().cloned().unwrap_or(Type::Dynamic), elements.iter().cloned());
        let repeated = set.as_elements().is_some_and(|unique| unique.len() < elements.len());
        if repeated { Err("must not contain equal elements") } else { Ok(()) }
    })
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
