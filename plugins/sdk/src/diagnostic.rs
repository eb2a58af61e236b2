//! Diagnostics: errors and warnings for the user, with the attribute that they concern.

use std::error::Error;
use std::fmt;

use wardian_value::Path;

/// The result of an operation; its errors are diagnostics.
///
/// ```
/// fn port(text: &str) -> wardian_sdk::Result<u16> {
///     Ok(text.parse()?)
/// }
///
/// assert_eq!(port("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
pub type Result<T, E = Diagnostics> = std::result::Result<T, E>;

/// The severity of a diagnostic.
///
/// ```
/// use wardian_sdk::{Diagnostic, Severity};
///
/// assert_eq!(Diagnostic::warning("Large server", "").severity, Severity::Warning);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The operation failed.
    Error,
    /// The operation succeeded, but the user should read the message.
    Warning,
}

/// An error or warning.
///
/// ```
/// use wardian_sdk::Diagnostic;
///
/// let error = Diagnostic::error("Name in use", "There is already a server of this name.").at_attribute("name");
/// assert_eq!(error.path.unwrap().to_string(), ".name");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Whether the diagnostic is an error or a warning.
    pub severity: Severity,
    /// The summary, on one line.
    pub summary: String,
    /// The details; may be empty.
    pub detail: String,
    /// The path in the configuration that the diagnostic concerns.
    pub path: Option<Path>,
}

impl Diagnostic {
    /// Creates an error.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Error, summary: summary.into(), detail: detail.into(), path: None }
    }

    /// Creates a warning.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(summary, detail) }
    }

    /// Sets the path in the configuration that the diagnostic concerns. The host shows the source
    /// text at this path.
    #[must_use]
    pub fn at(mut self, path: Path) -> Self {
        self.path = Some(path);
        self
    }

    /// Sets the path to an attribute of the root object.
    #[must_use]
    pub fn at_attribute(self, name: &str) -> Self {
        self.at(Path::root().attribute(name))
    }
}

/// The errors and warnings of one operation.
///
/// ```
/// use wardian_sdk::{Diagnostic, Diagnostics};
///
/// let mut found = Diagnostics::new();
/// found.push(Diagnostic::warning("Large server", "It is expensive."));
/// assert!(!found.has_errors());
/// found.append(Diagnostics::error("Name in use", ""));
/// assert!(found.into_result().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Creates a list with one error.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Diagnostic::error(summary, detail).into()
    }

    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: impl Into<Diagnostic>) {
        self.0.push(diagnostic.into());
    }

    /// Adds all diagnostics of another list.
    pub fn append(&mut self, other: impl Into<Self>) {
        self.0.extend(other.into().0);
    }

    /// Returns whether the list contains an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an iterator over the diagnostics.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Returns `Err` with all diagnostics if one of them is an error, and otherwise `Ok`. If there
    /// is no error, warnings are dropped, so report them first.
    pub fn into_result(self) -> Result<()> {
        if self.has_errors() { Err(self) } else { Ok(()) }
    }
}

impl Diagnostics {
    /// Returns the diagnostics, with this path for those that have no path.
    pub(crate) fn at_if_without_path(mut self, path: &Path) -> Self {
        for diagnostic in &mut self.0 {
            diagnostic.path.get_or_insert_with(|| path.clone());
        }
        self
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

/// Allows `?` for any error. Its message becomes the summary, and the chain of its causes becomes
/// the detail. [`Explain::explain`] sets a different summary.
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

/// Adds the failed operation to an error.
///
/// ```
/// use wardian_sdk::Explain as _;
///
/// let error = "x".parse::<u16>().explain("The port is not valid").unwrap_err();
/// assert_eq!(error.to_string(), "The port is not valid: invalid digit found in string");
/// ```
pub trait Explain<T> {
    /// Converts the error to a diagnostic with this summary. The error and its causes become the
    /// detail.
    fn explain(self, summary: &str) -> Result<T>;
}

impl<T, E: Error> Explain<T> for std::result::Result<T, E> {
    fn explain(self, summary: &str) -> Result<T> {
        self.map_err(|error| Diagnostics::error(summary, with_causes(&error)))
    }
}
