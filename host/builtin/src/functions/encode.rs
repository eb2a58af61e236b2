//! Encoding values as text. Values are wholly known and have no marks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use wardian_plugin::FunctionError;
use wardian_value::{Str, Value, View};

use super::layout::Lines;

/// Encodes the value as an expression.
pub(super) fn expression(value: &Value) -> Result<String, FunctionError> {
    let mut lines = Lines::default();
    write(value, &mut lines)?;
    Ok(lines.finish())
}

/// Encodes the attributes of an object, or the elements of a map, as variables.
pub(super) fn variables(value: &Value) -> Result<String, FunctionError> {
    let (View::Object(variables) | View::Map(variables)) = value.view() else {
        return Err(refused(
            "it takes an object and writes a variable for each of its attributes, but this value has no \
             attributes"
                .into(),
        ));
    };
    let mut lines = Lines::default();
    for (name, value) in variables {
        if !is_identifier(name) {
            return Err(refused(format!(
                "\"{name}\" cannot be a variable name: names begin with a letter or an underscore, and the \
                 rest are letters, digits, underscores and dashes"
            )));
        }
        pair(name, value, &mut lines)?;
    }
    Ok(lines.finish())
}

fn write(value: &Value, lines: &mut Lines) -> Result<(), FunctionError> {
    match value.view() {
        View::Null => lines.push("null"),
        View::Bool(true) => lines.push("true"),
        View::Bool(false) => lines.push("false"),
        // This is not a valid expression, but Terraform writes it.
        View::Number(number) if number.is_infinite() => {
            lines.push(if number.is_sign_negative() { "-Inf" } else { "+Inf" });
        }
        View::Number(number) => lines.push(&number.to_string()),
        View::String(text) => lines.push(&quoted(text)),
        View::List(elements) | View::Set(elements) | View::Tuple(elements) => {
            lines.open("[");
            for (position, element) in elements.iter().enumerate() {
                if position > 0 {
                    lines.push(", ");
                }
                write(element, lines)?;
            }
            lines.close("]");
        }
        View::Map(elements) | View::Object(elements) => mapping(elements, lines)?,
        View::Unknown => return Err(refused("a part of it is not known yet".into())),
    }
    Ok(())
}

fn mapping(elements: &BTreeMap<Str, Value>, lines: &mut Lines) -> Result<(), FunctionError> {
    lines.open("{");
    if !elements.is_empty() {
        lines.end_line();
    }
    for (key, value) in elements {
        pair(key, value, lines)?;
    }
    lines.close("}");
    Ok(())
}

fn pair(key: &str, value: &Value, lines: &mut Lines) -> Result<(), FunctionError> {
    if is_identifier(key) {
        lines.push(key);
    } else {
        lines.push(&quoted(key));
    }
    lines.assign();
    write(value, lines)?;
    lines.end_line();
    Ok(())
}

fn refused(text: String) -> FunctionError {
    FunctionError { text, argument: None }
}

fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first == '_' || unicode_ident::is_xid_start(first))
        && characters.all(|character| character == '-' || unicode_ident::is_xid_continue(character))
}

/// Characters that are not visible, except the ordinary space.
static INVISIBLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[^\p{L}\p{M}\p{N}\p{P}\p{S} ]").ok());

/// Encodes a string literal. Template markers are doubled, and invisible characters are escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    let mut rest = text;
    while !rest.is_empty() {
        let hidden = INVISIBLE.as_ref().and_then(|hidden| hidden.find(rest));
        let (plain, next) = match hidden {
            Some(found) => (&rest[..found.start()], Some(&rest[found.range()])),
            None => (rest, None),
        };
        let mut characters = plain.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' | '\\' => quoted.push('\\'),
                '$' | '%' if characters.peek() == Some(&'{') => quoted.push(character),
                _ => {}
            }
            quoted.push(character);
        }
        for character in next.into_iter().flat_map(str::chars) {
            escape(character, &mut quoted);
        }
        rest = &rest[plain.len() + next.map_or(0, str::len)..];
    }
    quoted.push('"');
    quoted
}

fn escape(character: char, quoted: &mut String) {
    // Writing to a string cannot fail.
    let _ = match character {
        '\n' => quoted.write_str("\\n"),
        '\r' => quoted.write_str("\\r"),
        '\t' => quoted.write_str("\\t"),
        _ if u32::from(character) < 0x1_0000 => write!(quoted, "\\u{:04x}", u32::from(character)),
        _ => write!(quoted, "\\U{:08x}", u32::from(character)),
    };
}
