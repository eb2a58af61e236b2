//! Renders scalars as text. For multi-line strings and strings that contain JSON, only the changes
//! within the string are shown.

use wardian_printable::{PrintableText, append, append_line};
use wardian_value::{Value, View, go_quote, json};

use super::{Context, arrow, forces_replacement, line_start, null_suffix, write};
use crate::render::difference::alignment::{align, line_identities};
use crate::render::difference::{Effect, Sides, dynamic};
use crate::render::style::{Page, Style};

/// Writes a value without parts, or its change.
pub(super) fn scalar(
    page: &mut Page,
    sides: Sides<'_>,
    effect: Effect,
    forces: bool,
    indent: usize,
    context: Context,
) {
    if let (Effect::Update, Some(before), Some(after)) = (effect, sides.before, sides.after) {
        change(page, &Shape::from_value(before), &Shape::from_value(after), forces, indent, context);
        return;
    }
    let shown = if effect == Effect::Delete { sides.before } else { sides.after.or(sides.before) };
    if let Some(shown) = shown {
        whole(page, &Shape::from_value(shown), effect, forces, indent, context);
    }
}

/// The layout of a scalar.
enum Shape<'a> {
    Null,
    /// A value that is not a string.
    Plain(String),
    /// A string on one line.
    Short(&'a str),
    /// A string with several lines.
    Lines(Vec<&'a str>),
    /// A string with a JSON object or array.
    Json(Value),
}

impl<'a> Shape<'a> {
    fn from_value(value: &'a Value) -> Self {
        match value.view() {
            View::Null => Self::Null,
            View::Bool(value) => Self::Plain(value.to_string()),
            View::Number(number) => Self::Plain(number.to_string()),
            View::String(text) => Self::from_string(text),
            View::Unknown => Self::Plain("(known after apply)".into()),
            // This case occurs only if a value does not conform to its schema.
            _ => Self::Plain("(...)".into()),
        }
    }

    fn from_string(text: &'a str) -> Self {
        if text.starts_with(['{', '['])
            && let Ok(value) = json::decode_simple(text)
        {
            return Self::Json(value);
        }
        if text.contains('\n') {
            // `lines()` is not used, because a carriage return is part of a line.
            let text = text.trim();
            return Self::Lines(text.split('\n').collect());
        }
        Self::Short(text)
    }

    /// Returns the lines of a string; `None` if the value is JSON or not a string.
    fn lines(&self) -> Option<Vec<&'a str>> {
        match self {
            Self::Short(text) => Some(vec![text]),
            Self::Lines(lines) => Some(lines.clone()),
            _ => None,
        }
    }
}

/// Writes the value on the only side that has one.
fn whole(page: &mut Page, shape: &Shape<'_>, effect: Effect, forces: bool, indent: usize, context: Context) {
    match shape {
        Shape::Json(value) => {
            let sides = match effect {
                Effect::Create => Sides::new(None, Some(value)),
                Effect::Delete => Sides::new(Some(value), None),
                Effect::None | Effect::Update => Sides::new(Some(value), Some(value)),
            };
            json_string(page, sides, effect, forces, indent, context);
        }
        Shape::Lines(lines) => heredoc(page, effect, forces, indent, context, |page| {
            for line in lines {
                heredoc_line(page, Effect::None, line, indent, context);
            }
        }),
        Shape::Null => {
            page.paint(Style::Gray, "null");
            forces_replacement(page, forces);
        }
        Shape::Plain(text) => {
            page.append(text);
            null_suffix(page, effect, context);
            forces_replacement(page, forces);
        }
        Shape::Short(text) => {
            page.append(&quoted(text));
            null_suffix(page, effect, context);
            forces_replacement(page, forces);
        }
    }
}

fn change(
    page: &mut Page,
    before: &Shape<'_>,
    after: &Shape<'_>,
    forces: bool,
    indent: usize,
    context: Context,
) {
    if let (Shape::Json(before), Shape::Json(after)) = (before, after) {
        let sides = Sides::new(Some(before), Some(after));
        json_string(page, sides, Effect::Update, forces, indent, context);
        return;
    }
    if let (Some(before_lines), Some(after_lines)) = (before.lines(), after.lines())
        && matches!((before, after), (Shape::Lines(_), _) | (_, Shape::Lines(_)))
    {
        heredoc(page, Effect::Update, forces, indent, context, |page| {
            lines_change(page, &before_lines, &after_lines, indent, context);
        });
        return;
    }
    let context = Context { hide_null: true, ..context };
    whole(page, before, Effect::Delete, false, indent, context);
    arrow(page);
    whole(page, after, Effect::Create, false, indent, context);
    forces_replacement(page, forces);
}

