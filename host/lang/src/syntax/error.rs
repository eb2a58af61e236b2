//! Syntax errors in words.
//!
//! hcl-edit tells where it stopped and what could have followed there. The text
//! around that place often says better what is wrong.

use std::sync::Arc;

use hcl_edit::parser::Error;

use crate::{Diagnostic, SourceFile, Span};

/// Turns the parser's error into a diagnostic. `offset` is where in the file the
/// parsed text starts.
pub(crate) fn syntax_error(file: &Arc<SourceFile>, offset: usize, error: &Error) -> Diagnostic {
    let text = file.text();
    let mut at = (error.location().offset() + offset).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let found = text[at..].chars().next();
    let message = error.message();
    let (summary, detail, start, end) = describe(text, at, found, message);
    Diagnostic::error(summary, detail).at(Span::new(file, start, end))
}

type Description = (&'static str, String, usize, usize);

fn describe(text: &str, at: usize, found: Option<char>, message: &str) -> Description {
    let one = at + found.map_or(0, char::len_utf8);
    let word_end = at + text[at..].find(|c: char| !is_word(c)).unwrap_or(text.len() - at);
    let token_end = word_end.max(one);
    if message.contains("nesting depth") {
        return (
            "Nested too deeply",
            "Expressions, templates and blocks may be nested 64 levels deep. Move parts into \
             local values."
                .into(),
            at,
            token_end,
        );
    }
    if message.contains("chained binary operators") {
        return (
            "Expression too long",
            "At most 128 operators may follow each other in one expression. Move parts into \
             local values or parentheses."
                .into(),
            at,
            token_end,
        );
    }
    if message.contains("redefined attribute") {
        let name = &text[at..word_end];
        return (
            "Attribute redefined",
            format!("The argument \"{name}\" is set more than once here. Keep one of them."),
            at,
            token_end,
        );
    }
    if message.contains("escape sequence") || message.contains("hex code") {
        let start = text[..at].rfind('\\').unwrap_or(at);
        return (
            "Invalid escape sequence",
            "Behind a backslash, a string may have n, r, t, a quote, another backslash, uNNNN or \
             UNNNNNNNN. For a backslash itself write two."
                .into(),
            start,
            token_end.max(start + 1),
        );
    }
    if message.contains("heredoc end delimiter") || unterminated_heredoc(text, at) {
        return (
            "Unterminated heredoc",
            "The line that should end this text, holding nothing but its marker, was not found.".into(),
            at,
            token_end,
        );
    }
    if let Some(quote) = open_quote(text, at) {
        return (
            "Unterminated string",
            "The quote that starts this string has no partner on the same line.".into(),
            quote,
            text[quote..].find(['\n', '\r']).map_or(text.len(), |length| quote + length),
        );
    }
    if text[at..].trim().is_empty()
        && let Some(open) = super::tolerant::unclosed(text)
    {
        let character = text[open..].chars().next().unwrap_or(' ');
        return (
            if character == '{' { "Unclosed block" } else { "Unclosed bracket" },
            format!("The file ends, but the \"{character}\" here has not been closed."),
            open,
            open + character.len_utf8(),
        );
    }
    let Some(found) = found else {
        return (
            "Unexpected end of file",
            format!("Something is not complete: {}.", expectation(message)),
            at,
            at,
        );
    };
    match found {
        '\'' => (
            "Invalid character",
            "Single quotes are not valid. Use double quotes to enclose strings.".into(),
            at,
            one,
        ),
        '`' | ';' => (
            "Invalid character",
            format!(
                "The character {found:?} has no meaning here. {}",
                if found == ';' {
                    "Put each argument on its own line."
                } else {
                    "Use double quotes, or a heredoc for several lines."
                }
            ),
            at,
            one,
        ),
        '\n' | '\r' => {
            ("Unexpected line break", format!("The line ends too early: {}.", expectation(message)), at, one)
        }
        _ if message.contains("newline") => (
            "Missing line break",
            "A new line must follow here before the next argument or block begins.".into(),
            at,
            token_end,
        ),
        _ => (
            "Invalid syntax",
            format!("{:?} cannot stand here: {}.", &text[at..token_end], expectation(message)),
            at,
            token_end,
        ),
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '-'
}

/// What the parser would have accepted, as a clause.
fn expectation(message: &str) -> String {
    let expected =
        message.split_once("expected ").map_or("", |(_, expected)| expected.split(';').next().unwrap_or(""));
    if expected.is_empty() {
        return "this belongs to no argument, block or expression".into();
    }
    if message.contains("invalid expression") {
        return "an expression is needed, such as a value, a reference or a function call".into();
    }
    if message.contains("invalid structure") {
        return "after a name there must be \"=\" and a value for an argument, or labels and \
                \"{\" for a block"
            .into();
    }
    if message.contains("block body") {
        return "the block needs its closing \"}\"; items inside stand on lines of their own".into();
    }
    format!("expected {}", expected.replace('`', "\""))
}

/// The quote that a line up to `at` leaves open, where the line has no other end.
fn open_quote(text: &str, at: usize) -> Option<usize> {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let line = &text[start..line_end];
    let mut open = None;
    let mut escaped = false;
    for (index, character) in line.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if open.is_some() => escaped = true,
            '"' => open = if open.is_some() { None } else { Some(start + index) },
            '#' if open.is_none() => return None,
            // Quotes nest inside interpolations; counting would be a guess.
            '$' | '%' if line[index..].chars().nth(1) == Some('{') => return None,
            _ => {}
        }
    }
    open
}

fn unterminated_heredoc(text: &str, at: usize) -> bool {
    at >= text.len()
        && text.rfind("<<").is_some_and(|start| {
            let rest = text[start + 2..].trim_start_matches('-');
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let (marker, body) = rest.split_at(end);
            !marker.is_empty() && !body.lines().skip(1).any(|line| line.trim() == marker)
        })
}
