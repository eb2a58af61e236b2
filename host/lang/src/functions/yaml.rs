//! `yamlencode` and `yamldecode`. `yamlencode` writes block style, with all strings quoted.

mod decode;
mod scalar;

use std::fmt::Write as _;

use wardian_value::{Value, View};

use super::encoding::json_text;
use super::{Body, Failure, Function, Outcome, ResultType, any, string};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("yamldecode", &[string("src")], ResultType::Dynamic, Body::Pure(decode::yamldecode)),
    Function::new(
        "yamlencode",
        &[any("value").null().unknown().dynamic()],
        ResultType::String,
        Body::Pure(yamlencode),
    )
    .nullable(),
];

fn yamlencode(arguments: &[Value]) -> Outcome {
    let value = &arguments[0];
    if !value.is_wholly_known() {
        return Ok(Value::unknown(wardian_value::Type::String));
    }
    let mut text = String::new();
    write(value, 0, &mut text)?;
    if matches!(value.view(), View::Null | View::Bool(_) | View::Number(_)) {
        // A plain scalar at the end of a document requires an explicit end marker.
        text.push_str("...\n");
    }
    Ok(Value::string(text.trim_start_matches('\n')))
}

/// Writes a value after `key:` or `-`, including its line break.
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
                if is_block(key) {
                    // A key that is not simple is marked as a complex key.
                    text.push('?');
                    block(key, indent, text);
                    text.push_str(&" ".repeat(indent));
                } else {
                    text.push_str(&quoted(key));
                }
                text.push(':');
                let is_list = matches!(item.view(), View::List(_) | View::Set(_) | View::Tuple(_));
                write(item, if is_list { indent } else { indent + 2 }, text)?;
            }
        }
        View::String(string) if is_block(string) => block(string, indent, text),
        View::String(string) => {
            separate(text);
            text.push_str(&quoted(string));
            text.push('\n');
        }
        View::Number(number) if number.is_infinite() => {
            separate(text);
            text.push_str(if number.is_sign_negative() { "-Inf" } else { "+Inf" });
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
    if text.ends_with([':', '-', '?']) {
        text.push(' ');
    }
}

/// Returns double-quoted text, with escapes for unprintable characters.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        let short = match character {
            '"' | '\\' => character,
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '\u{85}' => 'N',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ if prints(character) => {
                quoted.push(character);
                continue;
            }
            _ => {
                let code = u32::from(character);
                // Writing to a string cannot fail.
                let _ = match code {
                    0..0x100 => write!(quoted, "\\x{code:02X}"),
                    0x100..0x1_0000 => write!(quoted, "\\u{code:04X}"),
                    _ => write!(quoted, "\\U{code:08X}"),
                };
                continue;
            }
        };
        quoted.push('\\');
        quoted.push(short);
    }
    quoted.push('"');
    quoted
}

const fn prints(character: char) -> bool {
    matches!(character, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Returns true if text can be written as a literal block: it has several lines, no spaces at the
/// ends of lines, and no unprintable characters.
fn is_block(text: &str) -> bool {
    let prints_in_block = |c: char| c == '\n' || prints(c);
    text.contains('\n') && text.chars().all(prints_in_block) && !text.contains(" \n") && !text.ends_with(' ')
}

/// Writes text of several lines as a literal block.
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
        1 if string.len() > 1 => "",
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