fn lines_change(page: &mut Page, before: &[&str], after: &[&str], indent: usize, context: Context) {
    for (i, j) in align(&line_identities(before), &line_identities(after), |_, _| false) {
        let (old, new) = (i.and_then(|i| before.get(i)), j.and_then(|j| after.get(j)));
        if let (Some(old), Some(new)) = (old, new)
            && old == new
        {
            heredoc_line(page, Effect::None, old, indent, context);
            continue;
        }
        if let Some(old) = old {
            heredoc_line(page, Effect::Delete, old, indent, context);
        }
        if let Some(new) = new {
            heredoc_line(page, Effect::Create, new, indent, context);
        }
    }
}

fn heredoc(
    page: &mut Page,
    effect: Effect,
    forces: bool,
    indent: usize,
    context: Context,
    lines: impl FnOnce(&mut Page),
) {
    page.push("<<-EOT");
    forces_replacement(page, forces);
    page.push("\n");
    lines(page);
    line_start(page, Effect::None, indent, context);
    page.push("EOT");
    null_suffix(page, effect, context);
}

fn heredoc_line(page: &mut Page, effect: Effect, line: &str, indent: usize, context: Context) {
    line_start(page, effect, indent + 1, context);
    page.append(&escaped_line(line));
    page.push("\n");
}

/// Returns a line of a string. Tabs are preserved, and so is the carriage return of a Windows line
/// ending, because it does not move the cursor. Other invisible characters are escaped. Otherwise,
/// a provider's response could move the terminal's cursor and overwrite the plan that the user is
/// reading.
pub(in crate::render) fn escaped_line(line: &str) -> PrintableText {
    let (line, end) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\r"));
    let mut shown = PrintableText::new();
    for (index, part) in line.split('\t').enumerate() {
        if index > 0 {
            shown.push("\t");
        }
        shown.append(part);
    }
    shown.push(end);
    shown
}

fn json_string(
    page: &mut Page,
    sides: Sides<'_>,
    effect: Effect,
    forces: bool,
    indent: usize,
    context: Context,
) {
    let inside = dynamic::difference(sides);
    let only_blanks = effect == Effect::Update && inside.effect == Effect::None;
    let inner = Context {
        hide_null: true,
        forces: false,
        show_unchanged: context.show_unchanged || only_blanks,
        ..context
    };
    let mut text = page.aside();
    write(&mut text, &inside, indent + 1, inner);
    let text = text.finish();
    let note = match (only_blanks, forces) {
        (true, true) => " # whitespace changes force replacement",
        (true, false) => " # whitespace changes",
        _ => "",
    };
    page.push("jsonencode(");
    if !text.as_str().contains('\n') {
        append!(page, "{text}){note}");
        forces_replacement(page, forces && !only_blanks);
        return;
    }
    append_line!(page, "{note}");
    let shown = if effect == Effect::Update && !only_blanks { Effect::Update } else { Effect::None };
    line_start(page, shown, indent + 1, context);
    page.append(&text);
    forces_replacement(page, forces && !only_blanks);
    page.push("\n");
    line_start(page, Effect::None, indent, context);
    page.push(")");
    null_suffix(page, effect, context);
}

/// Returns a name as it appears before `=`: quoted if it is not an identifier.
pub(super) fn name(name: &str) -> PrintableText {
    if is_identifier(name) { PrintableText::from_line(name) } else { quoted(name) }
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Quotes a string and escapes invisible characters. As in Go's quoting, which Terraform uses to
/// display strings, template sequences are not escaped.
pub(in crate::render) fn quoted(text: &str) -> PrintableText {
    let mut out = String::with_capacity(text.len() + 2);
    go_quote(text, is_visible, &mut out);
    PrintableText::from_line(out)
}

fn is_visible(character: char) -> bool {
    // The standard library escapes combining marks only at the start of the text, so the character
    // follows a letter.
    let text: String = ['a', character].iter().collect();
    text.escape_debug().nth(1) == Some(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_line_does_not_move_the_cursor() {
        assert_eq!(escaped_line("a\tb\u{e9} \"q\" \\\r").as_str(), "a\tb\u{e9} \"q\" \\\r");
        assert_eq!(escaped_line("\u{1b}[2Jgone\r\u{202e}").as_str(), "\\u{1b}[2Jgone\\r\\u{202e}");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(
            quoted("a\u{2028}\u{200b}\u{ad}\u{1}b \u{e9}\u{301} \u{1f600}\u{feff}").as_str(),
            "\"a\\u2028\\u200b\\u00ad\\x01b \u{e9}\u{301} \u{1f600}\\ufeff\""
        );
        assert_eq!(quoted("\"\\\t${x}%{y}").as_str(), "\"\\\"\\\\\\t${x}%{y}\"");
    }

    #[test]
    fn names_except_identifiers_are_quoted() {
        for (given, expected) in [
            ("a-b", "a-b"),
            ("1x", "\"1x\""),
            ("a.b", "\"a.b\""),
            ("\u{e9}", "\u{e9}"),
            ("", "\"\""),
            ("_", "_"),
        ] {
            assert_eq!(name(given).as_str(), expected);
        }
    }
}
