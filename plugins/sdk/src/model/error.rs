//! The error type of conversions between values and Rust types.

use std::fmt;

use wardian_value::{Path, PathStep};

use crate::{Diagnostic, Diagnostics};

/// The error for a value that does not match a Rust type, or for a Rust value that does not match a
/// schema.
///
/// ```
/// use wardian_sdk::{Object, Type, Value};
///
/// let ty = Type::object([("size", Type::Number)]);
/// let object = Object::from_value(Value::object([("size", Value::number(1))]), ty)?;
/// let error = object.get::<String>("size").unwrap_err();
/// assert!(error.to_string().contains("size"), "{error}");
/// # Ok::<(), wardian_sdk::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ModelError {
    /// The steps from the location of the error up to the root.
    reversed: Vec<PathStep>,
    message: String,
    is_type_mismatch: bool,
}

impl ModelError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { reversed: Vec::new(), message: message.into(), is_type_mismatch: false }
    }

    /// Returns whether the value has another type than the Rust type, or is null or unknown although
    /// the Rust type cannot represent this.
    pub(crate) fn is_type_mismatch(&self) -> bool {
        self.is_type_mismatch
    }

    /// Returns the error with its path extended by a step at the beginning.
    pub(crate) fn inside(mut self, step: PathStep) -> Self {
        self.reversed.push(step);
        self
    }

    /// Returns the path of the value in the configuration or state that is decoded.
    pub fn path(&self) -> Path {
        self.reversed.iter().rev().cloned().collect::<Vec<_>>().into()
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Converts the error to a diagnostic with this summary.
    pub fn into_diagnostic(self, summary: &str) -> Diagnostic {
        let path = self.path();
        let detail = self.to_string();
        let diagnostic = Diagnostic::error(summary, detail);
        if path.is_root() { diagnostic } else { diagnostic.at(path) }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.reversed.is_empty() {
            let path = self.path().to_string();
            write!(f, "{}: ", path.strip_prefix('.').unwrap_or(&path))?;
        }
        f.write_str(&self.message)
    }
}

// `ModelError` does not implement `std::error::Error`, since the conversion of any such error to
// diagnostics would lose the path. Serde requires the trait, so the wrapper below implements it.
impl From<ModelError> for Diagnostics {
    fn from(error: ModelError) -> Self {
        error.into_diagnostic("Value does not match its type").into()
    }
}

/// [`ModelError`] with the traits that serde requires.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) ModelError);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(ModelError::new(message))
    }

    pub(crate) fn inside(self, step: PathStep) -> Self {
        Self(self.0.inside(step))
    }

    pub(crate) fn type_mismatch(message: impl Into<String>) -> Self {
        Self(ModelError { is_type_mismatch: true, ..ModelError::new(message) })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Failure {}

impl serde::de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

impl serde::ser::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}
