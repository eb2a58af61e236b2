//! JSON in the format of Go's encoder, which escapes the characters that are special in HTML.
//! Characters that are unsafe to print on a terminal are also escaped.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use wardian_printable::escape::is_deceptive;

/// Returns a document on one line, without a trailing line break.
pub fn compact(document: &impl Serialize) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_compact(document, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Returns an indented document, without a trailing line break.
pub fn pretty(document: &impl Serialize) -> String {
    let mut out = Vec::new();
    let formatter = Escaping(PrettyFormatter::new());
    let _ = document.serialize(&mut Serializer::with_formatter(&mut out, formatter));
    String::from_utf8(out).unwrap_or_default()
}

/// Writes a document incrementally in the format of [`compact`], without holding the complete
/// output in memory.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn write_compact(document: &impl Serialize, out: impl Write) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, Escaping(CompactFormatter));
    document.serialize(&mut serializer).map_err(io::Error::from)
}

/// A formatter that escapes more characters than the wrapped formatter.
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut start = 0;
        for (at, character) in fragment.char_indices() {
            if !matches!(character, '<' | '>' | '&') && !is_deceptive(character) {
                continue;
            }
            writer.write_all(&fragment.as_bytes()[start..at])?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            start = at + character.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[start..])
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
