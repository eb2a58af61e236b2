//! HTML to which only literals and escaped text can be added.

use std::fmt::Write as _;
use std::io::{self, Write};

use wardian_printable::escape::{Extent, escape};

/// Number of bytes that are collected before they are written.
const BUFFER_SIZE: usize = 1 << 16;

/// Writes a page. After an error, nothing more is written, and [`HtmlWriter::finish`] returns it.
pub(super) struct HtmlWriter<'a> {
    buffer: String,
    out: &'a mut dyn Write,
    failure: Option<io::Error>,
}

impl<'a> HtmlWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { buffer: String::with_capacity(BUFFER_SIZE + 4096), out, failure: None }
    }

    /// Writes markup.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.buffer.push_str(markup);
        self.flush_full();
    }

    /// Writes text in an element or in a quoted attribute. Deceptive characters, including line breaks,
    /// are escaped as on a terminal.
    pub(super) fn text(&mut self, text: &str) {
        let shown = escape(text, Extent::Line);
        let mut rest = &*shown;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.buffer.push_str(plain);
            self.buffer.push_str(match special.as_bytes().first() {
                Some(b'&') => "&amp;",
                Some(b'<') => "&lt;",
                Some(b'>') => "&gt;",
                Some(b'"') => "&quot;",
                _ => "&#39;",
            });
            rest = special.get(1..).unwrap_or_default();
        }
        self.buffer.push_str(rest);
        self.flush_full();
    }

    pub(super) fn number(&mut self, number: usize) {
        // Writing to a string does not fail.
        let _ = write!(self.buffer, "{number}");
    }

    /// Writes a number with separators between thousands.
    pub(super) fn grouped_number(&mut self, number: usize) {
        let digits = number.to_string();
        for (position, digit) in digits.chars().enumerate() {
            if position > 0 && (digits.len() - position).is_multiple_of(3) {
                self.buffer.push(',');
            }
            self.buffer.push(digit);
        }
    }

    /// Writes a name as code that is isolated from the direction of the surrounding text.
    pub(super) fn code(&mut self, name: &str) {
        self.raw("<code dir=auto>");
        self.text(name);
        self.raw("</code>");
    }

    /// Writes text that is isolated from the direction of the surrounding text.
    pub(super) fn isolated(&mut self, text: &str) {
        self.raw("<bdi>");
        self.text(text);
        self.raw("</bdi>");
    }

    /// Writes text whose lines are kept in a `pre` element.
    pub(super) fn lines(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            self.raw(if index == 0 { "" } else { "\n" });
            self.text(line);
        }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush();
        match self.failure {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn flush_full(&mut self) {
        if self.buffer.len() >= BUFFER_SIZE {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(self.buffer.as_bytes()).err();
        }
        self.buffer.clear();
    }
}
