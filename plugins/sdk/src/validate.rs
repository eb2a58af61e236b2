//! Validators of configurations, for [`crate::Attribute::validate`] and [`crate::Block::validate`].
//!
//! A validator of a value is called only with values that are set and known. Validators for several
//! attributes refer to siblings, which are attributes of the same object.

mod formats;
pub mod paths;
mod siblings;
mod values;

use std::fmt::Display;

use serde::de::DeserializeOwned;
use wardian_value::{Path, Type, Value, View};

use crate::model::{Unknowns, from_value};
use crate::{Diagnostic, Diagnostics};

pub use formats::{
    base64, cidr, duration, format, http_url, ip, json, regex, regex_with_requirement, time, url, uuid,
};
pub use siblings::{also_requires, at_least_one_of, conflicts_with, exactly_one_of, prefer_write_only};
pub use values::{
    elements, float_range, integer, keys, length, matches, none_of, none_of_numbers, one_of,
    one_of_ignore_case, one_of_numbers, range, size, unique,
};

/// A validator. The functions of this module create validators.
///
/// ```
/// use wardian_sdk::{Attribute, validate};
///
/// let name = Attribute::string("name").required().validate(validate::length(1..=63));
/// ```
pub struct Validator {
    run: Run,
    subject: Subject,
    references: Vec<Reference>,
    problem: Option<String>,
}

type Run = Box<dyn Fn(&ValidationContext<'_>, &mut Diagnostics)>;

/// The values that a validator checks. It accepts all other values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Anything,
    Strings,
    Numbers,
    Lists,
    Maps,
    Collections,
    Elements(Box<Self>),
    All(Vec<Self>),
}

/// An attribute to which a validator refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// An attribute of the same object.
    Sibling(String),
    /// A path from the root of the configuration.
    Root(String),
}

impl Validator {
    fn new(subject: Subject, run: impl Fn(&ValidationContext<'_>, &mut Diagnostics) + 'static) -> Self {
        Self { run: Box::new(run), subject, references: Vec::new(), problem: None }
    }

    fn with_references(mut self, references: Vec<Reference>) -> Self {
        self.references = references;
        self
    }

    pub(crate) fn run(&self, context: &ValidationContext<'_>, diagnostics: &mut Diagnostics) {
        (self.run)(context, diagnostics);
    }

    /// Returns the attributes to which the validator refers.
    pub(crate) fn references(&self) -> &[Reference] {
        &self.references
    }

    /// Returns the reason why the validator has no effect on values of a type.
    pub(crate) fn definition_error(&self, ty: &Type) -> Option<String> {
        self.problem.clone().or_else(|| self.subject.mismatch(ty))
    }
}

impl Subject {
    fn mismatch(&self, ty: &Type) -> Option<String> {
        let is_collection = matches!(ty, Type::List(_) | Type::Set(_) | Type::Map(_) | Type::Tuple(_));
        let (fits, wanted) = match self {
            Self::Anything => return None,
            Self::Strings => (*ty == Type::String, "strings"),
            Self::Numbers => (*ty == Type::Number, "numbers"),
            Self::Lists => (matches!(ty, Type::List(_) | Type::Tuple(_)), "lists"),
            Self::Maps => (matches!(ty, Type::Map(_)), "maps"),
            Self::Collections => (is_collection, "collections"),
            Self::Elements(inside) if is_collection => {
                return ty.element().and_then(|ty| inside.mismatch(ty));
            }
            Self::Elements(_) => (false, "the elements of collections"),
            Self::All(all) => return all.iter().find_map(|one| one.mismatch(ty)),
        };
        (!fits && *ty != Type::Dynamic).then(|| {
            format!("the validator is for {wanted}, so it accepts every value of type {}", ty.friendly_name())
        })
    }
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Validator")
    }
}

