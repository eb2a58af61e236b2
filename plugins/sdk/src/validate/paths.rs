//! Validators for attributes at any level of a configuration, for [`Schema::validate`].
//!
//! A path is written with dots: `"rule.port"` is the attribute `port` of the attribute or block
//! `rule`. If `rule` is a collection, the path refers to the attributes of all its elements, and it
//! is set if one of them is set.
//!
//! [`Schema::validate`]: crate::Schema::validate

use wardian_value::{Path, Value, View};

use super::{Reference, Subject, ValidationContext, Validator};
use crate::{Diagnostic, Diagnostics};

/// Requires that all or none of the attributes are set.
///
/// ```
/// use wardian_sdk::{Schema, validate};
///
/// let schema = Schema::new().validate(validate::paths::required_together(["user", "auth.password"]));
/// # drop(schema);
/// ```
pub fn required_together<T: Into<String>>(paths: impl IntoIterator<Item = T>) -> Validator {
    rule(paths, |found, names, diagnostics| {
        if found.iter().any(|one| one.state == Some(true)) {
            for missing in found.iter().filter(|one| one.state == Some(false)) {
                let detail = format!(
                    "These attributes must be configured together: [{names}]. {:?} is missing.",
                    missing.name
                );
                diagnostics.push(error(detail, first_set(found)));
            }
        }
    })
}

/// Rejects configurations that set more than one of the attributes.
///
/// ```
/// use wardian_sdk::{Schema, validate};
///
/// let schema = Schema::new().validate(validate::paths::conflicting(["token", "auth.password"]));
/// # drop(schema);
/// ```
pub fn conflicting<T: Into<String>>(paths: impl IntoIterator<Item = T>) -> Validator {
    rule(paths, |found, names, diagnostics| {
        if found.iter().filter(|one| one.state == Some(true)).count() > 1 {
            let detail = format!("These attributes cannot be configured together: [{names}]");
            diagnostics.push(error(detail, first_set(found)));
        }
    })
}

/// Requires that exactly one of the attributes is set.
///
/// ```
/// use wardian_sdk::{Schema, validate};
///
/// let schema = Schema::new().validate(validate::paths::exactly_one_of(["token", "auth.password"]));
/// # drop(schema);
/// ```
pub fn exactly_one_of<T: Into<String>>(paths: impl IntoIterator<Item = T>) -> Validator {
    rule(paths, |found, names, diagnostics| {
        let set = found.iter().filter(|one| one.state == Some(true)).count();
        let is_unknown = found.iter().any(|one| one.state.is_none());
        if set > 1 || (set == 0 && !is_unknown) {
            let detail = format!("Exactly one of these attributes must be configured: [{names}]");
            diagnostics.push(error(detail, first_set(found)));
        }
    })
}

/// Requires that at least one of the attributes is set.
///
/// ```
/// use wardian_sdk::{Schema, validate};
///
/// let schema = Schema::new().validate(validate::paths::at_least_one_of(["token", "auth.password"]));
/// # drop(schema);
/// ```
pub fn at_least_one_of<T: Into<String>>(paths: impl IntoIterator<Item = T>) -> Validator {
    rule(paths, |found, names, diagnostics| {
        if found.iter().all(|one| one.state == Some(false)) {
            let detail = format!("At least one of these attributes must be configured: [{names}]");
            diagnostics.push(error(detail, None));
        }
    })
}

/// Warns if the first attribute is set, whose value is stored in the state, although the second
/// attribute, which is write-only, could be used.
///
/// ```
/// use wardian_sdk::{Schema, validate};
///
/// let schema = Schema::new().validate(validate::paths::prefer_write_only(["auth.key", "auth.key_wo"]));
/// # drop(schema);
/// ```
pub fn prefer_write_only<T: Into<String>>(paths: impl IntoIterator<Item = T>) -> Validator {
    let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
    let references = paths.iter().cloned().map(Reference::Root).collect();
    let run = move |context: &ValidationContext<'_>, diagnostics: &mut Diagnostics| {
        let [stored, alternative] = paths.as_slice() else { return };
        let found = Found::new(stored, context.root());
        if found.state == Some(true) && context.write_only_allowed {
            let detail = format!(
                "The value of {stored} is stored in the state. The write-only attribute {alternative} is not \
                 stored: use it instead if possible."
            );
            let warning = Diagnostic::warning("Available Write-Only Attribute Alternative", detail);
            diagnostics.push(warning.at(found.path));
        }
    };
    Validator::new(Subject::Anything, run).with_references(references)
}

fn rule<T: Into<String>>(
    paths: impl IntoIterator<Item = T>,
    check: impl Fn(&[Found<'_>], &str, &mut Diagnostics) + 'static,
) -> Validator {
    let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
    let references = paths.iter().cloned().map(Reference::Root).collect();
    let run = move |context: &ValidationContext<'_>, diagnostics: &mut Diagnostics| {
        let found: Vec<Found<'_>> = paths.iter().map(|path| Found::new(path, context.root())).collect();
        check(&found, &paths.join(","), diagnostics);
    };
    Validator::new(Subject::Anything, run).with_references(references)
}

fn error(detail: String, path: Option<Path>) -> Diagnostic {
    let error = Diagnostic::error("Invalid Attribute Combination", detail);
    match path {
        Some(path) => error.at(path),
        None => error,
    }
}

fn first_set(found: &[Found<'_>]) -> Option<Path> {
    found.iter().find(|one| one.state == Some(true)).map(|one| one.path.clone())
}

/// The values at a path.
struct Found<'a> {
    name: &'a str,
    /// Whether one of the values is set; `None` if this is unknown.
    state: Option<bool>,
    /// The path of the first value that is set. It ends at the outermost set.
    path: Path,
}

impl<'a> Found<'a> {
    fn new(name: &'a str, root: &Value) -> Self {
        let steps: Vec<&str> = name.split('.').collect();
        let mut found = Self { name, state: Some(false), path: Path::root() };
        found.walk(root, &steps, &mut Path::root(), false);
        found
    }

    fn walk(&mut self, value: &Value, steps: &[&str], path: &mut Path, in_set: bool) {
        if self.state == Some(true) {
            return;
        }
        match (value.view(), steps) {
            (View::Null, _) => {}
            (View::Unknown, _) => self.state = None,
            (View::List(elements) | View::Tuple(elements), [_, ..]) => {
                for (index, element) in (0_u64..).zip(elements) {
                    let child = if in_set { path.clone() } else { path.index(index) };
                    self.walk(element, steps, &mut child.clone(), in_set);
                }
            }
            (View::Set(elements), [_, ..]) => {
                for element in elements {
                    self.walk(element, steps, path, true);
                }
            }
            (View::Map(elements), [_, ..]) => {
                for (key, element) in elements {
                    let child = if in_set { path.clone() } else { path.key(key.clone()) };
                    self.walk(element, steps, &mut child.clone(), in_set);
                }
            }
            (View::Object(_), [name, rest @ ..]) => {
                if let Some(inner) = value.get(name) {
                    let child = if in_set { path.clone() } else { path.attribute(*name) };
                    self.walk(inner, rest, &mut child.clone(), in_set);
                }
            }
            // Collections of blocks are empty if no block is configured.
            (View::List(elements) | View::Set(elements) | View::Tuple(elements), [])
                if elements.is_empty() => {}
            (_, []) => {
                self.state = Some(true);
                self.path = path.clone();
            }
            (_, [_, ..]) => {}
        }
    }
}
