//! Encodes values as text. The values are wholly known and have no marks.

use wardian_lang::quote_string;
use wardian_plugin::FunctionError;
use wardian_value::{Mapping, Value, View};

use super::layout::Lines;

pub(super) fn expression(value: &Value) -> Result<String, FunctionError> {
    let mut lines = Lines::default();
    write(value, &mut lines)?;
    Ok(lines.finish())
}

/// Encodes the attributes of an object, or the elements of a map, as variable definitions.
pub(super) fn variables(value: &Value) -> Result<String, FunctionError> {
    let (View::Object(variables) | View::Map(variables)) = value.view() else {
        return Err(refused(
            "an object is required, because each of its attributes becomes a variable; this value has no \
             attributes"
                .into(),
        ));
    };
    let mut lines = Lines::default();
    for (name, value) in variables {
        if !is_identifier(name) {
            return Err(refused(format!(
                "\"{name}\" is not a valid variable name: names begin with a letter or an underscore, and \
                 the rest are letters, digits, underscores and dashes"
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
        // Terraform also writes infinities as text that is not a valid expression.
        View::Number(number) if number.is_infinite() => {
            lines.push(if number.is_sign_negative() { "-Inf" } else { "+Inf" });
        }
        View::Number(number) => lines.push(&number.to_string()),
        View::String(text) => lines.push(&quote_string(text)),
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
        View::Unknown => return Err(refused("the value is not wholly known yet".into())),
    }
    Ok(())
}

fn mapping(elements: Mapping<'_>, lines: &mut Lines) -> Result<(), FunctionError> {
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
        lines.push(&quote_string(key));
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
