//! Where a rule stands.

use std::fmt;
use std::sync::Arc;

use wardian_diagnostic::{SourceFile, Span};

/// A line of a policy file. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file, as people know it.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

/// Finds the lines of one file's spans. A span can tell its line too, but counts its
/// column on the way, which is too dear for thousands of rules on one long line.
pub(crate) struct Lines {
    name: Arc<str>,
    file: Arc<SourceFile>,
}

impl Lines {
    pub(crate) fn of(file: &Arc<SourceFile>) -> Self {
        Self { name: file.name().into(), file: Arc::clone(file) }
    }

    pub(crate) fn file_name(&self) -> &Arc<str> {
        &self.name
    }

    /// The place of a span's beginning.
    pub(crate) fn place(&self, span: &Span) -> Place {
        let (mut first, mut behind) = (1, self.file.line_count() + 1);
        while first + 1 < behind {
            let middle = usize::midpoint(first, behind);
            if self.file.line_start(middle) <= span.start { first = middle } else { behind = middle }
        }
        Place { file: Arc::clone(&self.name), line: first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_span() {
        let file = SourceFile::new("x", "a\n\nbc\nd");
        let lines = Lines::of(&file);
        for start in 0..=8 {
            let span = Span::new(&file, start, start);
            assert_eq!(lines.place(&span).line, span.start_position().line, "{start}");
        }
    }
}
