//! Quoted strings in the native syntax.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

/// Returns a quoted string whose value is `text`: template sequences are doubled, and unprintable
/// characters are escaped.
pub fn quote_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    escape_into(text, &mut quoted);
    quoted.push('"');
    quoted
}

/// Appends the content of a quoted string whose value is `text`.
pub(crate) fn escape_into(text: &str, literal: &mut String) {
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '$' | '%' if rest.peek() == Some(&'{') => literal.extend([character, character]),
            _ if is_printable(character) => literal.push(character),
            _ if u32::from(character) <= 0xffff => escape(literal, 'u', 4, character),
            _ => escape(literal, 'U', 8, character),
        }
    }
}

fn escape(literal: &mut String, letter: char, digits: usize, character: char) {
    // Writing to a string cannot fail.
    let _ = write!(literal, "\\{letter}{:0digits$x}", u32::from(character));
}

fn is_printable(character: char) -> bool {
    static PRINTABLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$").ok());
    match character {
        ' '..='~' => true,
        _ if character.is_ascii() => false,
        _ => PRINTABLE.as_ref().is_some_and(|pattern| pattern.is_match(character.encode_utf8(&mut [0; 4]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_templates_and_unprintable_characters() {
        assert_eq!(quote_string("${a} %{b} $c"), r#""$${a} %%{b} $c""#);
        assert_eq!(
            quote_string("\"\\\n\r\t\u{1}\u{a0}\u{e9}\u{e0001}"),
            "\"\\\"\\\\\\n\\r\\t\\u0001\\u00a0\u{e9}\\U000e0001\""
        );
    }
}
