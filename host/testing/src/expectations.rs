//! Expected failures: conditions of checkable objects that must fail in a run.

use std::collections::BTreeSet;

use wardian_config::ExpectedFailure;
use wardian_diagnostic::{Diagnostic, DiagnosticOrigin, Diagnostics, Severity, Span};

/// The objects whose conditions a run expects to fail.
#[derive(Debug, Default)]
pub(crate) struct Expectations {
    /// The addresses as they are reported: `output.x`, or `a.b[0]`.
    objects: Vec<(String, Span)>,
    failed: BTreeSet<usize>,
}

impl Expectations {
    pub(crate) fn new(expected: &[ExpectedFailure]) -> Self {
        let object = |expected: &ExpectedFailure| (expected.object.to_string(), expected.span.clone());
        Self { objects: expected.iter().map(object).collect(), failed: BTreeSet::new() }
    }

    /// Removes the diagnostics of expected failures. Failed assertions of checks that are not expected
    /// become errors.
    pub(crate) fn apply(&mut self, diagnostics: Diagnostics) -> Diagnostics {
        diagnostics.into_iter().filter_map(|diagnostic| self.judge(diagnostic)).collect()
    }

    fn judge(&mut self, diagnostic: Diagnostic) -> Option<Diagnostic> {
        let Some(object) = diagnostic.checked_object.as_deref() else { return Some(diagnostic) };
        match self.position(object) {
            Some(position) => {
                self.failed.insert(position);
                None
            }
            None if diagnostic.origin == DiagnosticOrigin::Check => {
                Some(Diagnostic { severity: Severity::Error, ..diagnostic })
            }
            None => Some(diagnostic),
        }
    }

    fn position(&self, object: &str) -> Option<usize> {
        let resource =
            object.strip_suffix(']').and_then(|object| object.rsplit_once('[')).map(|(name, _)| name);
        let exact = self.objects.iter().position(|(expected, _)| expected == object);
        exact.or_else(|| self.objects.iter().position(|(expected, _)| Some(expected.as_str()) == resource))
    }

    /// Returns the span of the expectation that a diagnostic fulfils, and the object's address.
    pub(crate) fn fulfilled_by(&self, diagnostic: &Diagnostic) -> Option<(&str, &Span)> {
        let position = self.position(diagnostic.checked_object.as_deref()?)?;
        self.objects.get(position).map(|(object, span)| (object.as_str(), span))
    }

    /// Returns an error for each expected failure that did not occur.
    pub(crate) fn missing(&self) -> Diagnostics {
        let missing = self.objects.iter().enumerate().filter(|(position, _)| !self.failed.contains(position));
        missing
            .map(|(_, (object, span))| {
                let detail = format!("A condition of {object} was expected to fail, and none failed.");
                Diagnostic::error("Missing expected failure", detail).at(span.clone())
            })
            .collect()
    }
}
