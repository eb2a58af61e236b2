//! What a provider tells the person: errors and warnings, with the attribute
//! they are about.

use std::error::Error;
use std::fmt;

use wardian_value::Path;

/// The result of everything an author writes: errors are diagnostics.
pub type Result<T, E = Diagnostics> = std::result::Result<T, E>;

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The operation failed.
    Error,
    /// The operation succeeded; the person should know something.
    Warning,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// One line.
    pub summary: String,
    /// The body; may be empty.
    pub detail: String,
    /// The part of the configuration concerned.
    pub path: Option<Path>,
}

impl Diagnostic {
    /// An error.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Error, summary: summary.into(), detail: detail.into(), path: None }
    }

    /// A warning.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(summary, detail) }
    }

    /// The same, about the part that a path leads to. The host shows its source.
    #[must_use]
    pub fn at(mut self, path: Path) -> Self {
        self.path = Some(path);
        self
    }

    /// The same, about an attribute of the root object.
    #[must_use]
    pub fn at_attribute(self, name: &str) -> Self {
        self.at(Path::root().attribute(name))
    }
}

/// Errors and warnings of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// A single error.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Diagnostic::error(summary, detail).into()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: impl Into<Diagnostic>) {
        self.0.push(diagnostic.into());
    }

    /// Adds all of another operation.
    pub fn append(&mut self, other: impl Into<Self>) {
        self.0.extend(other.into().0);
    }

    /// Whether the operation failed.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// `Err` of these if one of them is an error, else `Ok`. Warnings alone are
    /// dropped: use it where they were passed on before.
    pub fn into_result(self) -> Result<()> {
        if self.has_errors() { Err(self) } else { Ok(()) }
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self(diagnostics.into_iter().collect())
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

/// So that `?` works on any error: its text becomes the summary, the chain of
/// its causes the detail. [`Explain::explain`] says more.
impl<E: Error> From<E> for Diagnostics {
    fn from(error: E) -> Self {
        let detail = error.source().map(with_causes).unwrap_or_default();
        Self::error(error.to_string(), detail)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&diagnostic.summary)?;
            if !diagnostic.detail.is_empty() {
                write!(f, ": {}", diagnostic.detail)?;
            }
        }
        Ok(())
    }
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// Saying what was being done when something failed.
pub trait Explain<T> {
    /// Turns the error into an error diagnostic of this summary; the error and
    /// its causes are the detail.
    fn explain(self, summary: &str) -> Result<T>;
}

impl<T, E: Error> Explain<T> for std::result::Result<T, E> {
    fn explain(self, summary: &str) -> Result<T> {
        self.map_err(|error| Diagnostics::error(summary, with_causes(&error)))
    }
}
