//! The string functions.

use wardian_value::{Str, Type, Value, graphemes};

use super::{Body, Failure, Function, Outcome, Parameter, ParameterType, ResultType};
use super::{elements, number, parameter, string, text, whole};
use crate::budget::{Allowance, ELEMENT};

const STR: &[Parameter] = &[string("str")];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("chomp", STR, ResultType::String, Body::Pure(chomp)),
    Function::new("endswith", &[string("str"), string("suffix")], ResultType::Bool, Body::Pure(endswith)),
    Function::new("indent", &[number("spaces"), string("str")], ResultType::String, Body::Expanding(indent)),
    Function::new("join", &[string("separator")], ResultType::String, Body::Expanding(join))
        .variadic(parameter("lists", ParameterType::ListOfString).unknown()),
    Function::new("lower", STR, ResultType::String, Body::Pure(lower)),
    Function::new(
        "split",
        &[string("separator"), string("str")],
        ResultType::ListOfString,
        Body::Expanding(split),
    ),
    Function::new(
        "startswith",
        &[string("str").unknown(), string("prefix").unknown()],
        ResultType::Bool,
        Body::Pure(startswith),
    ),
    Function::new(
        "strcontains",
        &[string("str"), string("substr")],
        ResultType::Bool,
        Body::Pure(strcontains),
    )
    .nullable(),
    Function::new("strrev", STR, ResultType::String, Body::Pure(strrev)),
    Function::new(
        "substr",
        &[string("str"), number("offset"), number("length")],
        ResultType::String,
        Body::Pure(substr),
    ),
    Function::new("title", STR, ResultType::String, Body::Pure(title)),
    Function::new("trim", &[string("str"), string("cutset")], ResultType::String, Body::Pure(trim)),
    Function::new(
        "trimprefix",
        &[string("str"), string("prefix")],
        ResultType::String,
        Body::Pure(trimprefix),
    ),
    Function::new("trimspace", STR, ResultType::String, Body::Pure(trimspace)),
    Function::new(
        "trimsuffix",
        &[string("str"), string("suffix")],
        ResultType::String,
        Body::Pure(trimsuffix),
    ),
    Function::new("upper", STR, ResultType::String, Body::Pure(upper)),
];

fn chomp(arguments: &[Value]) -> Outcome {
    Ok(Value::string(text(arguments, 0).trim_end_matches(['\n', '\r'])))
}

fn endswith(arguments: &[Value]) -> Outcome {
    Ok(Value::bool(text(arguments, 0).ends_with(text(arguments, 1))))
}

fn startswith(arguments: &[Value]) -> Outcome {
    let (whole, prefix) = (&arguments[0], text(arguments, 1));
    if !arguments[1].is_known() {
        return Ok(super::unknown_result(Type::Bool));
    }
    if whole.is_known() {
        return Ok(Value::bool(text(arguments, 0).starts_with(prefix)));
    }
    let known = whole.refinement().and_then(|facts| facts.prefix.as_deref()).unwrap_or("");
    Ok(if known.starts_with(prefix) {
        Value::bool(true)
    } else if prefix.starts_with(known) {
        super::unknown_result(Type::Bool)
    } else {
        Value::bool(false)
    })
}

fn strcontains(arguments: &[Value]) -> Outcome {
    Ok(Value::bool(text(arguments, 0).contains(text(arguments, 1))))
}

fn indent(arguments: &[Value], allowance: Allowance) -> Outcome {
    let spaces = whole(arguments, 0)?;
    let spaces = usize::try_from(spaces)
        .ok()
        .filter(|spaces| *spaces <= 100_000)
        .ok_or_else(|| Failure::argument(0, "a small non-negative whole number is required"))?;
    let replacement = format!("\n{}", " ".repeat(spaces));
    let lines = text(arguments, 1).matches('\n').count();
    super::check_length(lines.saturating_mul(spaces), allowance)?;
    Ok(Value::string(text(arguments, 1).replace('\n', &replacement)))
}

fn join(arguments: &[Value], allowance: Allowance) -> Outcome {
    let separator = text(arguments, 0);
    if arguments.len() < 2 {
        return Err(Failure::call("at least one list is needed"));
    }
    if arguments[1..].iter().any(|list| !list.is_wholly_known()) {
        return Ok(super::unknown_result(Type::String));
    }
    let mut parts: Vec<&str> = Vec::new();
    for (position, list) in arguments.iter().enumerate().skip(1) {
        for (index, element) in list.as_elements().unwrap_or(&[]).iter().enumerate() {
            match element.as_str() {
                Some(part) => parts.push(part),
                None => {
                    return Err(Failure::argument(
                        position,
                        format!("element {index} is null; nulls cannot be joined"),
                    ));
                }
            }
        }
    }
    let separators = parts.len().saturating_sub(1).saturating_mul(separator.len());
    let size = parts.iter().fold(separators, |size, part| size.saturating_add(part.len()));
    super::check_length(size, allowance)?;
    Ok(Value::string(parts.join(separator)))
}

