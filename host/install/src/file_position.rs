//! File positions for error messages.
//!
//! This module performs no I/O. A [`FilePosition`] owns its source line. An error can therefore
//! show the line even if the file's text is no longer in memory.

use std::fmt;
use std::path::{Path, PathBuf};

/// A position in a text file, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePosition {
    /// The file, as the caller named it.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The complete line, without its line break.
    pub source_line: String,
}

impl FilePosition {
    /// Returns the position of a byte offset in a text. For an offset after the end, or within a
    /// character, returns the nearest position before it.
    pub fn from_offset(file: &Path, text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let (before, after) = text.split_at(offset);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_rest = after.split('\n').next().unwrap_or_default();
        let line_head = &before[line_start..];
        let source_line = format!("{line_head}{line_rest}");
        Self {
            file: file.to_owned(),
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: line_head.chars().count() + 1,
            source_line: source_line.trim_end_matches('\r').to_owned(),
        }
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file.display(), self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_offset_computes_line_and_column() {
        let text = "a = 1\r\nbä = 2\n";
        let position = FilePosition::from_offset(Path::new("f"), text, text.find('=').unwrap() + 8);
        assert_eq!((position.line, position.column), (2, 3));
        assert_eq!(position.source_line, "bä = 2");
        let end = FilePosition::from_offset(Path::new("f"), text, 999);
        assert_eq!((end.line, end.column), (3, 1));
        assert_eq!(FilePosition::from_offset(Path::new("f"), "", 0).line, 1);
    }
}
