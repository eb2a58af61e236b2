//! The functions that encode and decode text and values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_value::{Refinement, Str, Type, Value, json};

use super::charset::Charset;
use super::{Body, Failure, Function, Outcome, Parameter, ResultType};
use super::{any, check_parts, string, text};
use crate::budget::{Allowance, ELEMENT};

const STR: &[Parameter] = &[string("str")];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("base64decode", STR, ResultType::String, Body::Pure(base64decode)),
    Function::new("base64encode", STR, ResultType::String, Body::Pure(base64encode)),
    Function::new("jsondecode", STR, ResultType::Of(jsondecode_type), Body::Expanding(jsondecode)).nullable(),
    Function::new(
        "jsonencode",
        &[any("val").null().unknown().dynamic()],
        ResultType::String,
        Body::Pure(jsonencode),
    ),
    Function::new(
        "textdecodebase64",
        &[string("source"), string("encoding")],
        ResultType::String,
        Body::Pure(textdecodebase64),
    ),
    Function::new(
        "textencodebase64",
        &[string("string"), string("encoding")],
        ResultType::String,
        Body::Pure(textencodebase64),
    ),
    Function::new("urldecode", STR, ResultType::String, Body::Pure(urldecode)),
    Function::new("urlencode", STR, ResultType::String, Body::Pure(urlencode)),
];

fn base64encode(arguments: &[Value]) -> Outcome {
    Ok(Value::string(STANDARD.encode(text(arguments, 0))))
}

/// Decodes Base64. Line breaks are ignored.
pub(super) fn decode(source: &str) -> Result<Vec<u8>, Failure> {
    let joined: String = source.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    STANDARD.decode(joined).map_err(|_| Failure::argument(0, "it is not valid base64"))
}

fn base64decode(arguments: &[Value]) -> Outcome {
    let bytes = decode(text(arguments, 0))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::argument(0, "the content is not UTF-8 text"))?;
    Ok(Value::string(text))
}

fn urlencode(arguments: &[Value]) -> Outcome {
    let mut encoded = String::new();
    for byte in text(arguments, 0).bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push('+'),
            other => {
                encoded.push('%');
                encoded.push_str(&hex::encode_upper([other]));
            }
        }
    }
    Ok(Value::string(encoded))
}

fn urldecode(arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0);
    let mut decoded = Vec::with_capacity(source.len());
    let mut rest = source.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = rest.get(..2).and_then(|digits| hex::decode(digits).ok());
                let Some([byte]) = digits.as_deref() else {
                    return Err(Failure::argument(
                        0,
                        "it contains a % that is not followed by two hexadecimal digits; write a literal % \
                        as %25",
                    ));
                };
                rest = &rest[2..];
                *byte
            }
            byte => *byte,
        });
    }
    let decoded =
        String::from_utf8(decoded).map_err(|_| Failure::argument(0, "the content is not UTF-8 text"))?;
    Ok(Value::string(decoded))
}

fn jsonencode(arguments: &[Value]) -> Outcome {
    let value = &arguments[0];
    if !value.is_wholly_known() {
        // The type alone often determines the first character.
        let first = match value.ty() {
            Type::String => "\"",
            Type::List(_) | Type::Set(_) | Type::Tuple(_) => "[",
            Type::Map(_) | Type::Object(_) => "{",
            _ => "",
        };
        let prefix = (!first.is_empty() && value.is_definitely_not_null()).then(|| Str::new(first));
        return Ok(Value::unknown_with(
            Type::String,
            Refinement { not_null: true, prefix, ..Refinement::default() },
        ));
    }
    Ok(Value::string(json_text(value)?))
}

pub(super) fn json_text(value: &Value) -> Result<String, Failure> {
    json::encode_simple(value).map_err(|error| Failure::Call(error.to_string()))
}

/// Returns the type that is indicated by the beginning of the text.
fn jsondecode_type(arguments: &[Value]) -> Result<Type, Failure> {
    let prefix = arguments[0].refinement().and_then(|facts| facts.prefix.as_deref()).unwrap_or("");
    match prefix.trim_start().chars().next() {
        None | Some('{' | '[' | 'n') => Ok(Type::Dynamic),
        Some('"') => Ok(Type::String),
        Some('t' | 'f') => Ok(Type::Bool),
        Some('-' | '0'..='9') => Ok(Type::Number),
        Some(other) => Err(Failure::call(format!(
            "this is not valid JSON: it begins with {other:?}, which cannot start a JSON text"
        ))),
    }
}

fn jsondecode(arguments: &[Value], allowance: Allowance) -> Outcome {
    let parts = text(arguments, 0).bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    check_parts(parts, ELEMENT, allowance)?;
    json::decode_simple(text(arguments, 0).as_bytes())
        .map_err(|error| Failure::call(format!("this is not valid JSON: {error}")))
}

fn charset(name: &str) -> Result<Charset, Failure> {
    Charset::by_name(name).ok_or_else(|| {
        let reason = format!("{name:?} is not the IANA name of a supported encoding");
        Failure::argument(1, reason)
    })
}

fn textencodebase64(arguments: &[Value]) -> Outcome {
    let bytes = charset(text(arguments, 1))?.encode(text(arguments, 0));
    let bytes = bytes.ok_or_else(|| Failure::argument(0, "the encoding cannot represent all characters"))?;
    Ok(Value::string(STANDARD.encode(bytes)))
}

fn textdecodebase64(arguments: &[Value]) -> Outcome {
    let bytes = decode(text(arguments, 0))?;
    let decoded = charset(text(arguments, 1))?.decode(&bytes);
    let invalid = || Failure::argument(0, "the content is not valid text in this encoding");
    Ok(Value::string(decoded.ok_or_else(invalid)?))
}
