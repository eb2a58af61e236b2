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
        let fulfilled = self.positions(object);
        if !fulfilled.is_empty() {
            self.failed.extend(fulfilled);
            return None;
        }
        if diagnostic.origin == DiagnosticOrigin::Check {
            return Some(Diagnostic { severity: Severity::Error, ..diagnostic });
        }
        Some(diagnostic)
    }

    /// Returns the positions of the expectations that a failure of an object fulfils: those of the
    /// object, and those of its resource.
    fn positions(&self, object: &str) -> Vec<usize> {
        let instance = object.strip_suffix(']').and_then(|object| object.rsplit_once('['));
        let resource = instance.map(|(name, _)| name);
        let fulfils = |expected: &str| expected == object || Some(expected) == resource;
        let all = self.objects.iter().enumerate();
        all.filter(|(_, (expected, _))| fulfils(expected)).map(|(position, _)| position).collect()
    }

    /// Returns the span of the expectation that a diagnostic fulfils, and the object's address.
    pub(crate) fn fulfilled_by(&self, diagnostic: &Diagnostic) -> Option<(&str, &Span)> {
        let position = *self.positions(diagnostic.checked_object.as_deref()?).first()?;
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
