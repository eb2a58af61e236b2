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

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use wardian_printable::{PrintableText, append, append_line, printable};

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
    fn around(&self, tone: Tone) -> (&'static str, &'static str);
}

/// A style without color.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStyle;

impl Style for NoStyle {
    fn around(&self, _tone: Tone) -> (&'static str, &'static str) {
        ("", "")
    }
}

/// The maximum number of source lines that are shown.
const MAX_LINES: usize = 8;

impl Diagnostic {
    /// Renders the diagnostic for a terminal of `width` columns: a vertical line at the left, the
    /// source lines with the marked source span, the values that are involved, and the detail. The
    /// text ends with a line break.
    pub fn to_text(&self, width: usize, style: &dyn Style) -> PrintableText {
        let tone = match self.severity {
            Severity::Error => Tone::Error,
            Severity::Warning => Tone::Warning,
        };
        let (before, after) = style.around(tone);
        let mut text = PrintableText::new();
        let rule = |text: &mut PrintableText, sign: &'static str| {
            text.push(before);
            text.push(sign);
            text.push(after);
        };
        let width = width.saturating_sub(2).max(20);
        rule(&mut text, "╷");
        text.push("\n");
        let mut body = self.body(tone, width, style);
        body.trim_end();
        for line in body.lines() {
            rule(&mut text, "│");
            if !line.as_str().is_empty() {
                append!(text, " {line}");
            }
            text.push("\n");
        }
        rule(&mut text, "╵");
        text.push("\n");
        text
    }

    fn body(&self, tone: Tone, width: usize, style: &dyn Style) -> PrintableText {
        let word = match self.severity {
            Severity::Error => "Error: ",
            Severity::Warning => "Warning: ",
        };
        let mut text = PrintableText::new();
        push(&mut text, style, tone, word.into());
        push(&mut text, style, Tone::Bold, PrintableText::from_lines(&self.summary));
        text.push("\n\n");
        if let Some(span) = &self.subject {
            self.push_source(span, style, &mut text);
            text.push("\n");
        } else if let Some(address) = &self.address {
            append_line!(text, "  with {address},\n");
        }
        if !self.detail.is_empty() {
            append_wrapped(&self.detail, width, &mut text);
        }
        text
    }

    fn push_source(&self, span: &Span, style: &dyn Style, text: &mut PrintableText) {
        let start = span.start_position();
        if let Some(address) = &self.address {
            append_line!(text, "  with {address},");
        }
        append!(text, "  on {} line {}", span.file.name(), start.line);
        if let Some(context) = &self.context {
            append!(text, ", in {context}");
        }
        text.push(":\n");
        let end = span.file.position(span.end.max(span.start));
        // A span that ends with a line break does not mark the next line.
        let last = if end.column == 1 && end.line > start.line { end.line - 1 } else { end.line };
        for line in start.line..=last.min(start.line + MAX_LINES - 1) {
            push_line(span, line, style, text);
        }
        if last >= start.line + MAX_LINES {
            append_line!(text, "       ... to line {last}");
        }
        if !self.values.is_empty() || self.function.is_some() {
            push(text, style, Tone::Dim, "    ├────────────────\n".into());
            if let Some(function) = &self.function {
                push(text, style, Tone::Dim, "    │ ".into());
                text.push("while calling ");
                push(text, style, Tone::Bold, printable!("{}", function.called_as));
                append_line!(text, "({})", parameters(function));
            }
            for note in &self.values {
                push(text, style, Tone::Dim, "    │ ".into());
                push(text, style, Tone::Bold, printable!("{}", note.traversal));
                append_line!(text, " {}", note.statement);
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
fn push_line(span: &Span, line: usize, style: &dyn Style, text: &mut PrintableText) {
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
    let (before, marked) = (printable_code(&code[..from]), printable_code(&code[from..to]));
    let columns = before.as_str().width();
    let marks = marked.as_str().width().max(usize::from(line_start + from == span.start));
    append!(text, "{line:>4}: {before}");
    push(text, style, Tone::Mark, marked);
    append_line!(text, "{}", printable_code(&code[to..]));
    if marks > 0 {
        text.push("      ");
        text.push_repeated(" ", columns);
        let mut rule = PrintableText::new();
        rule.push_repeated("─", marks);
        push(text, style, Tone::Mark, rule);
        text.push("\n");
    }
}

/// Replaces tabs with two spaces, so that the underline is aligned with the marked text.
fn printable_code(code: &str) -> PrintableText {
    PrintableText::from_line(code.replace('\t', "  "))
}

fn push(text: &mut PrintableText, style: &dyn Style, tone: Tone, part: PrintableText) {
    if part.is_empty() {
        return;
    }
    let (before, after) = style.around(tone);
    text.push(before);
    text.append(&part);
    text.push(after);
}

/// Wraps paragraphs at spaces. Indented lines, which contain code or lists, are not changed.
fn append_wrapped(detail: &str, width: usize, text: &mut PrintableText) {
    for paragraph in PrintableText::from_lines(detail).as_str().lines() {
        if paragraph.starts_with(' ') || paragraph.width() <= width {
            text.append_lines(paragraph);
            text.push("\n");
            continue;
        }
        let mut column = 0;
        for word in paragraph.split(' ') {
            let length: usize = word.graphemes(true).map(UnicodeWidthStr::width).sum();
            if column > 0 && column + 1 + length > width {
                text.push("\n");
                column = 0;
            }
            if column > 0 {
                text.push(" ");
                column += 1;
            }
            text.append_lines(word);
            column += length;
        }
        text.push("\n");
    }
}
