//! Displays a command with each word quoted, which makes the end of each word visible.

use std::fmt;

/// Displays words in brackets, separated by spaces.
pub(crate) struct Quoted<'a>(pub(crate) &'a [String]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (position, word) in self.0.iter().enumerate() {
            if position > 0 {
                formatter.write_str(" ")?;
            }
            quote(word, formatter)?;
        }
        formatter.write_str("]")
    }
}

fn quote(word: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    formatter.write_str("\"")?;
    for c in word.chars() {
        match c {
            '"' | '\\' => write!(formatter, "\\{c}")?,
            '\u{7}' => formatter.write_str("\\a")?,
            '\u{8}' => formatter.write_str("\\b")?,
            '\u{c}' => formatter.write_str("\\f")?,
            '\n' => formatter.write_str("\\n")?,
            '\r' => formatter.write_str("\\r")?,
            '\t' => formatter.write_str("\\t")?,
            '\u{b}' => formatter.write_str("\\v")?,
            _ if c < ' ' || c == '\u{7f}' => write!(formatter, "\\x{:02x}", u32::from(c))?,
            // Invisible characters, and characters that change the text direction, are shown as
            // code points.
            _ if c.is_control() || c != ' ' && c.is_whitespace() || is_invisible(c) => match u32::from(c) {
                number @ ..=0xffff => write!(formatter, "\\u{number:04x}")?,
                number => write!(formatter, "\\U{number:08x}")?,
            },
            _ => write!(formatter, "{c}")?,
        }
    }
    formatter.write_str("\"")
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e007f}')
}
