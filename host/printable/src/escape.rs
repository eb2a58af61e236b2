//! Escapes characters that are unsafe to print on a terminal.
//!
//! These are all control characters (C0, DEL, C1), characters that change the direction of text,
//! and invisible characters. An escape has Rust's notation and consists of ASCII characters:
//! `\u{202e}`. All other characters are unchanged, and so is the width of ordinary text. Escaping
//! is idempotent.

use std::borrow::Cow;

/// The extent of text, which determines whether line breaks and tabs are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Text within one line: line breaks and tabs are escaped.
    Line,
    /// Any number of lines, each terminated by a line feed. A carriage return before it is removed.
    Lines,
}

/// Escapes the deceptive characters of text.
pub fn escape(text: &str, extent: Extent) -> Cow<'_, str> {
    if plain_prefix(text, extent).len() == text.len() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    push_escaped(text, extent, &mut shown);
    Cow::Owned(shown)
}

/// Escapes the deceptive characters of a text, and appends the result. Nearly all text contains no
/// such characters, and is copied unchanged.
pub(crate) fn push_escaped(text: &str, extent: Extent, shown: &mut String) {
    // This loop has no early exit, so the compiler vectorizes it.
    if text.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
        shown.push_str(text);
        return;
    }
    let mut rest = text;
    let mut before = None;
    loop {
        let plain = plain_prefix(rest, extent);
        shown.push_str(plain);
        before = plain.chars().next_back().or(before);
        let mut characters = rest.get(plain.len()..).unwrap_or_default().chars();
        let Some(character) = characters.next() else { return };
        rest = characters.as_str();
        let is_shown = match character {
            // A Windows line ending becomes a line feed.
            '\r' if extent == Extent::Lines && rest.starts_with('\n') => continue,
            '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(has_emoji_variant),
            JOINER => before.is_some_and(joins) && rest.chars().next().is_some_and(joins),
            _ => !is_deceptive(character),
        };
        if is_shown {
            shown.push(character);
        } else {
            push_escape(character, shown);
        }
        before = Some(character);
    }
}

/// Returns the prefix of a text before the first character that may have to be escaped.
fn plain_prefix(text: &str, extent: Extent) -> &str {
    let is_kept = |byte: u8| is_plain(byte) || (extent == Extent::Lines && matches!(byte, b'\n' | b'\t'));
    let length = text.bytes().position(|byte| !is_kept(byte)).unwrap_or(text.len());
    // All preceding characters are ASCII, so `length` is on a character boundary.
    text.get(..length).unwrap_or_default()
}

fn push_escape(character: char, shown: &mut String) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ => shown.extend(character.escape_unicode()),
    }
}

/// Returns whether a byte is a visible ASCII character or a space.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// The character that joins several emoji into one.
const JOINER: char = '\u{200d}';

/// Returns whether a character controls a terminal, changes the order of text or is invisible, in
/// any context: the general categories Cc, Cf, Zl and Zp, and default ignorable code points.
pub fn is_deceptive(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    matches!(
        character,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns whether a character has both a text and an emoji presentation.
fn has_emoji_variant(character: char) -> bool {
    is_pictograph(character) || matches!(character, '#' | '*' | '0'..='9')
}

/// Returns whether a joiner next to a character is part of an emoji.
fn joins(character: char) -> bool {
    is_pictograph(character) || character == '\u{fe0f}'
}

fn is_pictograph(character: char) -> bool {
    matches!(
        character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
            | '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{27bf}'
            | '\u{2900}'..='\u{297f}'
            | '\u{2b00}'..='\u{2bff}'
            | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

/// Replaces deceptive characters in the strings of a JSON document with JSON escapes. The meaning
/// of the document is unchanged.
pub fn escape_json(document: &str) -> Cow<'_, str> {
    let is_kept = |character: char| matches!(character, '\n' | '\t' | '\r') || !is_deceptive(character);
    if document.bytes().all(is_plain) || document.chars().all(is_kept) {
        return Cow::Borrowed(document);
    }
    let mut escaped = String::with_capacity(document.len() + 16);
    for character in document.chars() {
        if is_kept(character) {
            escaped.push(character);
        } else {
            push_json_escape(character, &mut escaped);
        }
    }
    Cow::Owned(escaped)
}

fn push_json_escape(character: char, escaped: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for unit in character.encode_utf16(&mut [0; 2]) {
        escaped.push_str("\\u");
        for shift in [12, 8, 4, 0] {
            let digit = DIGITS.get(usize::from(*unit >> shift & 0xf)).copied().unwrap_or(b'0');
            escaped.push(char::from(digit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        escape(text, Extent::Line).into_owned()
    }

    #[test]
    fn deceptive_characters_are_escaped() {
        for (text, expected) in [
            ("\u{1b}]52;c;eA==\u{7}", "\\u{1b}]52;c;eA==\\u{7}"),
            ("\u{9b}2J\u{90}\u{7f}\0", "\\u{9b}2J\\u{90}\\u{7f}\\u{0}"),
            ("a\rb\nc\td", "a\\rb\\nc\\td"),
            (
                "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}",
                "\\u{61c}\\u{200e}\\u{200f}\\u{202a}\\u{202e}\\u{2066}\\u{2069}",
            ),
            (
                "\u{2028}\u{2029}\u{ad}\u{200b}\u{200c}\u{2060}\u{feff}",
                "\\u{2028}\\u{2029}\\u{ad}\\u{200b}\\u{200c}\\u{2060}\\u{feff}",
            ),
            ("\u{e0041}\u{e0100}\u{fff9}\u{3164}\u{180e}", "\\u{e0041}\\u{e0100}\\u{fff9}\\u{3164}\\u{180e}"),
        ] {
            assert_eq!(line(text), expected);
            assert_eq!(line(expected), expected, "an escape is not escaped again");
        }
        assert_eq!(escape("a\r\n\tb\r\u{1b}", Extent::Lines), "a\n\tb\\r\\u{1b}");
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in [
            "Gr\u{fc}\u{df}e \u{4f60}\u{597d} \u{5e9}\u{5dc}\u{5d5}\u{5dd} e\u{301} \\u{1b} \"q\" 'a'",
            "\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f}\u{200d}\u{1f525} 1\u{fe0f}\u{20e3} \u{1f44d}\u{1f3fd}",
        ] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn joiners_and_variation_selectors_outside_of_emoji_are_escaped() {
        assert_eq!(line("a\u{200d}b\u{fe0f}c"), "a\\u{200d}b\\u{fe0f}c");
        assert_eq!(line("\u{1f469}\u{200d}"), "\u{1f469}\\u{200d}");
        assert_eq!(line("\u{2764}\u{fe0f}\u{fe0f}"), "\u{2764}\u{fe0f}\\u{fe0f}");
    }

    #[test]
    fn escaped_json_has_the_same_meaning() {
        assert_eq!(
            escape_json("{\n  \"a\": \"\u{202e}\u{9b}\u{7f}\u{e0041}\u{e9}\"\n}"),
            "{\n  \"a\": \"\\u202e\\u009b\\u007f\\udb40\\udc41\u{e9}\"\n}"
        );
    }
}
