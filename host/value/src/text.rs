//! Normalized, shared strings, and quoting in Go's syntax.

use std::borrow::Borrow;
use std::fmt::{self, Write as _};
use std::ops::Deref;
use std::sync::Arc;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A string in Unicode normalization form C, shared between clones.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str(Arc<str>);

impl Str {
    /// Creates a normalized string. ASCII text, which is most common, is copied without
    /// normalization.
    pub fn new(text: &str) -> Self {
        if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
            Self(Arc::from(text))
        } else {
            Self(text.nfc().collect::<String>().into())
        }
    }

    /// Returns the normalized string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Str {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Str {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Str {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<&String> for Str {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Appends `text` in quotes, with the escapes of Go's `strconv.Quote`. Printable ASCII characters
/// are not escaped; for all other characters, `is_printable` determines whether they are escaped.
pub fn go_quote(text: &str, is_printable: impl Fn(char) -> bool, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            ' '..='~' => out.push(character),
            _ if is_printable(character) => out.push(character),
            _ => {
                let code = u32::from(character);
                // Writing to a string cannot fail.
                let _ = match code {
                    0..0x80 => write!(out, "\\x{code:02x}"),
                    0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
}
