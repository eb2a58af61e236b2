//! Markdown to which only literals and escaped text can be added.

use std::fmt::Write as _;

use wardian_printable::direction::{ISOLATE_END, ISOLATE_START, has_right_to_left, isolated};
use wardian_printable::escape::{Extent, escape};

/// Maximum length of a name in a sentence and in the summary of an element.
pub(super) const MAX_NAME_LENGTH: usize = 200;

/// A part of a comment, and its length in UTF-16 code units. Services count either these or characters,
/// which are never more.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkdownText {
    text: String,
    length: usize,
}

impl MarkdownText {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn push(&mut self, literal: &'static str) {
        self.add(literal);
    }

    pub(super) fn push_number(&mut self, number: usize) {
        self.add(&number.to_string());
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        self.length += other.length;
    }

    /// Adds a name as inline code. Its fence is longer than any sequence of backticks in the name, so
    /// nothing in the name is active. Right-to-left text is isolated.
    pub(super) fn push_code(&mut self, name: &str) {
        let name = shown(name, MAX_NAME_LENGTH);
        let is_isolated = has_right_to_left(&name);
        if is_isolated {
            self.add_character(ISOLATE_START);
        }
        let fence = "`".repeat(longest_run(&name, '`') + 1);
        self.add(&fence);
        let needs_space = name.starts_with('`') || name.ends_with('`') || name.trim().len() != name.len();
        let space = if needs_space { " " } else { "" };
        self.add(space);
        self.add(if name.is_empty() { "\"\"" } else { &name });
        self.add(space);
        self.add(&fence);
        if is_isolated {
            self.add_character(ISOLATE_END);
        }
    }

    /// Adds the start of a name as code in an HTML element, also in a cell of a table.
    pub(super) fn push_html_code(&mut self, name: &str, length: usize) {
        self.add("<code>");
        for character in isolated(&shown(name, length)).chars() {
            match character {
                '&' => self.add("&amp;"),
                '<' => self.add("&lt;"),
                '>' => self.add("&gt;"),
                '"' => self.add("&quot;"),
                '\'' => self.add("&#39;"),
                '`' => self.add("&#96;"),
                '|' => self.add("&#124;"),
                other => self.add_character(other),
            }
        }
        self.add("</code>");
    }

    /// Adds the start of an identifier for an HTML comment: letters, digits and a few other characters.
    /// Returns whether the whole name was added.
    pub(super) fn push_identifier(&mut self, name: &str, length: usize) -> bool {
        let mut identifier = String::new();
        for byte in name.bytes().take(length) {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/') {
                identifier.push(char::from(byte));
            } else {
                // Writing to a string does not fail.
                let _ = write!(identifier, "%{byte:02X}");
            }
        }
        self.add(&identifier);
        name.len() <= length
    }

    pub(super) fn push_hexadecimal(&mut self, byte: u8) {
        self.add(&format!("{byte:02x}"));
    }

    /// Adds lines as a code block in the format of a difference. The fence is longer than any sequence
    /// of backticks in the lines.
    pub(super) fn push_fenced(&mut self, lines: &FencedLines) {
        let fence = "`".repeat(longest_run(&lines.0, '`').max(2) + 1);
        self.add(&fence);
        self.add("diff\n");
        self.add(&lines.0);
        self.add(&fence);
        self.add("\n");
    }

    pub(super) fn into_string(self) -> String {
        self.text
    }

    fn add_character(&mut self, character: char) {
        self.text.push(character);
        self.length += character.len_utf16();
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.length += text.chars().map(char::len_utf16).sum::<usize>();
    }
}

/// The lines of a code block. Each line starts with a literal.
#[derive(Debug, Default)]
pub(super) struct FencedLines(String);

impl FencedLines {
    /// Adds a line. Deceptive characters, including line breaks, are escaped, and right-to-left parts are
    /// isolated.
    pub(super) fn push(&mut self, start: &'static str, parts: &[&str]) {
        self.0.push_str(start);
        for part in parts {
            self.0.push_str(&isolated(&escape(part, Extent::Line)));
        }
        self.0.push('\n');
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns a name as it is shown: escaped, and cut if it is long.
fn shown(name: &str, length: usize) -> String {
    let (kept, removed) = crate::value_text::cut(name, length);
    let mut shown = escape(kept, Extent::Line).into_owned();
    if removed > 0 {
        shown.push_str("...");
    }
    shown
}

fn longest_run(text: &str, character: char) -> usize {
    let (mut longest, mut current) = (0, 0);
    for found in text.chars() {
        current = if found == character { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_fenced_by_more_backticks_than_it_contains() {
        let code = |name: &str| {
            let mut text = MarkdownText::new();
            text.push_code(name);
            assert_eq!(text.len(), text.text.encode_utf16().count());
            text.into_string()
        };
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a``b`"), "``` a``b` ```");
        assert_eq!(code("a\n# b"), "`a\\n# b`");
        assert_eq!(code(" "), "`   `");
        assert_eq!(code(""), "`\"\"`");
        assert_eq!(code("שלום`"), "\u{2068}`` שלום` ``\u{2069}");
    }

    #[test]
    fn code_in_tables_ends_no_cell() {
        let mut text = MarkdownText::new();
        text.push_html_code("a|b`<c\n", 6);
        assert_eq!(text.into_string(), "<code>a&#124;b&#96;&lt;c...</code>");
    }

    #[test]
    fn identifiers_do_not_end_a_comment() {
        let mut text = MarkdownText::new();
        assert!(text.push_identifier("a-->b\n", 10));
        assert_eq!(text.into_string(), "a%2D%2D%3Eb%0A");
    }
}
