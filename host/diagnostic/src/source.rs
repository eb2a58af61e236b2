//! Source files and spans of their text.

use std::fmt;
use std::sync::Arc;

use wardian_value::graphemes;

/// A file's text, and its name in messages.
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    /// The byte offset at which each line starts; the first is 0.
    line_starts: Vec<usize>,
    /// The file from which the text was taken, if the text is an excerpt.
    origin: Option<ExcerptOrigin>,
}

/// The file from which an excerpt was taken.
struct ExcerptOrigin {
    file: Arc<SourceFile>,
    /// Pairs of a byte offset in the excerpt and the corresponding offset in the file, in ascending
    /// order. Between two pairs, the text is the same in both.
    offsets: Vec<(usize, usize)>,
}

impl ExcerptOrigin {
    /// Returns the offset in the file for an offset in the excerpt.
    fn file_offset(&self, byte: usize) -> usize {
        let following = self.offsets.partition_point(|(excerpt, _)| *excerpt <= byte);
        match following.checked_sub(1).and_then(|index| self.offsets.get(index)) {
            Some((excerpt, file)) => file + (byte - excerpt),
            None => byte,
        }
    }
}

/// A position between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in grapheme clusters, from 1.
    pub column: usize,
    /// The byte offset in the file, from 0.
    pub byte: usize,
}

/// A range of a file's text. Cheap to clone.
#[derive(Clone)]
pub struct Span {
    pub file: Arc<SourceFile>,
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl SourceFile {
    /// Creates a file with the given text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Arc<Self> {
        let text = text.into();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Arc::new(Self { name: name.into(), text, line_starts, origin: None })
    }

    /// Creates a file whose text is an excerpt of `file` in a different notation, for example
    /// without escapes. Every [`Span`] of the excerpt refers to `file`. `offsets` contains pairs of
    /// byte offsets in the text and in `file`, in ascending order; between two pairs, the text is
    /// the same in both.
    pub fn excerpt(file: &Arc<Self>, text: impl Into<Arc<str>>, offsets: Vec<(usize, usize)>) -> Arc<Self> {
        let origin = Some(ExcerptOrigin { file: Arc::clone(file), offsets });
        Arc::new(Self { name: file.name.clone(), text: text.into(), line_starts: vec![0], origin })
    }

    /// Returns the name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// Returns the text of a line (from 1) without its line break; empty after the last line.
    pub fn line(&self, line: usize) -> &str {
        let Some(start) = line.checked_sub(1).and_then(|index| self.line_starts.get(index)) else {
            return "";
        };
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len());
        self.text.get(*start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    /// Returns the byte offset at which a line (from 1) starts.
    pub fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(self.text.len())
    }

    /// Returns the position of a byte offset. An offset after the end or within a character is
    /// moved back to the nearest character boundary.
    pub fn position(&self, byte: usize) -> Position {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.line_starts.partition_point(|start| *start <= byte);
        let start = self.line_start(line);
        let before = self.text.get(start..byte).unwrap_or("");
        let column = if before.is_ascii() { before.len() } else { graphemes(before).count() } + 1;
        Position { line, column, byte }
    }

    /// Returns the span of the complete text.
    pub fn span(self: &Arc<Self>) -> Span {
        Span::new(self, 0, self.text.len())
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Span {
    /// Creates a span of `file`. If `file` is an excerpt, creates a span of the original file.
    pub fn new(file: &Arc<SourceFile>, start: usize, end: usize) -> Self {
        match &file.origin {
            None => Self { file: Arc::clone(file), start, end: end.max(start) },
            Some(origin) => Self::new(&origin.file, origin.file_offset(start), origin.file_offset(end)),
        }
    }

    /// Returns the position of the first byte.
    pub fn start_position(&self) -> Position {
        self.file.position(self.start)
    }

    /// Returns the position after the last byte.
    pub fn end_position(&self) -> Position {
        self.file.position(self.end)
    }

    pub fn text(&self) -> &str {
        self.file.text().get(self.start..self.end).unwrap_or("")
    }

    /// Returns the complete line on which the span starts.
    pub fn line_text(&self) -> &str {
        self.file.line(self.start_position().line)
    }

    /// Returns the span from the start of this span to the end of `other` in the same file.
    #[must_use]
    pub fn to(&self, other: &Self) -> Self {
        Self::new(&self.file, self.start, other.end)
    }

    /// Returns the span of the next character that is not a blank. At the end of a line, the span is
    /// empty.
    #[must_use]
    pub fn next_character(&self) -> Self {
        let rest = self.file.text().get(self.end..).unwrap_or_default();
        let start = self.end + rest.find(|character| character != ' ' && character != '\t').unwrap_or(0);
        let next = self.file.text().get(start..).and_then(|rest| rest.chars().next());
        let length = next.filter(|character| !matches!(character, '\n' | '\r')).map_or(0, char::len_utf8);
        Self::new(&self.file, start, start + length)
    }

    /// Returns the empty span at the end of this span.
    #[must_use]
    pub fn after(&self) -> Self {
        Self::new(&self.file, self.end, self.end)
    }
}

impl PartialEq for Span {
    fn eq(&self, other: &Self) -> bool {
        self.start == other.start && self.end == other.end && self.file.name == other.file.name
    }
}

impl Eq for Span {}

/// Writes `main.tf:3,5-9`, or `main.tf:3,5-4,1` if it spans several lines.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (self.start_position(), self.end_position());
        write!(f, "{}:{},{}-", self.file.name, start.line, start.column)?;
        if end.line == start.line {
            write!(f, "{}", end.column)
        } else {
            write!(f, "{},{}", end.line, end.column)
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
