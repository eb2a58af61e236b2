//! Source text and places in it.

mod bytes;

use std::fmt;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

pub use bytes::SourceBytes;

/// One file's text under the name that people see.
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    /// The byte at which each line starts; the first is 0.
    line_starts: Vec<usize>,
    /// Where the text is from, if it is an excerpt.
    origin: Option<Origin>,
}

/// The file that an excerpt is from.
struct Origin {
    file: Arc<SourceFile>,
    /// A byte of the excerpt and, beside it, the byte of the file: from there on
    /// they run in parallel.
    offsets: Vec<(usize, usize)>,
}

impl Origin {
    fn byte(&self, byte: usize) -> usize {
        let behind = self.offsets.partition_point(|(here, _)| *here <= byte);
        match behind.checked_sub(1).and_then(|index| self.offsets.get(index)) {
            Some((here, there)) => there + (byte - here),
            None => byte,
        }
    }
}

/// A place between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in grapheme clusters, from 1.
    pub column: usize,
    /// The byte offset in the file, from 0.
    pub byte: usize,
}

/// A stretch of a file. Cheap to clone.
#[derive(Clone)]
pub struct Span {
    /// The file.
    pub file: Arc<SourceFile>,
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl SourceFile {
    /// Takes a file's text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Arc<Self> {
        let text = text.into();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Arc::new(Self { name: name.into(), text, line_starts, origin: None })
    }

    /// Text that stands in a file in another form, with escapes in it: compiled as
    /// it is meant, and every [`Span`] of it is one of that file. `offsets` are
    /// bytes of the text, each with its byte of the file; between them both run
    /// in parallel.
    pub(crate) fn excerpt(
        of: &Arc<Self>,
        text: impl Into<Arc<str>>,
        offsets: Vec<(usize, usize)>,
    ) -> Arc<Self> {
        let origin = Some(Origin { file: Arc::clone(of), offsets });
        Arc::new(Self { name: of.name.clone(), text: text.into(), line_starts: vec![0], origin })
    }

    /// The name as shown.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines there are.
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// The text of a line (from 1) without its line ending; empty past the end.
    pub fn line(&self, line: usize) -> &str {
        let Some(start) = line.checked_sub(1).and_then(|index| self.line_starts.get(index)) else {
            return "";
        };
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len());
        self.text.get(*start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    /// The byte at which a line (from 1) starts.
    pub fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(self.text.len())
    }

    /// The position of a byte. Bytes past the end, or inside a character, are
    /// moved back to the nearest place between characters.
    pub fn position(&self, byte: usize) -> Position {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.line_starts.partition_point(|start| *start <= byte);
        let start = self.line_start(line);
        let before = self.text.get(start..byte).unwrap_or("");
        let column = if before.is_ascii() { before.len() } else { before.graphemes(true).count() } + 1;
        Position { line, column, byte }
    }

    /// The span of the whole text.
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
    /// A stretch of `file`; of the file that it is from, if it is an excerpt.
    pub fn new(file: &Arc<SourceFile>, start: usize, end: usize) -> Self {
        match &file.origin {
            None => Self { file: Arc::clone(file), start, end: end.max(start) },
            Some(origin) => Self::new(&origin.file, origin.byte(start), origin.byte(end)),
        }
    }

    /// Where it starts.
    pub fn start_position(&self) -> Position {
        self.file.position(self.start)
    }

    /// Where it ends.
    pub fn end_position(&self) -> Position {
        self.file.position(self.end)
    }

    /// The text inside.
    pub fn text(&self) -> &str {
        self.file.text().get(self.start..self.end).unwrap_or("")
    }

    /// The whole line on which it starts.
    pub fn line_text(&self) -> &str {
        self.file.line(self.start_position().line)
    }

    /// From the start of this span to the end of `other` in the same file.
    #[must_use]
    pub fn to(&self, other: &Self) -> Self {
        Self::new(&self.file, self.start, other.end)
    }

    /// The empty span at the end of this one.
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

/// `main.tf:3,5-9`, or `main.tf:3,5-4,1` over several lines.
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
