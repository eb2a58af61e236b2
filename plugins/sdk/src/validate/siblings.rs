//! Validators for several attributes of the same object.

use super::{Reference, Subject, ValidationContext, Validator};
use crate::{Diagnostic, Diagnostics};

/// Rejects the attribute if one of these siblings is set.
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::conflicts_with(["content_base64"]);
/// ```
pub fn conflicts_with<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    sibling_validator(siblings.clone(), move |context, diagnostics| {
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
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::also_requires(["password"]);
/// ```
pub fn also_requires<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    sibling_validator(siblings.clone(), move |context, diagnostics| {
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
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::at_least_one_of(["days", "hours"]);
/// ```
pub fn at_least_one_of<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    sibling_validator(siblings.clone(), move |context, diagnostics| {
        let (set, unknown) = count(context, &siblings);
        if set == 0 && unknown == 0 {
            let detail =
                format!("At least one of these attributes must be configured: {}", list(context, &siblings));
            diagnostics.push(context.invalid_combination(detail));
        }
    })
}

/// Requires that exactly one of the attribute and these siblings is set.
///
/// ```
/// use wardian_sdk::validate;
///
/// let validator = validate::exactly_one_of(["content_base64", "source"]);
/// ```
pub fn exactly_one_of<T: Into<String>>(siblings: impl IntoIterator<Item = T>) -> Validator {
    let siblings = names(siblings);
    sibling_validator(siblings.clone(), move |context, diagnostics| {
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

fn sibling_validator(
    siblings: Vec<String>,
    run: impl Fn(&ValidationContext<'_>, &mut Diagnostics) + 'static,
) -> Validator {
    let references = siblings.into_iter().map(Reference::Sibling).collect();
    Validator::new(Subject::Anything, run).with_references(references)
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

/// Warns if a secret is stored in the state although the attribute `alternative`, which is
/// write-only, could be used. The value of a write-only attribute is never stored.
///
/// ```
/// use wardian_sdk::{Attribute, validate};
///
/// let password = Attribute::string("password")
///     .sensitive()
///     .validate(validate::prefer_write_only(["password_wo"]));
/// ```
pub fn prefer_write_only<T: Into<String>>(alternatives: impl IntoIterator<Item = T>) -> Validator {
    let alternatives = names(alternatives);
    sibling_validator(alternatives.clone(), move |context, diagnostics| {
        if context.value().is_null() || !context.write_only_allowed {
            return;
        }
        let detail = format!(
            "The value of {} is stored in the state. The write-only attribute {} is not stored: use it \
             instead if possible.",
            context.name(),
            alternatives.join(" or ")
        );
        let warning = Diagnostic::warning("Available Write-Only Attribute Alternative", detail);
        diagnostics.push(warning.at(context.path().clone()));
    })
}
