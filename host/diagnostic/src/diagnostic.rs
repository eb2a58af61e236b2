//! A single error or warning.

use std::fmt;

use wardian_value::{Path, Str, Type};

use crate::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The operation failed or must not continue.
    Error,
    /// The operation continues.
    Warning,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// The problem in a few words.
    pub summary: String,
    /// The reason for the problem and its solution; may be empty.
    pub detail: String,
    /// The span of the source text to which the diagnostic points.
    pub subject: Option<Span>,
    /// The header of the block that contains the source text: `resource "a" "b"`.
    pub context: Option<String>,
    /// The address of the affected object: `module.x.a.b[0]`.
    pub address: Option<String>,
    /// Notes on the values involved.
    pub values: Vec<ValueNote>,
    /// The function whose call failed.
    pub function: Option<Box<FunctionNote>>,
    /// The path of the affected attribute, if its source text is not known yet. A caller that has
    /// the source text converts the path to a source span.
    pub attribute: Option<Path>,
    /// The address of the object whose condition failed or could not be evaluated: `output.x`,
    /// `check.x`, `var.x` or the address of a resource instance, each in its module instance.
    pub checked_object: Option<Box<str>>,
    pub origin: DiagnosticOrigin,
}

/// The source of a diagnostic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiagnosticOrigin {
    /// Reading, planning or applying objects.
    #[default]
    Run,
    /// A check in the configuration. The diagnostics of different checks are reported separately,
    /// and each evaluation of a check reports them again.
    Check,
    /// A condition that only a bug in Wardian can cause.
    Bug,
}

/// A statement about a value involved in a problem. It does not reveal sensitive values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueNote {
    /// The expression: `var.name`.
    pub traversal: String,
    /// A statement about its value: `is "x"`.
    pub statement: String,
}

/// The function whose call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionNote {
    /// The name in the call, possibly with a namespace.
    pub called_as: Str,
    /// The function's signature, if known.
    pub signature: Option<SignatureNote>,
}

/// The signature of a function, as diagnostics display it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureNote {
    /// The name without a namespace.
    pub name: Str,
    pub parameters: Vec<ParameterNote>,
    /// The parameter for all additional arguments.
    pub variadic: Option<ParameterNote>,
    /// The type of the result; dynamic if it depends on the arguments.
    pub result: Type,
}

/// A parameter of a function, as diagnostics display it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterNote {
    pub name: Str,
    pub ty: Type,
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
            checked_object: None,
            origin: DiagnosticOrigin::Run,
        }
    }

    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Severity::Error, summary, detail)
    }

    /// Creates an error that only a bug in Wardian can cause. Such an error counts as a crash of the
    /// process.
    pub fn bug(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Severity::Error, summary, detail).with_origin(DiagnosticOrigin::Bug)
    }

    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(Severity::Warning, summary, detail)
    }

    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.subject = Some(span);
        self
    }

    /// Returns the header of the containing block. It is not shown if the diagnostic is about the
    /// header itself.
    pub(crate) fn enclosing_block(&self) -> Option<&str> {
        let context = self.context.as_deref()?;
        let is_header = self.subject.as_ref().is_some_and(|span| {
            let follows = span.file.text().get(span.start..).unwrap_or_default();
            span.start_position().column == 1 && follows.starts_with(context)
        });
        (!is_header).then_some(context)
    }

    /// Sets the header of the containing block.
    #[must_use]
    pub fn in_block(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// Sets the address of the object.
    #[must_use]
    pub fn for_address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    #[must_use]
    pub fn for_attribute(mut self, path: Path) -> Self {
        self.attribute = Some(path);
        self
    }

    /// Adds a note on a value that is involved.
    #[must_use]
    pub fn with_value(mut self, traversal: impl Into<String>, statement: impl Into<String>) -> Self {
        self.values.push(ValueNote { traversal: traversal.into(), statement: statement.into() });
        self
    }

    #[must_use]
    pub fn with_origin(mut self, origin: DiagnosticOrigin) -> Self {
        self.origin = origin;
        self
    }

    /// Sets the address of the object whose condition failed.
    #[must_use]
    pub fn for_checked_object(mut self, address: &str) -> Self {
        self.checked_object = Some(address.into());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Writes one line for logs: `main.tf:3,5-9: Summary; detail`.
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

impl std::error::Error for Diagnostic {}
