//! The functions that encode and decode text and values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_value::{Refinement, Str, Type, Value, json};

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
                        "it has a % without two hexadecimal digits after it; write a literal % as %25",
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

/// The beginning of the text determines the kind of the value.
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

#[derive(Clone, Copy)]
enum Charset {
    Utf8,
    Utf16 { big_endian: bool, mark: bool },
    Latin1,
    Ascii,
}

fn charset(name: &str) -> Result<Charset, Failure> {
    Ok(match name.to_ascii_uppercase().as_str() {
        "UTF-8" | "UTF8" => Charset::Utf8,
        "UTF-16LE" => Charset::Utf16 { big_endian: false, mark: false },
        "UTF-16BE" => Charset::Utf16 { big_endian: true, mark: false },
        "UTF-16" => Charset::Utf16 { big_endian: true, mark: true },
        "ISO-8859-1" | "LATIN1" => Charset::Latin1,
        "US-ASCII" | "ASCII" => Charset::Ascii,
        _ => {
            return Err(Failure::argument(1, format!("the encoding {name:?} is not supported")));
        }
    })
}

fn textencodebase64(arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0);
    let single = |limit: u32| -> Result<Vec<u8>, Failure> {
        source
            .chars()
            .map(|c| u8::try_from(u32::from(c)).ok().filter(|byte| u32::from(*byte) < limit))
            .collect::<Option<Vec<u8>>>()
            .ok_or_else(|| Failure::argument(0, "it has characters that the encoding does not include"))
    };
    let bytes = match charset(text(arguments, 1))? {
        Charset::Utf8 => source.as_bytes().to_vec(),
        Charset::Utf16 { big_endian, mark } => mark
            .then_some(0xFEFF)
            .into_iter()
            .chain(source.encode_utf16())
            .flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect(),
        Charset::Latin1 => single(256)?,
        Charset::Ascii => single(128)?,
    };
    Ok(Value::string(STANDARD.encode(bytes)))
}

fn textdecodebase64(arguments: &[Value]) -> Outcome {
    let bytes = decode(text(arguments, 0))?;
    let invalid = || Failure::argument(0, "the content is not text in this encoding");
    let decoded = match charset(text(arguments, 1))? {
        Charset::Utf8 => String::from_utf8(bytes).map_err(|_| invalid())?,
        Charset::Utf16 { mut big_endian, mark } => {
            let mut bytes = bytes.as_slice();
            match bytes {
                [0xFE, 0xFF, rest @ ..] if mark => bytes = rest,
                [0xFF, 0xFE, rest @ ..] if mark => {
                    big_endian = false;
                    bytes = rest;
                }
                _ => {}
            }
            if bytes.len() % 2 != 0 {
                return Err(invalid());
            }
            let units: Vec<u16> = bytes
                .chunks_exact(2)
                .map(|pair| {
                    let pair = [pair[0], pair[1]];
                    if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
                })
                .collect();
            String::from_utf16(&units).map_err(|_| invalid())?
        }
        Charset::Latin1 => bytes.into_iter().map(char::from).collect(),
        Charset::Ascii if bytes.is_ascii() => bytes.into_iter().map(char::from).collect(),
        Charset::Ascii => return Err(invalid()),
    };
    Ok(Value::string(decoded))
}
