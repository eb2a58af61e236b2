//! References for which an error has already been reported.

use std::collections::HashSet;
use std::sync::Arc;

use wardian_diagnostic::Span;

/// References with an error, by position. Evaluation treats their values as unknown, so the error
/// does not cause others.
#[derive(Debug, Default)]
pub struct ReportedReferences(HashSet<(usize, usize)>);

impl ReportedReferences {
    pub fn contains(&self, reference: &Span) -> bool {
        !self.0.is_empty() && self.0.contains(&Self::position(reference))
    }

    pub fn insert(&mut self, reference: &Span) {
        self.0.insert(Self::position(reference));
    }

    /// Returns the file and the byte offset of a reference.
    pub fn position(reference: &Span) -> (usize, usize) {
        (Arc::as_ptr(&reference.file).addr(), reference.start)
    }
}
