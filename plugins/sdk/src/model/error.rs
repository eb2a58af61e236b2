//! Why a value and a Rust type do not fit.

use std::fmt;

use wardian_value::{Path, PathStep};

use crate::{Diagnostic, Diagnostics};

/// A value did not fit a Rust type, or the other way round.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelError {
    /// Steps from the place of the error up to the root.
    reversed: Vec<PathStep>,
    message: String,
}

impl ModelError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { reversed: Vec::new(), message: message.into() }
    }

    /// The same error, seen from one level further up.
    pub(crate) fn inside(mut self, step: PathStep) -> Self {
        self.reversed.push(step);
        self
    }

    /// Where.
    pub fn path(&self) -> Path {
        self.reversed.iter().rev().cloned().collect::<Vec<_>>().into()
    }

    /// What.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// As a diagnostic about the place.
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

// Not `std::error::Error` alone, which would lose the path on its way into
// diagnostics: serde demands the trait, so the wrapper below bears it.
impl From<ModelError> for Diagnostics {
    fn from(error: ModelError) -> Self {
        error.into_diagnostic("Value does not fit").into()
    }
}

/// [`ModelError`] as serde wants it.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) ModelError);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(ModelError::new(message))
    }

    pub(crate) fn inside(self, step: PathStep) -> Self {
        Self(self.0.inside(step))
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
