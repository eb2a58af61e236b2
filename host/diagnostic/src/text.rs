//! Diagnostics as text for terminals.
//!
//! ```text
//! Error: Unsupported attribute
//!
//!   on main.tf line 3, in resource "a" "b":
//!    3:   x = var.y.z
//!         ────────────
//!     ├────────────────
//!     │ var.y is object with no attributes
//!
//! This object has no attribute named "z".
//! ```

use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::{Diagnostic, FunctionNote, Severity, Span};

/// The role of rendered text, for which a [`Style`] selects the color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The word "Error", and the vertical line at the left of an error.
    Error,
    /// The word "Warning", and the vertical line at the left of a warning.
    Warning,
    /// The summary.
    Bold,
    /// The marked text of a source line.
    Mark,
    /// The frame of the notes on values.
    Dim,
}

/// Adds color to rendered text, which is also readable without color.
pub trait Style {
    /// Returns the text to be written before and after text with this role.
    fn around(&self, tone: Tone) -> (&str, &str);
}

/// A style without color.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStyle;

impl Style for NoStyle {
    fn around(&self, _tone: Tone) -> (&str, &str) {
        ("", "")
    }
}

/// The maximum number of source lines that are shown.
const MAX_LINES: usize = 8;

impl Diagnostic {
    /// Renders the diagnostic for a terminal of `width` columns: a vertical line at the left, the
    /// source lines with the marked source span, the values that are involved, and the detail. The
    /// text ends with a line break.
    pub fn to_text(&self, width: usize, style: &dyn Style) -> String {
        let tone = match self.severity {
            Severity::Error => Tone::Error,
            Severity::Warning => Tone::Warning,
        };
        let rule = |sign: &str| {
            let (before, after) = style.around(tone);
            format!("{before}{sign}{after}")
        };
        let width = width.saturating_sub(2).max(20);
        let mut text = format!("{}\n", rule("╷"));
        for line in self.body(tone, width, style).trim_end().lines() {
            text.push_str(&rule("│"));
            if !line.is_empty() {
                text.push(' ');
                text.push_str(line);
            }
            text.push('\n');
        }
        text.push_str(&rule("╵"));
        text.push('\n');
        text
    }

    fn body(&self, tone: Tone, width: usize, style: &dyn Style) -> String {
        let word = match self.severity {
            Severity::Error => "Error: ",
            Severity::Warning => "Warning: ",
        };
        let mut text = String::new();
        push(&mut text, style, tone, word);
        push(&mut text, style, Tone::Bold, &self.summary);
        text.push_str("\n\n");
        if let Some(span) = &self.subject {
            self.push_source(span, style, &mut text);
            text.push('\n');
        } else if let Some(address) = &self.address {
            let _ = writeln!(text, "  with {address},\n");
        }
        if !self.detail.is_empty() {
            text.push_str(&wrap(&self.detail, width));
        }
        text
    }

    fn push_source(&self, span: &Span, style: &dyn Style, text: &mut String) {
        let start = span.start_position();
        if let Some(address) = &self.address {
            let _ = writeln!(text, "  with {address},");
        }
        let context = self.context.as_ref().map_or_else(String::new, |c| format!(", in {c}"));
        let _ = writeln!(text, "  on {} line {}{context}:", span.file.name(), start.line);
        let end = span.file.position(span.end.max(span.start));
        // A span that ends with a line break does not mark the next line.
        let last = if end.column == 1 && end.line > start.line { end.line - 1 } else { end.line };
        for line in start.line..=last.min(start.line + MAX_LINES - 1) {
            push_line(span, line, style, text);
        }
        if last >= start.line + MAX_LINES {
            let _ = writeln!(text, "       ... to line {last}");
        }
        if !self.values.is_empty() || self.function.is_some() {
            push(text, style, Tone::Dim, "    ├────────────────\n");
            if let Some(function) = &self.function {
                push(text, style, Tone::Dim, "    │ ");
                text.push_str("while calling ");
                push(text, style, Tone::Bold, &function.called_as);
                let _ = writeln!(text, "({})", parameters(function));
            }
            for note in &self.values {
                push(text, style, Tone::Dim, "    │ ");
                push(text, style, Tone::Bold, &note.traversal);
                let _ = writeln!(text, " {}", note.statement);
            }
        }
    }
}

/// Returns the names of a function's parameters, separated by commas.
fn parameters(function: &FunctionNote) -> String {
    let Some(signature) = &function.signature else { return "...".to_owned() };
    let mut names: Vec<String> = signature.parameters.iter().map(|p| p.name.to_string()).collect();
    names.extend(signature.variadic.iter().map(|p| format!("{}...", p.name)));
    names.join(", ")
}

/// Writes a source line and, in the next line, a line that underlines the marked text.
fn push_line(span: &Span, line: usize, style: &dyn Style, text: &mut String) {
    let code = span.file.line(line);
    let line_start = span.file.line_start(line);
    let inside = |byte: usize| {
        let mut byte = byte.saturating_sub(line_start).min(code.len());
        while !code.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    };
    let (from, to) = (inside(span.start), inside(span.end));
    // A line between the first and the last is marked completely, except for its indentation.
    let from = from.max(if span.start < line_start { code.len() - code.trim_start().len() } else { 0 });
    let to = to.max(from);
    let _ = write!(text, "{line:>4}: {}", printable_code(&code[..from]));
    push(text, style, Tone::Mark, &printable_code(&code[from..to]));
    let _ = writeln!(text, "{}", printable_code(&code[to..]));
    let before = printable_code(&code[..from]).width();
    let marked = printable_code(&code[from..to]).width().max(usize::from(line_start + from == span.start));
    if marked > 0 {
        let _ = write!(text, "      {}", " ".repeat(before));
        push(text, style, Tone::Mark, &"─".repeat(marked));
        text.push('\n');
    }
}

/// Replaces tabs with two spaces, so that the underline is aligned with the marked text, and
/// replaces other control characters, which must not be printed.
fn printable_code(code: &str) -> String {
    code.replace('\t', "  ").chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn push(text: &mut String, style: &dyn Style, tone: Tone, part: &str) {
    let (before, after) = style.around(tone);
    if part.is_empty() {
        return;
    }
    text.push_str(before);
    text.push_str(part);
    text.push_str(after);
}

/// Wraps paragraphs at spaces. Indented lines, which contain code or lists, are not changed.
fn wrap(text: &str, width: usize) -> String {
    let mut result = String::new();
    for paragraph in text.lines() {
        if paragraph.starts_with(' ') || paragraph.width() <= width {
            result.push_str(paragraph);
            result.push('\n');
            continue;
        }
        let mut column = 0;
        for word in paragraph.split(' ') {
            let length: usize = word.graphemes(true).map(UnicodeWidthStr::width).sum();
            if column > 0 && column + 1 + length > width {
                result.push('\n');
                column = 0;
            }
            if column > 0 {
                result.push(' ');
                column += 1;
            }
            result.push_str(word);
            column += length;
        }
        result.push('\n');
    }
    result
}
