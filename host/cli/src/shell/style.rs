//! The terminal colors that Wardian uses. Every terminal supports them.

use wardian_diagnostic::{Style, Tone};
use wardian_printable::PrintableText;

const RESET: &str = "\u{1b}[0m";
const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const BOLD_UNDERLINE: &str = "\u{1b}[1;4m";
const RED: &str = "\u{1b}[31m";
const GREEN_BOLD: &str = "\u{1b}[1;32m";
const YELLOW: &str = "\u{1b}[33m";

/// The style of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Emphasis.
    Bold,
    /// Success.
    Success,
    /// A warning.
    Warning,
    /// A failure.
    Failure,
    /// A step that is in progress.
    Faint,
}

/// Returns text with an optional color.
pub(super) fn painted(text: PrintableText, paint: Paint, color: bool) -> PrintableText {
    if !color {
        return text;
    }
    let code = match paint {
        Paint::Bold => BOLD,
        Paint::Success => GREEN_BOLD,
        Paint::Warning => YELLOW,
        Paint::Failure => RED,
        Paint::Faint => DIM,
    };
    let mut painted = PrintableText::from(code);
    painted.append(&text);
    painted.push(RESET);
    painted
}

/// The styles of diagnostics on a terminal.
pub(super) struct Terminal;

impl Style for Terminal {
    fn delimiters(&self, tone: Tone) -> (&'static str, &'static str) {
        let before = match tone {
            Tone::Error => RED,
            Tone::Warning => YELLOW,
            Tone::Bold => BOLD,
            Tone::Mark => BOLD_UNDERLINE,
            Tone::Dim => DIM,
        };
        (before, RESET)
    }

    fn shows_marks(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disabled_color_prints_plain_text() {
        assert_eq!(painted("x".into(), Paint::Bold, false).as_str(), "x");
        assert_eq!(painted("x".into(), Paint::Bold, true).as_str(), "\u{1b}[1mx\u{1b}[0m");
    }
}
