//! Renders diagnostics as text for terminals.
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

/// The role of a piece of rendered text. A [`Style`] selects the color for each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The word "Error", and the vertical line to the left of an error.
    Error,
    /// The word "Warning", and the vertical line to the left of a warning.
    Warning,
    /// The summary.
    Bold,
    /// The marked text of a source line.
    Mark,
    /// The frame of the notes on values.
    Dim,
}

/// Adds color to rendered text. The text is also readable without color.
pub trait Style {
    /// Returns the text to be written before and after text with this role.
    fn delimiters(&self, tone: Tone) -> (&'static str, &'static str);

    /// Returns whether the style highlights marked text in a source line. If not, a separate line
    /// underlines the text.
    fn shows_marks(&self) -> bool {
        false
    }

    /// Returns whether a vertical line is printed to the left of a diagnostic. If not, an empty
    /// line precedes the diagnostic.
    fn has_frame(&self) -> bool {
        true
    }
}

/// A style without color.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStyle;

impl Style for NoStyle {
    fn delimiters(&self, _tone: Tone) -> (&'static str, &'static str) {
        ("", "")
    }
}

/// The style of Terraform's option `-no-color`: no color, and no vertical line.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainStyle;

impl Style for PlainStyle {
    fn delimiters(&self, _tone: Tone) -> (&'static str, &'static str) {
        ("", "")
    }

    fn has_frame(&self) -> bool {
        false
    }
}

/// Maximum number of source lines that are shown.
const MAX_LINES: usize = 8;

/// Number of columns before the text of a source line.
const LINE_NUMBER_COLUMNS: usize = 6;

/// Minimum number of columns of a source line that are shown.
const MIN_WINDOW: usize = 20;

