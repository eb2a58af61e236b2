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

#[cfg(test)]
mod tests {
    use wardian_config::CheckableObject;
    use wardian_diagnostic::SourceFile;
    use wardian_value::PathStep;

    use super::*;

    fn resource(key: Option<PathStep>) -> CheckableObject {
        let mode = wardian_address::ResourceMode::Managed;
        CheckableObject::Resource { mode, type_name: "a".into(), name: "b".into(), key }
    }

    fn expecting(objects: &[CheckableObject]) -> Expectations {
        let span = SourceFile::new("a.tftest.hcl", "").span();
        let expected: Vec<ExpectedFailure> = objects
            .iter()
            .map(|object| ExpectedFailure { object: object.clone(), span: span.clone() })
            .collect();
        Expectations::new(&expected)
    }

    fn failure(object: &str) -> Diagnostic {
        Diagnostic::error("failed", "").for_checked_object(object)
    }

    #[test]
    fn resource_covers_its_instances_but_not_the_reverse() {
        let mut all = expecting(&[resource(None)]);
        assert!(all.apply(failure("a.b[0]").into()).is_empty());
        assert!(all.missing().is_empty());
        let mut one = expecting(&[resource(Some(PathStep::Index(0)))]);
        assert_eq!(one.apply(failure("a.b[1]").into()).len(), 1);
        assert_eq!(one.apply(failure("a.b").into()).len(), 1);
        assert_eq!(one.missing().len(), 1);
        assert!(one.apply(failure("a.b[0]").into()).is_empty());
        assert!(one.missing().is_empty());
    }

    #[test]
    fn failure_fulfils_every_equal_expectation() {
        let object = CheckableObject::Variable("x".into());
        let mut twice = expecting(&[object.clone(), object]);
        assert!(twice.apply(failure("var.x").into()).is_empty());
        assert!(twice.missing().is_empty());
    }

    #[test]
    fn unexpected_check_failure_is_an_error() {
        let mut none = expecting(&[]);
        let check = Diagnostic::warning("failed", "").for_checked_object("check.c");
        let check = check.with_origin(DiagnosticOrigin::Check);
        assert!(none.apply(check.into()).has_errors());
        let other = Diagnostic::warning("other", "");
        assert!(!none.apply(other.into()).has_errors());
    }
}
