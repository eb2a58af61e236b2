//! Locations of rules in policy files.

use std::fmt;
use std::sync::Arc;

use wardian_diagnostic::{SourceFile, Span};

/// A line of a policy file. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    /// Display name of the file.
    pub file: Arc<str>,
    /// Line number, from 1.
    pub line: usize,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

/// Finds the line numbers of spans in one file. [`Span`] can also compute the line, but it counts
/// the column as well, and that is too slow for thousands of rules on one long line.
pub(crate) struct LineIndex {
    name: Arc<str>,
    file: Arc<SourceFile>,
}

impl LineIndex {
    pub(crate) fn new(file: &Arc<SourceFile>) -> Self {
        Self { name: file.name().into(), file: Arc::clone(file) }
    }

    pub(crate) fn file_name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the location of a span's start.
    pub(crate) fn location(&self, span: &Span) -> SourceLocation {
        let (mut first, mut behind) = (1, self.file.line_count() + 1);
        while first + 1 < behind {
            let middle = usize::midpoint(first, behind);
            if self.file.line_start(middle) <= span.start { first = middle } else { behind = middle }
        }
        SourceLocation { file: Arc::clone(&self.name), line: first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_line_is_the_start_line_of_the_span() {
        let file = SourceFile::new("x", "a\n\nbc\nd");
        let lines = LineIndex::new(&file);
        for start in 0..=8 {
            let span = Span::new(&file, start, start);
            assert_eq!(lines.location(&span).line, span.start_position().line, "{start}");
        }
    }
}
