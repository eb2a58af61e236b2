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

/// Maximum length in bytes of a key before a colon.
const MAX_SIMPLE_KEY: usize = 128;
/// The column after which quoted text continues on the next line.
const MAX_COLUMN: usize = 80;

/// Decodes one YAML document: mappings become objects, and sequences become tuples.
///
/// # Errors
/// Returns the problem and its position.
pub fn decode_yaml(text: &str) -> Result<Value, String> {
    decode::yamldecode(&[Value::string(text)]).map_err(|failure| match failure {
        Failure::Argument(_, message) | Failure::CallArgument(_, message) | Failure::Call(message) => message,
        Failure::TooLarge | Failure::Elsewhere(_) => "it is too large".to_owned(),
    })
}

fn yamlencode(arguments: &[Value]) -> Outcome {
    let value = &arguments[0];
    if !value.is_wholly_known() {
        return Ok(Value::unknown(wardian_value::Type::String));
    }
    let mut text = String::new();
    write(value, 0, Placement::NextLine, &mut text)?;
    if matches!(value.view(), View::Null | View::Bool(_) | View::Number(_)) {
        // A plain scalar at the end of a document requires an explicit end marker.
        text.push_str("...\n");
    }
    Ok(Value::string(text.trim_start_matches('\n')))
}

/// The position at which the first item of a list or a map is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placement {
    /// After `key:`, on the next line.
    NextLine,
    /// On the line of a hyphen, or of the colon of a complex key.
    SameLine,
}

/// Writes a value after `key:` or `-`, including its line break.
fn write(value: &Value, indent: usize, placement: Placement, text: &mut String) -> Result<(), Failure> {
    let mut is_inline = placement == Placement::SameLine;
    match value.view() {
        View::List(items) | View::Set(items) | View::Tuple(items) if !items.is_empty() => {
            if !is_inline {
                text.push('\n');
            }
            for item in items {
                start_item(indent, is_inline, text);
                is_inline = false;
                text.push('-');
                write(item, indent + 2, Placement::SameLine, text)?;
            }
        }
        View::Map(items) | View::Object(items) if !items.is_empty() => {
            if !is_inline {
                text.push('\n');
            }
            for (key, item) in items {
                start_item(indent, is_inline, text);
                is_inline = false;
                if is_simple_key(key) {
                    quote(key, None, text);
                    text.push(':');
                    let is_list = matches!(item.view(), View::List(_) | View::Set(_) | View::Tuple(_));
                    let inner = if is_list { indent } else { indent + 2 };
                    write(item, inner, Placement::NextLine, text)?;
                } else {
                    text.push('?');
                    write_string(key, indent + 2, text);
                    text.push_str(&" ".repeat(indent));
                    text.push(':');
                    write(item, indent + 2, Placement::SameLine, text)?;
                }
            }
        }
        View::String(string) => write_string(string, indent, text),
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

/// Writes the space or the indentation before an item.
fn start_item(indent: usize, is_inline: bool, text: &mut String) {
    if is_inline {
        text.push(' ');
    } else {
        text.push_str(&" ".repeat(indent));
    }
}

fn separate(text: &mut String) {
    if text.ends_with([':', '-', '?']) {
        text.push(' ');
    }
}

/// Returns true if a key is written before a colon. Other keys are marked as complex keys.
fn is_simple_key(key: &str) -> bool {
    key.len() <= MAX_SIMPLE_KEY && !key.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// Writes a string as a literal block or in quotes. `indent` is the indentation of all lines after
/// the first.
fn write_string(string: &str, indent: usize, text: &mut String) {
    let indent = indent.max(2);
    separate(text);
    if is_block(string) {
        block(string, indent, text);
    } else {
        quote(string, Some(indent), text);
        text.push('\n');
    }
}

/// Writes text in double quotes, with escapes for unprintable characters. If `indent` is set, long
/// text is continued on the next line: a line ends at the first space after column 80.
fn quote(string: &str, indent: Option<usize>, text: &mut String) {
    let line = text.rfind('\n').map_or(0, |end| end + 1);
    let mut column = text[line..].chars().count();
    let mut after_space = false;
    text.push('"');
    column += 1;
    for (at, character) in string.char_indices() {
        let start = text.len();
        let is_inside = at > 0 && at + 1 < string.len();
        match indent {
            Some(indent) if character == ' ' && !after_space && column > MAX_COLUMN && is_inside => {
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
                if string[at + 1..].starts_with(' ') {
                    text.push('\\');
                    column += 1;
                }
            }
            _ => {
                escape(character, text);
                column += text[start..].chars().count();
            }
        }
        after_space = character == ' ';
    }
    text.push('"');
}

fn escape(character: char, text: &mut String) {
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
            text.push(character);
            return;
        }
        _ => {
            let code = u32::from(character);
            // Writing to a string cannot fail.
            let _ = match code {
                0..0x100 => write!(text, "\\x{code:02X}"),
                0x100..0x1_0000 => write!(text, "\\u{code:04X}"),
                _ => write!(text, "\\U{code:08X}"),
            };
            return;
        }
    };
    text.push('\\');
    text.push(short);
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

/// Writes multi-line text as a literal block.
fn block(string: &str, indent: usize, text: &mut String) {
    text.push('|');
    if string.starts_with([' ', '\n']) {
        // The indentation relative to the parent.
        text.push('2');
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