impl Diagnostic {
    /// Renders the diagnostic for a terminal of `width` columns: a vertical line to its left, the
    /// source lines with the marked source span, notes on the values involved, and the detail. The
    /// text ends with a line break.
    pub fn to_text(&self, width: usize, style: &dyn Style) -> PrintableText {
        let tone = match self.severity {
            Severity::Error => Tone::Error,
            Severity::Warning => Tone::Warning,
        };
        let (before, after) = style.delimiters(tone);
        let mut text = PrintableText::new();
        let rule = |text: &mut PrintableText, sign: &'static str| {
            text.push(before);
            text.push(sign);
            text.push(after);
        };
        let width = width.saturating_sub(2).max(20);
        let mut body = self.body(tone, width, style);
        body.trim_end();
        if !style.has_frame() {
            append_line!(text, "\n{body}");
            return text;
        }
        rule(&mut text, "╷");
        text.push("\n");
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
            self.push_source(span, width, style, &mut text);
            text.push("\n");
        } else if let Some(address) = &self.address {
            append_line!(text, "  with {address}\n");
        }
        if !self.detail.is_empty() {
            append_wrapped(&self.detail, width, &mut text);
        }
        text
    }

    fn push_source(&self, span: &Span, width: usize, style: &dyn Style, text: &mut PrintableText) {
        let start = span.start_position();
        if let Some(address) = &self.address {
            append_line!(text, "  with {address},");
        }
        append!(text, "  on {} line {}", span.file.name(), start.line);
        if let Some(context) = self.enclosing_block() {
            append!(text, ", in {context}");
        }
        text.push(":\n");
        let end = span.file.position(span.end.max(span.start));
        // A span that ends with a line break does not extend to the next line.
        let last = if end.column == 1 && end.line > start.line { end.line - 1 } else { end.line };
        for line in start.line..=last.min(start.line + MAX_LINES - 1) {
            push_line(span, line, width, style, text);
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

/// Writes a source line with its marked text. A line that is too long is truncated on both sides of
/// the marked text.
fn push_line(span: &Span, line: usize, width: usize, style: &dyn Style, text: &mut PrintableText) {
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
    let window = Window::new(code, from, to, width.saturating_sub(LINE_NUMBER_COLUMNS));
    let (before, marked) = (printable_code(window.before), printable_code(window.marked));
    let columns = before.as_str().width() + window.start.width();
    let marks = marked.as_str().width().max(usize::from(line_start + from == span.start));
    append!(text, "{line:>4}: ");
    push(text, style, Tone::Dim, window.start.into());
    append!(text, "{before}");
    push(text, style, Tone::Mark, marked);
    append!(text, "{}", printable_code(window.after));
    push(text, style, Tone::Dim, window.end.into());
    text.push("\n");
    // The style of an empty text is not visible.
    let is_visible = style.shows_marks() && !window.marked.trim().is_empty();
    if marks > 0 && !is_visible {
        text.push_repeated(" ", LINE_NUMBER_COLUMNS);
        text.push_repeated(" ", columns);
        let mut rule = PrintableText::new();
        rule.push_repeated("─", marks);
        push(text, style, Tone::Mark, rule);
        text.push("\n");
    }
}

/// The displayed range of a source line.
struct Window<'a> {
    /// An ellipsis if the line begins before this range.
    start: &'static str,
    before: &'a str,
    marked: &'a str,
    after: &'a str,
    /// An ellipsis if the line continues after this range.
    end: &'static str,
}

impl<'a> Window<'a> {
    /// Selects the range of a line that fits in `width` columns. The marked text is in bytes
    /// `from..to`. O(length of the line).
    fn new(code: &'a str, from: usize, to: usize, width: usize) -> Self {
        const ELLIPSIS: &str = "…";
        let width = width.max(MIN_WINDOW);
        let (before, marked, after) = (&code[..from], &code[from..to], &code[to..]);
        if columns(code) <= width {
            return Self { start: "", before, marked, after, end: "" };
        }
        // The marked text takes precedence. At least a third of the remaining width is available
        // for the text before it.
        let marked_width = columns(marked).min(width - 2);
        let rest = width - 2 - marked_width;
        let after_width = columns(after).min(rest);
        let before_width = columns(before).min((rest / 3).max(rest - after_width));
        let after_width = columns(after).min(rest - before_width);
        let shown_before = last_columns(before, before_width);
        let shown_marked = first_columns(marked, marked_width);
        let shown_after =
            if shown_marked.len() < marked.len() { "" } else { first_columns(after, after_width) };
        let is_complete = shown_marked.len() + shown_after.len() == marked.len() + after.len();
        Self {
            start: if shown_before.len() < before.len() { ELLIPSIS } else { "" },
            before: shown_before,
            marked: shown_marked,
            after: shown_after,
            end: if is_complete { "" } else { ELLIPSIS },
        }
    }
}

/// Returns the display width, in columns, of a range of a source line.
fn columns(code: &str) -> usize {
    printable_code(code).as_str().width()
}

/// Returns the longest prefix of the text that fits in a number of columns.
fn first_columns(code: &str, width: usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for grapheme in code.graphemes(true) {
        used += columns(grapheme);
        if used > width {
            break;
        }
        end += grapheme.len();
    }
    &code[..end]
}

/// Returns the longest suffix of the text that fits in a number of columns.
fn last_columns(code: &str, width: usize) -> &str {
    let mut used = 0;
    let mut start = code.len();
    for grapheme in code.graphemes(true).rev() {
        used += columns(grapheme);
        if used > width {
            break;
        }
        start -= grapheme.len();
    }
    &code[start..]
}

/// Replaces tabs with two spaces, to align the underline with the marked text.
fn printable_code(code: &str) -> PrintableText {
    PrintableText::from_line(code.replace('\t', "  "))
}

fn push(text: &mut PrintableText, style: &dyn Style, tone: Tone, part: PrintableText) {
    if part.is_empty() {
        return;
    }
    let (before, after) = style.delimiters(tone);
    text.push(before);
    text.append(&part);
    text.push(after);
}

/// Wraps paragraphs and list items at spaces. Other indented lines, which contain code or commands,
/// are not changed.
fn append_wrapped(detail: &str, width: usize, text: &mut PrintableText) {
    for paragraph in PrintableText::from_lines(detail).as_str().lines() {
        let indentation = paragraph.len() - paragraph.trim_start_matches(' ').len();
        let is_item = paragraph[indentation..].starts_with("- ");
        if paragraph.width() <= width || indentation > 0 && !is_item {
            text.append_lines(paragraph);
            text.push("\n");
            continue;
        }
        text.push_repeated(" ", indentation);
        let mut column = indentation;
        let hanging = if is_item { indentation + 2 } else { 0 };
        let mut is_first = true;
        for word in paragraph[indentation..].split(' ') {
            let length: usize = word.graphemes(true).map(UnicodeWidthStr::width).sum();
            if !is_first && column + 1 + length > width {
                text.push("\n");
                text.push_repeated(" ", hanging);
                column = hanging;
            } else if !is_first {
                text.push(" ");
                column += 1;
            }
            text.append_lines(word);
            column += length;
            is_first = false;
        }
        text.push("\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceFile;

    /// A style that makes marked text visible in the output.
    struct Underlined;

    impl Style for Underlined {
        fn delimiters(&self, tone: Tone) -> (&'static str, &'static str) {
            if tone == Tone::Mark { ("<", ">") } else { ("", "") }
        }

        fn shows_marks(&self) -> bool {
            true
        }
    }

    fn source_lines(code: &str, marked: &str, width: usize, style: &dyn Style) -> Vec<String> {
        let file = SourceFile::new("main.tf", code);
        let start = code.find(marked).unwrap();
        let problem = Diagnostic::error("Summary", "").at(Span::new(&file, start, start + marked.len()));
        let text = problem.to_text(width, style).into_string();
        text.lines()
            .skip(4)
            .map(|line| line.trim_start_matches("│ ").to_owned())
            .take_while(|line| line != "╵")
            .collect()
    }

    #[test]
    fn marker_is_printed_once() {
        assert_eq!(source_lines("a = vra.b", "vra.b", 80, &NoStyle), ["   1: a = vra.b", "          ─────"]);
        assert_eq!(source_lines("a = vra.b", "vra.b", 80, &Underlined), ["   1: a = <vra.b>"]);
    }

    #[test]
    fn long_source_line_is_truncated_around_the_marked_text() {
        let code = format!("{}MARK{}", "x".repeat(2000), "y".repeat(2000));
        let lines = source_lines(&code, "MARK", 60, &NoStyle);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.width() <= 58), "{lines:?}");
        assert!(lines[0].starts_with("   1: …xxx") && lines[0].ends_with("yyy…"), "{lines:?}");
        let column = lines[0].chars().position(|character| character == 'M');
        assert_eq!(lines[1].chars().position(|character| character == '─'), column);
        assert_eq!(lines[1].matches('─').count(), 4);

        let whole = source_lines(&"z".repeat(4000), &"z".repeat(4000), 60, &NoStyle);
        assert!(whole.iter().all(|line| line.width() <= 58), "{whole:?}");
        let wide = format!("{}MARK", "\u{4e16}".repeat(100));
        assert!(source_lines(&wide, "MARK", 60, &NoStyle).iter().all(|line| line.width() <= 58));
        let end = format!("a = \"{}\"", "x".repeat(200));
        let lines = source_lines(&end, "a", 60, &NoStyle);
        assert!(lines[0].starts_with("   1: a = ") && lines[0].ends_with('…'), "{lines:?}");
    }

    #[test]
    fn address_without_position_has_no_comma() {
        let address = "terraform_data.a".to_owned();
        let problem = Diagnostic { address: Some(address), ..Diagnostic::error("Summary", "Detail.") };
        assert!(problem.to_text(80, &NoStyle).as_str().contains("  with terraform_data.a\n"));
    }

    #[test]
    fn list_items_are_wrapped_inside_the_frame() {
        let detail = "These are denied:\n - one two three four five six seven\n\n  a command that is not broken into lines";
        let text = Diagnostic::error("Summary", detail).to_text(30, &NoStyle).into_string();
        assert!(text.contains("│  - one two three four five\n│    six seven\n"), "{text}");
        assert!(text.contains("│   a command that is not broken into lines\n"), "{text}");
    }
}
