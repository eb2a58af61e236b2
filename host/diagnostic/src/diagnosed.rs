//! A value together with the diagnostics that occurred while it was computed.

use crate::Diagnostics;

/// The result of a computation: the value, if there is one, and the diagnostics.
///
/// A function returns `Result<T, Diagnostics>` if it returns either a value or errors, but never a
/// value with warnings. It returns `Diagnosed<T>` if it can return a value with warnings. If there
/// is no value, the diagnostics contain an error; if there are both a value and an error, the value
/// is partial.
#[derive(Clone, Debug)]
#[must_use = "the diagnostics may contain errors"]
pub struct Diagnosed<T> {
    /// The value; `None` if the computation failed.
    pub value: Option<T>,
    /// The warnings and errors.
    pub diagnostics: Diagnostics,
}

impl<T> Diagnosed<T> {
    /// Creates a result without diagnostics.
    pub fn new(value: T) -> Self {
        Self::with_diagnostics(value, Diagnostics::new())
    }

    pub fn with_diagnostics(value: T, diagnostics: Diagnostics) -> Self {
        Self { value: Some(value), diagnostics }
    }

    /// Returns the diagnostics of a failed computation.
    pub fn failed(diagnostics: impl Into<Diagnostics>) -> Self {
        Self { value: None, diagnostics: diagnostics.into() }
    }

    /// Returns the value with the diagnostics if they contain no error; otherwise returns only the
    /// diagnostics.
    pub fn unless_errors(value: T, diagnostics: Diagnostics) -> Self {
        if diagnostics.has_errors() {
            Self::failed(diagnostics)
        } else {
            Self::with_diagnostics(value, diagnostics)
        }
    }

    /// Converts the result of a closure in which `?` is used.
    pub fn from_result(result: Result<(T, Diagnostics), Diagnostics>) -> Self {
        match result {
            Ok((value, diagnostics)) => Self::with_diagnostics(value, diagnostics),
            Err(diagnostics) => Self::failed(diagnostics),
        }
    }

    /// Converts the value.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Diagnosed<U> {
        Diagnosed { value: self.value.map(convert), diagnostics: self.diagnostics }
    }

    /// Returns the value, and adds the diagnostics to `all`.
    pub fn take(self, all: &mut Diagnostics) -> Option<T> {
        all.extend(self.diagnostics);
        self.value
    }

    /// Returns the value with the diagnostics, or the diagnostics as the error, for use with `?`.
    ///
    /// # Errors
    /// Returns the diagnostics if the value is missing.
    pub fn into_result(self) -> Result<(T, Diagnostics), Diagnostics> {
        match self.value {
            Some(value) => Ok((value, self.diagnostics)),
            None => Err(self.diagnostics),
        }
    }

    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.has_errors()
    }
}

impl<T> From<Result<T, Diagnostics>> for Diagnosed<T> {
    fn from(result: Result<T, Diagnostics>) -> Self {
        Self::from_result(result.map(|value| (value, Diagnostics::new())))
    }
}