/// The value that a validator checks, and the configuration that contains it.
///
/// ```
/// use wardian_sdk::validate::{self, Validator};
///
/// fn below_limit() -> Validator {
///     validate::custom_with_context(|context, diagnostics| {
///         let limit = context.sibling("limit").and_then(|limit| limit.as_number());
///         if let (Some(size), Some(limit)) = (context.value().as_number(), limit)
///             && size > limit
///         {
///             diagnostics.push(context.invalid_value("must not be greater than limit"));
///         }
///     })
/// }
/// ```
pub struct ValidationContext<'a> {
    pub(crate) path: &'a Path,
    pub(crate) value: &'a Value,
    pub(crate) parent: &'a Value,
    pub(crate) root: &'a Value,
    pub(crate) write_only_allowed: bool,
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
        ValidationContext { path, value, ..*self }
    }
}

/// Checks a value with a function, if the value is set and wholly known. The function returns the
/// requirement as an error: `"must start with a letter"`.
///
/// ```
/// use wardian_sdk::validate;
///
/// let not_true = validate::custom(|value| match value.as_bool() {
///     Some(true) => Err("must be false"),
///     _ => Ok(()),
/// });
/// ```
pub fn custom<M: Display>(check: impl Fn(&Value) -> Result<(), M> + 'static) -> Validator {
    checked(Subject::Anything, check)
}

fn checked<M: Display>(subject: Subject, check: impl Fn(&Value) -> Result<(), M> + 'static) -> Validator {
    Validator::new(subject, move |context, diagnostics| {
        if context.value.is_null() || !context.value.is_wholly_known() {
            return;
        }
        if let Err(requirement) = check(context.value) {
            diagnostics.push(context.invalid_value(requirement));
        }
    })
}

/// Checks a value with a function that receives the value as a Rust type, if the value is set and
/// wholly known.
///
/// ```
/// use wardian_sdk::validate;
///
/// let even = validate::typed(|port: &i64| if port % 2 == 0 { Ok(()) } else { Err("must be even") });
/// ```
pub fn typed<T: DeserializeOwned, M: Display>(check: impl Fn(&T) -> Result<(), M> + 'static) -> Validator {
    checked(Subject::Anything, move |value| match from_value::<T>(value, Unknowns::Reject) {
        Ok(value) => check(&value).map_err(|requirement| requirement.to_string()),
        Err(error) => Err(format!("has an invalid value ({error})")),
    })
}

/// Checks any value, including null and unknown values, with a function that receives its context.
///
/// ```
/// use wardian_sdk::validate;
///
/// let not_default = validate::custom_with_context(|context, diagnostics| {
///     if context.value().as_str() == Some("default") {
///         diagnostics.push(context.invalid_value("must not be the default network"));
///     }
/// });
/// ```
pub fn custom_with_context(check: impl Fn(&ValidationContext<'_>, &mut Diagnostics) + 'static) -> Validator {
    Validator::new(Subject::Anything, check)
}

/// Requires that all of the validators succeed.
///
/// ```
/// use wardian_sdk::validate;
///
/// let name = validate::all_of([validate::length(1..=63), validate::none_of(["default"])]);
/// ```
pub fn all_of(validators: impl IntoIterator<Item = Validator>) -> Validator {
    let validators: Vec<Validator> = validators.into_iter().collect();
    combined(validators, |validators, context, diagnostics| {
        for validator in validators {
            validator.run(context, diagnostics);
        }
    })
}

/// Requires that at least one of the validators succeeds.
///
/// ```
/// use wardian_sdk::validate;
///
/// let address = validate::any_of([validate::ip(), validate::cidr()]);
/// ```
pub fn any_of(validators: impl IntoIterator<Item = Validator>) -> Validator {
    let validators: Vec<Validator> = validators.into_iter().collect();
    combined(validators, |validators, context, diagnostics| {
        let mut errors = Diagnostics::new();
        for validator in validators {
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

fn combined(
    validators: Vec<Validator>,
    run: impl Fn(&[Validator], &ValidationContext<'_>, &mut Diagnostics) + 'static,
) -> Validator {
    let subject = Subject::All(validators.iter().map(|validator| validator.subject.clone()).collect());
    let references = validators.iter().flat_map(|validator| validator.references.clone()).collect();
    let problem = validators.iter().find_map(|validator| validator.problem.clone());
    let all = Validator::new(subject, move |context, diagnostics| run(&validators, context, diagnostics));
    Validator { problem, ..all.with_references(references) }
}
