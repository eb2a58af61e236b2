//! Writes JSON strings like Go's `encoding/json`.

use std::fmt::Write as _;

/// The characters that are escaped in addition to those that JSON requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escapes {
    /// `<`, `>`, `&`, U+2028 and U+2029: in state files, plans and all other output of Terraform.
    #[default]
    Html,
    /// Only U+2028 and U+2029: in output for which Terraform disables HTML escapes.
    Plain,
}

/// The minimum length of a string, in bytes, whose encoded length is computed before it is encoded.
const LARGE_STRING: usize = 64 * 1024;

/// Writes a string with its quotes.
pub(crate) fn write_string(text: &str, escapes: Escapes, out: &mut String) {
    // Repeated growth would need up to three times the memory.
    if text.len() >= LARGE_STRING {
        out.reserve_exact(encoded_length(text, escapes));
    }
    out.push('"');
    let mut start = 0;
    for (at, character) in text.char_indices() {
        let short = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            '<' if escapes == Escapes::Html => "\\u003c",
            '>' if escapes == Escapes::Html => "\\u003e",
            '&' if escapes == Escapes::Html => "\\u0026",
            '\0'..' ' => "",
            _ => continue,
        };
        out.push_str(&text[start..at]);
        if short.is_empty() {
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push_str(short);
        }
        start = at + character.len_utf8();
    }
    out.push_str(&text[start..]);
    out.push('"');
}

/// Returns the number of bytes that [`write_string`] writes.
fn encoded_length(text: &str, escapes: Escapes) -> usize {
    let length = |character: char| match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\u{2028}' | '\u{2029}' | '\0'..' ' => 6,
        '<' | '>' | '&' if escapes == Escapes::Html => 6,
        _ => character.len_utf8(),
    };
    text.chars().map(length).sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_length_is_exact() {
        let text = "a\"\\\n\r\t\u{8}\u{c}\u{1}\u{2028}\u{2029}<>&é漢\u{1f600}";
        for escapes in [Escapes::Html, Escapes::Plain] {
            let mut out = String::new();
            write_string(text, escapes, &mut out);
            assert_eq!(encoded_length(text, escapes), out.len(), "{out}");
        }
    }
}
