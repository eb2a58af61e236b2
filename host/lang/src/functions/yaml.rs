//! YAML. `yamlencode` writes block style, strings always in quotes.

mod decode;
mod scalar;

use wardian_value::{Value, View};

use super::encoding::json_text;
use super::{Body, Failure, Function, Outcome, ResultType, any, string, unknown_result};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("yamldecode", &[string("src")], ResultType::Dynamic, Body::Pure(decode::yamldecode)),
    Function::new(
        "yamlencode",
        &[any("value").null().unknown().dynamic()],
        ResultType::String,
        Body::Pure(yamlencode),
    ),
];

fn yamlencode(arguments: &[Value]) -> Outcome {
    let value = &arguments[0];
    if !value.is_wholly_known() {
        return Ok(unknown_result(wardian_value::Type::String));
    }
    let mut text = String::new();
    write(value, 0, &mut text)?;
    if matches!(value.view(), View::Null | View::Bool(_) | View::Number(_)) {
        // A document that is a plain scalar is ended explicitly.
        text.push_str("...\n");
    }
    Ok(Value::string(text.trim_start_matches('\n')))
}

/// Writes a value behind `key:` or `-`, up to and with its line break.
fn write(value: &Value, indent: usize, text: &mut String) -> Result<(), Failure> {
    match value.view() {
        View::List(items) | View::Set(items) | View::Tuple(items) if !items.is_empty() => {
            // A list in a list starts on the line of its hyphen.
            let mut inline = text.ends_with('-');
            if !inline {
                text.push('\n');
            }
            for item in items {
                if inline {
                    text.push(' ');
                    inline = false;
                } else {
                    text.push_str(&" ".repeat(indent));
                }
                text.push('-');
                write(item, indent + 2, text)?;
            }
        }
        View::Map(items) | View::Object(items) if !items.is_empty() => {
            let mut inline = text.ends_with('-');
            if !inline {
                text.push('\n');
            }
            for (key, item) in items {
                if inline {
                    text.push(' ');
                    inline = false;
                } else {
                    text.push_str(&" ".repeat(indent));
                }
                text.push_str(&quoted(key)?);
                text.push(':');
                let is_list = matches!(item.view(), View::List(_) | View::Set(_) | View::Tuple(_));
                write(item, if is_list { indent } else { indent + 2 }, text)?;
            }
        }
        View::String(string) if string.contains('\n') => block(string, indent, text),
        View::String(string) => {
            separate(text);
            text.push_str(&quoted(string)?);
            text.push('\n');
        }
        _ => {
            separate(text);
            text.push_str(&json_text(value)?);
            text.push('\n');
        }
    }
    Ok(())
}

fn separate(text: &mut String) {
    if text.ends_with([':', '-']) {
        text.push(' ');
    }
}

fn quoted(text: &str) -> Result<String, Failure> {
    Ok(json_text(&Value::string(text))?
        .replace("\\u003c", "<")
        .replace("\\u003e", ">")
        .replace("\\u0026", "&"))
}

/// Text of several lines as a literal block.
fn block(string: &str, indent: usize, text: &mut String) {
    separate(text);
    text.push('|');
    let indent = indent.max(2);
    if string.starts_with([' ', '\n']) {
        text.push_str(&indent.to_string());
    }
    let ends = string.len() - string.trim_end_matches('\n').len();
    text.push_str(match ends {
        0 => "-",
        1 => "",
        _ => "+",
    });
    text.push('\n');
    let body = string.strip_suffix('\n').unwrap_or(string);
    for line in body.split('\n') {
        if !line.is_empty() {
            text.push_str(&" ".repeat(indent));
            text.push_str(line);
        }
        text.push('\n');
    }
}
