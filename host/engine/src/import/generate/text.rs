//! Writes values in the configuration language.

use std::fmt::Write as _;

use wardian_value::{Value, View, json};

/// Writes a value that is wholly known and has no marks. A string that contains an object or a
/// list in JSON is written as a call of `jsonencode`.
pub fn write_value(text: &mut String, value: &Value) {
    match value.as_str().and_then(structure) {
        Some(held) => {
            text.push_str("jsonencode(");
            write_plain(text, &held);
            text.push(')');
        }
        None => write_plain(text, value),
    }
}

/// Returns the object or list that a JSON string contains.
fn structure(text: &str) -> Option<Value> {
    let begins = text.trim_start().starts_with(['{', '[']);
    let held = begins.then(|| json::decode_simple(text).ok()).flatten()?;
    matches!(held.view(), View::Tuple(_) | View::Object(_) | View::List(_) | View::Map(_)).then_some(held)
}

fn write_plain(text: &mut String, value: &Value) {
    match value.view() {
        View::Bool(value) => text.push_str(if value { "true" } else { "false" }),
        View::Number(number) => {
            // Writing to a string cannot fail.
            let _ = write!(text, "{number}");
        }
        View::String(value) => text.push_str(&quoted(value)),
        View::List(elements) | View::Set(elements) | View::Tuple(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write_plain(text, element);
            }
            text.push(']');
        }
        View::Map(elements) | View::Object(elements) if elements.is_empty() => text.push_str("{}"),
        View::Map(elements) | View::Object(elements) => {
            text.push_str("{\n");
            for (name, element) in elements {
                text.push_str(&key(name));
                text.push_str(" = ");
                write_plain(text, element);
                text.push('\n');
            }
            text.push('}');
        }
        View::Null | View::Unknown => text.push_str("null"),
    }
}

/// Returns an attribute name as a key, without quotes if possible.
pub fn key(name: &str) -> String {
    let mut letters = name.chars();
    let is_bare = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
        // `{ for` would start a `for` expression.
        && name != "for";
    if is_bare { name.to_owned() } else { quoted(name) }
}

/// Returns a quoted string with special characters escaped.
pub fn quoted(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('"');
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '$' | '%' if letters.peek() == Some(&'{') => text.extend([letter, letter]),
            _ if letter.is_control() || matches!(letter, '\u{feff}' | '\u{2028}' | '\u{2029}') => {
                let code = u32::from(letter);
                let _ = write!(text, "\\u{code:04x}");
            }
            _ => text.push(letter),
        }
    }
    text.push('"');
    text
}
