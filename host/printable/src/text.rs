//! Printable text, and the values that can be appended to it.

use std::borrow::Cow;
use std::fmt;

use crate::escape::{Extent, escape, push_escaped};

/// Human-readable text: literals in the source code, and other text whose deceptive characters are
/// escaped.
///
/// [`PrintableText`] does not implement `Display`, which prevents `format!` from converting it to a
/// string of unknown origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrintableText(Cow<'static, str>);

/// A line of a [`PrintableText`], without its line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintableLine<'a>(&'a str);

/// An argument of [`printable!`](crate::printable). The argument is escaped as text within one
/// line, unless it is already printable text.
pub trait Printable {
    fn append_to(&self, text: &mut PrintableText);
}

impl<T: fmt::Display + ?Sized> Printable for T {
    fn append_to(&self, text: &mut PrintableText) {
        // The writer never fails; if the value's formatting fails, the text is incomplete.
        let _ = fmt::write(&mut EscapingWriter(text), format_args!("{self}"));
    }
}

impl Printable for PrintableText {
    fn append_to(&self, text: &mut PrintableText) {
        text.push_printable(&self.0);
    }
}

impl Printable for &PrintableText {
    fn append_to(&self, text: &mut PrintableText) {
        text.push_printable(&self.0);
    }
}

impl Printable for PrintableLine<'_> {
    fn append_to(&self, text: &mut PrintableText) {
        text.push_printable(self.0);
    }
}

/// A writer that appends text to a [`PrintableText`], escaped as text within one line.
struct EscapingWriter<'a>(&'a mut PrintableText);

impl fmt::Write for EscapingWriter<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        push_escaped(part, Extent::Line, self.0.0.to_mut());
        Ok(())
    }
}

impl PrintableText {
    pub const fn new() -> Self {
        Self(Cow::Borrowed(""))
    }

    /// Returns a value as text within one line: line breaks are escaped.
    pub fn from_line(value: impl Printable) -> Self {
        let mut text = Self::new();
        value.append_to(&mut text);
        text
    }

    /// Returns text of any number of lines.
    pub fn from_lines(lines: &str) -> Self {
        Self(Cow::Owned(escape(lines, Extent::Lines).into_owned()))
    }

    pub fn push(&mut self, literal: &'static str) {
        self.push_printable(literal);
    }

    /// Appends a value as text within one line: line breaks are escaped.
    pub fn append(&mut self, value: &(impl Printable + ?Sized)) {
        value.append_to(self);
    }

    /// Appends text of any number of lines.
    pub fn append_lines(&mut self, lines: &str) {
        push_escaped(lines, Extent::Lines, self.0.to_mut());
    }

    /// Appends a literal several times.
    pub fn push_repeated(&mut self, literal: &'static str, count: usize) {
        self.0.to_mut().extend(std::iter::repeat_n(literal, count));
    }

    /// Pads the text with spaces to this number of characters.
    #[must_use]
    pub fn padded_to(mut self, width: usize) -> Self {
        let length = self.0.chars().count();
        self.push_repeated(" ", width.saturating_sub(length));
        self
    }

    /// Returns the text as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text as a string.
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn lines(&self) -> impl Iterator<Item = PrintableLine<'_>> {
        self.0.lines().map(PrintableLine)
    }

    /// Removes trailing spaces and line breaks.
    pub fn trim_end(&mut self) {
        let length = self.0.trim_end().len();
        if length < self.0.len() {
            self.0.to_mut().truncate(length);
        }
    }

    fn push_printable(&mut self, part: &str) {
        self.0.to_mut().push_str(part);
    }
}

impl PrintableLine<'_> {
    /// Returns the line as a string.
    pub fn as_str(&self) -> &str {
        self.0
    }
}

impl From<&'static str> for PrintableText {
    fn from(literal: &'static str) -> Self {
        Self(Cow::Borrowed(literal))
    }
}

impl From<&Self> for PrintableText {
    fn from(text: &Self) -> Self {
        text.clone()
    }
}

impl FromIterator<PrintableText> for PrintableText {
    fn from_iter<I: IntoIterator<Item = PrintableText>>(parts: I) -> Self {
        let mut text = Self::new();
        parts.into_iter().for_each(|part| text.append(&part));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{append, append_line, printable};

    #[test]
    fn arguments_are_escaped_and_literals_are_not() {
        let (name, width, code) = ("a\nb\u{1b}", 8, printable!("\u{1b}[1mx"));
        assert_eq!(printable!("\n{name}|\t{{}}").as_str(), "\na\\nb\\u{1b}|\t{}");
        assert_eq!(printable!("{}{code}{}", 1, name.len()).as_str(), "1\u{1b}[1mx4");
        assert_eq!(printable!("{0} {0} {last:?}", 'x', last = "\u{202e}").as_str(), "x x \"\\u{202e}\"");
        assert_eq!(
            printable!("{:<width$}|{:>3}|{:.1}|{name:>6}", "ab", 7, 0.25).as_str(),
            "ab      |  7|0.2|  a\\nb\\u{1b}"
        );
        assert_eq!(
            printable!(
                "a \
            {}
            b",
                'c'
            )
            .as_str(),
            "a c\n            b"
        );
        assert_eq!(printable!(r"\{}", 1).as_str(), "\\1");
        assert_eq!(printable!("\u{e9}{}\"", 1).as_str(), "\u{e9}1\"");
    }

    #[test]
    fn text_is_appended() {
        let mut text = PrintableText::new();
        append!(text, "{}", "\r");
        append_line!(text, "x{}", 2);
        append_line!(text);
        assert_eq!(text.as_str(), "\\rx2\n\n");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn short_text_is_padded_to_the_column() {
        assert_eq!(PrintableText::from_line("\u{e9}").padded_to(3).as_str(), "\u{e9}  ");
        assert_eq!(PrintableText::from_line("abcd").padded_to(3).as_str(), "abcd");
    }
}
