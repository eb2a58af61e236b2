//! JSON in the format of Go's encoder, which escapes characters that have a meaning in HTML.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// Returns a document on one line, without a line break at its end.
pub fn compact(document: &impl Serialize) -> String {
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = write_compact(document, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Returns an indented document, without a line break at its end.
pub fn pretty(document: &impl Serialize) -> String {
    let mut out = Vec::new();
    let formatter = Escaping(PrettyFormatter::new());
    let _ = document.serialize(&mut Serializer::with_formatter(&mut out, formatter));
    String::from_utf8(out).unwrap_or_default()
}

/// Writes a document in the format of [`compact`] incrementally, without holding it in memory as a
/// whole.
///
/// # Errors
/// If the output cannot be written.
pub fn write_compact(document: &impl Serialize, out: impl Write) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, Escaping(CompactFormatter));
    document.serialize(&mut serializer).map_err(io::Error::from)
}

/// A formatter that escapes more characters than the formatter that it wraps.
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let bytes = fragment.as_bytes();
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let (escape, length): (&[u8], usize) = match byte {
                b'<' => (b"\\u003c", 1),
                b'>' => (b"\\u003e", 1),
                b'&' => (b"\\u0026", 1),
                0xe2 if bytes[at..].starts_with("\u{2028}".as_bytes()) => (b"\\u2028", 3),
                0xe2 if bytes[at..].starts_with("\u{2029}".as_bytes()) => (b"\\u2029", 3),
                _ => continue,
            };
            writer.write_all(&bytes[start..at])?;
            writer.write_all(escape)?;
            start = at + length;
        }
        writer.write_all(&bytes[start..])
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