fn split(arguments: &[Value], allowance: Allowance) -> Outcome {
    let (separator, source) = (text(arguments, 0), text(arguments, 1));
    super::check_parts(source.matches(separator).count(), ELEMENT, allowance)?;
    let parts: Vec<Value> = if separator.is_empty() {
        source.chars().map(|c| Value::string(c.to_string())).collect()
    } else {
        source.split(separator).map(Value::from).collect()
    };
    Ok(Value::list(Type::String, parts))
}

/// Capitalizes a letter. A letter whose upper-case form consists of several letters is not changed.
fn capital(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_uppercase();
    }
    let mut changed = character.to_uppercase();
    match (changed.next(), changed.next()) {
        (Some(capital), None) => capital,
        _ => character,
    }
}

fn upper(arguments: &[Value]) -> Outcome {
    Ok(Value::string(text(arguments, 0).chars().map(capital).collect::<String>()))
}

fn lower(arguments: &[Value]) -> Outcome {
    let small = |character: char| {
        if character.is_ascii() {
            character.to_ascii_lowercase()
        } else {
            character.to_lowercase().next().unwrap_or(character)
        }
    };
    Ok(Value::string(text(arguments, 0).chars().map(small).collect::<String>()))
}

/// Converts a letter to title case. Digraphs have a form in which only the first letter is
/// capitalized.
fn title_case(character: char) -> char {
    match character {
        '\u{1c4}' | '\u{1c6}' => '\u{1c5}',
        '\u{1c7}' | '\u{1c9}' => '\u{1c8}',
        '\u{1ca}' | '\u{1cc}' => '\u{1cb}',
        '\u{1f1}' | '\u{1f3}' => '\u{1f2}',
        other => capital(other),
    }
}

fn title(arguments: &[Value]) -> Outcome {
    let mut starts_word = true;
    let result: String = text(arguments, 0)
        .chars()
        .map(|character| {
            let changed = if starts_word { title_case(character) } else { character };
            starts_word = if character.is_ascii() {
                !(character.is_ascii_alphanumeric() || character == '_')
            } else {
                !character.is_alphanumeric() && character.is_whitespace()
            };
            changed
        })
        .collect();
    Ok(Value::string(result))
}

fn strrev(arguments: &[Value]) -> Outcome {
    let clusters: Vec<&str> = graphemes(text(arguments, 0)).collect();
    Ok(Value::string(clusters.into_iter().rev().collect::<String>()))
}

fn substr(arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0);
    let offset = whole(arguments, 1)?;
    let length = whole(arguments, 2)?;
    let count = graphemes(source).count();
    let start = if offset < 0 {
        count.saturating_sub(usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX))
    } else {
        usize::try_from(offset).unwrap_or(usize::MAX)
    };
    // A negative length selects all remaining text.
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let part: String = graphemes(source).skip(start).take(length).collect();
    Ok(Value::string(part))
}

fn trim(arguments: &[Value]) -> Outcome {
    let cutset = text(arguments, 1);
    Ok(Value::string(text(arguments, 0).trim_matches(|c| cutset.contains(c))))
}

fn trimprefix(arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0);
    Ok(Value::string(source.strip_prefix(text(arguments, 1)).unwrap_or(source)))
}

fn trimsuffix(arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0);
    Ok(Value::string(source.strip_suffix(text(arguments, 1)).unwrap_or(source)))
}

fn trimspace(arguments: &[Value]) -> Outcome {
    Ok(Value::string(text(arguments, 0).trim()))
}

/// Returns the strings in a list argument, or `None` if an element is unknown. No element may be
/// null.
pub(super) fn strings(arguments: &[Value], position: usize) -> Result<Option<Vec<Str>>, Failure> {
    if !arguments.get(position).is_some_and(Value::is_wholly_known) {
        return Ok(None);
    }
    elements(arguments, position)
        .iter()
        .enumerate()
        .map(|(index, element)| match element.as_str() {
            Some(text) => Ok(Str::new(text)),
            None => Err(Failure::argument(position, format!("element {index} is null"))),
        })
        .collect::<Result<Vec<Str>, Failure>>()
        .map(Some)
}
