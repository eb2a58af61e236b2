//! Colors that every terminal supports.

use std::fmt;

use wardian_diagnostic::{Style, Tone};

const RESET: &str = "\u{1b}[0m";
const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const UNDERLINE: &str = "\u{1b}[4m";
const RED: &str = "\u{1b}[31m";
const GREEN_BOLD: &str = "\u{1b}[1;32m";
const YELLOW: &str = "\u{1b}[33m";

/// The meaning of a styled text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Emphasis.
    Bold,
    /// Success.
    Success,
    /// A warning.
    Warning,
}

/// A text with optional color.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Painted<'a> {
    text: &'a str,
    paint: Option<Paint>,
}

impl<'a> Painted<'a> {
    pub(super) fn new(text: &'a str, paint: Paint, color: bool) -> Self {
        Self { text, paint: color.then_some(paint) }
    }
}

impl fmt::Display for Painted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = match self.paint {
            None => return f.write_str(self.text),
            Some(Paint::Bold) => BOLD,
            Some(Paint::Success) => GREEN_BOLD,
            Some(Paint::Warning) => YELLOW,
        };
        write!(f, "{code}{}{RESET}", self.text)
    }
}

/// The styles of diagnostics on a terminal.
pub(super) struct Terminal;

impl Style for Terminal {
    fn around(&self, tone: Tone) -> (&str, &str) {
        let before = match tone {
            Tone::Error => RED,
            Tone::Warning => YELLOW,
            Tone::Bold => BOLD,
            Tone::Mark => UNDERLINE,
            Tone::Dim => DIM,
        };
        (before, RESET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disabled_color_leaves_only_text() {
        assert_eq!(Painted::new("x", Paint::Bold, false).to_string(), "x");
        assert_eq!(Painted::new("x", Paint::Bold, true).to_string(), "\u{1b}[1mx\u{1b}[0m");
    }
}
