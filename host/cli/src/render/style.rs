//! The colors of rendered text, and the buffer to which it is written.

use wardian_printable::{Printable, PrintableText};

/// The style of text. The colors are Terraform's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Headers.
    Bold,
    /// Destruction, in a header.
    BoldRed,
    /// Success, in a header.
    BoldGreen,
    /// Notes, in a header.
    BoldCyan,
    /// Removed values, and attributes that force a replacement.
    Red,
    /// Added values.
    Green,
    /// Changed values.
    Yellow,
    /// Values that are being read.
    Cyan,
    /// Notes about omitted lines.
    Gray,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "\u{1b}[1m",
            Self::BoldRed => "\u{1b}[1m\u{1b}[31m",
            Self::BoldGreen => "\u{1b}[1m\u{1b}[32m",
            Self::BoldCyan => "\u{1b}[1m\u{1b}[36m",
            Self::Red => "\u{1b}[31m",
            Self::Green => "\u{1b}[32m",
            Self::Yellow => "\u{1b}[33m",
            Self::Cyan => "\u{1b}[36m",
            Self::Gray => "\u{1b}[90m",
        }
    }
}

const RESET: &str = "\u{1b}[0m";

/// Text to which a renderer writes.
#[derive(Debug)]
pub(crate) struct Page {
    text: PrintableText,
    color: bool,
}

impl Page {
    pub(crate) fn new(color: bool) -> Self {
        Self { text: PrintableText::new(), color }
    }

    /// Returns an empty page with the same color setting.
    pub(super) fn aside(&self) -> Self {
        Self::new(self.color)
    }

    pub(crate) fn push(&mut self, literal: &'static str) {
        self.text.push(literal);
    }

    /// Writes a value as text within one line: line breaks are escaped.
    pub(crate) fn append(&mut self, value: &(impl Printable + ?Sized)) {
        self.text.append(value);
    }

    /// Writes text in the given style.
    pub(crate) fn paint(&mut self, style: Style, text: impl Into<PrintableText>) {
        if self.color {
            self.text.push(style.code());
        }
        self.text.append(&text.into());
        if self.color {
            self.text.push(RESET);
        }
    }

    pub(super) fn blanks(&mut self, count: usize) {
        self.text.push_repeated(" ", count);
    }

    pub(crate) fn text(&self) -> &PrintableText {
        &self.text
    }

    pub(crate) fn finish(self) -> PrintableText {
        self.text
    }

    /// Writes a sentence, broken into lines of at most `width` columns. Existing line breaks are
    /// preserved.
    pub(crate) fn paragraph(&mut self, text: impl Into<PrintableText>, width: usize) {
        for line in text.into().as_str().split('\n') {
            let mut column = 0;
            for word in line.split(' ') {
                let length = word.chars().count();
                if column > 0 && column + 1 + length > width {
                    self.text.push("\n");
                    column = 0;
                } else if column > 0 {
                    self.text.push(" ");
                    column += 1;
                }
                self.text.append_lines(word);
                column += length;
            }
            self.text.push("\n");
        }
    }

    /// Writes a horizontal line of the page's width.
    pub(crate) fn rule(&mut self, width: usize) {
        let mut line = PrintableText::new();
        line.push_repeated("\u{2500}", width.saturating_sub(1).max(1));
        self.paint(Style::Gray, line);
        self.text.push("\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraph_breaks_lines_between_words() {
        let mut page = Page::new(false);
        page.paragraph("one two three four\nfive averyveryverylongword x", 10);
        assert_eq!(page.text().as_str(), "one two\nthree four\nfive\naveryveryverylongword\nx\n");
    }

    #[test]
    fn colors_are_written_only_if_enabled() {
        for (color, expected) in [(false, "- x"), (true, "\u{1b}[31m-\u{1b}[0m x")] {
            let mut page = Page::new(color);
            page.paint(Style::Red, "-");
            page.push(" x");
            assert_eq!(page.text().as_str(), expected);
        }
    }
}
