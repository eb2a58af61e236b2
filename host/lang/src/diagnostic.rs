//! Errors and warnings for people, with the place in the text.

mod json;
mod text;

use std::fmt;

use wardian_value::{Path, Str};

use crate::{FunctionSignature, Span};

pub use text::{NoStyle, Style, Tone};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The operation failed or must not go on.
    Error,
    /// The operation goes on.
    Warning,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// What, in a few words.
    pub summary: String,
    /// Why, and what to do; may be empty.
    pub detail: String,
    /// Where.
    pub subject: Option<Span>,
    /// The block that the place is in: `resource "a" "b"`.
    pub context: Option<String>,
    /// The object concerned: `module.x.a.b[0]`.
    pub address: Option<String>,
    /// The values involved.
    pub values: Vec<ValueNote>,
    /// The function that was called, where that is what failed.
    pub function: Option<Box<FunctionNote>>,
    /// The part of a configuration's value that is concerned, where the place in
    /// the text is not known yet: whoever knows the text turns it into a subject.
    pub attribute: Option<Path>,
    /// Who says so.
    pub origin: Origin,
}

/// Who says what is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Whoever reads, plans or does something.
    #[default]
    Run,
    /// A check of the configuration: each says something of its own, and says it again
    /// whenever it is looked at.
    Check,
}

/// A value that was involved, described without revealing what is sensitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueNote {
    /// The expression: `var.name`.
    pub traversal: String,
    /// What is said of it: `is "x"`.
    pub statement: String,
}

/// A function whose call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionNote {
    /// Its name as it was called.
    pub called_as: Str,
    /// What it takes; `None` where that is not known.
    pub signature: Option<FunctionSignature>,
}

/// What about the values involved is the problem, and so may be said of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// What they are.
    Value,
    /// That they are not known yet.
    Unknown,
    /// That they are sensitive.
    Sensitive,
    /// That they are ephemeral.
    Ephemeral,
}

impl Diagnostic {
    fn new(severity: Severity, summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            severity,
            summary: summary.into(),
            detail: detail.into(),
            subject: None,
            context: None,
            address: None,
            values: Vec::new(),
            function: None,
            attribute: None,
            origin: Origin::Run,
        }
    }

    /// An error.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Severity::Error, summary, detail)
    }

    /// A warning.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Severity::Warning, summary, detail)
    }

    /// Sets where it is.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.subject = Some(span);
        self
    }

    /// Sets the block that it is in.
    #[must_use]
    pub fn in_block(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// Sets the object concerned.
    #[must_use]
    pub fn for_address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Sets the part of the value concerned.
    #[must_use]
    pub fn for_attribute(mut self, path: Path) -> Self {
        self.attribute = Some(path);
        self
    }

    /// Adds a value that was involved.
    #[must_use]
    pub fn with_value(mut self, traversal: impl Into<String>, statement: impl Into<String>) -> Self {
        self.values.push(ValueNote { traversal: traversal.into(), statement: statement.into() });
        self
    }

    /// Sets who says so.
    #[must_use]
    pub fn from_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// In one line, for logs: `main.tf:3,5-9: Summary; detail`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(span) = &self.subject {
            write!(f, "{span}: ")?;
        }
        f.write_str(&self.summary)?;
        if !self.detail.is_empty() {
            write!(f, "; {}", self.detail)?;
        }
        Ok(())
    }
}

/// Problems in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// None so far.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds an error.
    pub fn error(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::error(summary, detail));
    }

    /// Whether there is any error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// All of them, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Diagnostic> {
        self.0.iter_mut()
    }

    /// Takes the value of `result`, or keeps its diagnostics.
    pub fn collect<T>(&mut self, result: Result<T, impl Into<Self>>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(found) => {
                self.extend(found.into());
                None
            }
        }
    }

    /// `value` if there is no error. Warnings are lost then; whoever wants them
    /// takes them first.
    ///
    /// # Errors
    ///
    /// Everything, if there is an error.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }

    /// Sets the block where none is set yet.
    #[must_use]
    pub fn in_block(mut self, context: &str) -> Self {
        for diagnostic in &mut self.0 {
            diagnostic.context.get_or_insert_with(|| context.to_owned());
        }
        self
    }

    /// Sets the object concerned where none is set yet.
    #[must_use]
    pub fn for_address(mut self, address: &str) -> Self {
        for diagnostic in &mut self.0 {
            diagnostic.address.get_or_insert_with(|| address.to_owned());
        }
        self
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self(diagnostics)
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        self.0.extend(diagnostics);
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self(diagnostics.into_iter().collect())
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a mut Diagnostics {
    type Item = &'a mut Diagnostic;
    type IntoIter = std::slice::IterMut<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// One problem a line.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
impl std::error::Error for Diagnostics {}
