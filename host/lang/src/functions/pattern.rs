//! The functions that match regular expressions.

use std::cell::RefCell;
use std::collections::VecDeque;

use regex::Regex;
use wardian_value::{Type, Value};

use super::{Body, Failure, Function, Outcome, ResultType};
use super::{check_length, check_parts, string, text};
use crate::budget::{Allowance, ELEMENT};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "regex",
        &[string("pattern"), string("string")],
        ResultType::Of(regex_type),
        Body::Pure(regex),
    ),
    Function::new(
        "regexall",
        &[string("pattern"), string("string")],
        ResultType::Of(|arguments| Ok(Type::list(regex_type(arguments)?))),
        Body::Expanding(regexall),
    ),
    Function::new(
        "replace",
        &[string("str"), string("substr"), string("replace")],
        ResultType::String,
        Body::Expanding(replace),
    ),
];

thread_local! {
    /// Recently used patterns, because a `for` expression uses the same patterns for each element.
    static RECENT: RefCell<VecDeque<(String, Regex)>> = const { RefCell::new(VecDeque::new()) };
}

fn compile(pattern: &str, position: usize) -> Result<Regex, Failure> {
    const MAX_PATTERNS: usize = 8;
    let known = RECENT.with_borrow(|recent| {
        recent.iter().find(|(text, _)| text == pattern).map(|(_, compiled)| compiled.clone())
    });
    if let Some(compiled) = known {
        return Ok(compiled);
    }
    let compiled = Regex::new(&translate(pattern)).map_err(|error| {
        let message = error.to_string();
        let reason = message.lines().last().unwrap_or("").trim_start_matches("error: ");
        Failure::argument(position, format!("{pattern:?} is not a valid pattern: {reason}"))
    })?;
    RECENT.with_borrow_mut(|recent| {
        recent.truncate(MAX_PATTERNS - 1);
        recent.push_front((pattern.to_owned(), compiled.clone()));
    });
    Ok(compiled)
}

/// Translates RE2 syntax to the syntax of the regex crate: in a character class, `[`, `&&`, `--`
/// and `~~` are literal; `\Q...\E` quotes literal text; `\z` is the end of the text.
fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(character) = rest.chars().next() {
        if !in_class && let Some(quoted) = rest.strip_prefix("\\Q") {
            let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            translated.push_str(&regex::escape(text));
            rest = after;
            continue;
        }
        let mut length = character.len_utf8();
        match character {
            '\\' => {
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
                // The braces after `\p`, `\P` and `\x` belong to the escape.
                if matches!(rest.as_bytes().get(1..3), Some([b'p' | b'P' | b'x', b'{'])) {
                    length = rest.find('}').map_or(rest.len(), |end| end + 1);
                }
                translated.push_str(&rest[..length]);
            }
            '{' if !in_class && !is_repetition(rest) => translated.push_str("\\{"),
            '[' if !in_class => {
                in_class = true;
                let mut start = 1;
                if rest[start..].starts_with('^') {
                    start += 1;
                }
                translated.push_str(&rest[..start]);
                // A closing bracket in the first position is a literal member of the class.
                if rest[start..].starts_with(']') {
                    start += 1;
                    translated.push_str("\\]");
                }
                length = start;
            }
            '[' => match rest.starts_with("[:").then(|| rest.find(":]")).flatten() {
                Some(end) => {
                    length = end + 2;
                    translated.push_str(&rest[..length]);
                }
                None => translated.push_str("\\["),
            },
            ']' if in_class => {
                in_class = false;
                translated.push(']');
            }
            '&' | '~' if in_class => {
                translated.push('\\');
                translated.push(character);
            }
            '-' if in_class && rest.starts_with("--") => {
                // As the first member, the hyphen is literal; after another member, it starts a
                // range that ends with a hyphen.
                if translated.ends_with('[') || translated.ends_with("[^") {
                    translated.push_str("\\-");
                } else {
                    translated.push_str("-\\-");
                    length = 2;
                }
            }
            other => translated.push(other),
        }
        rest = &rest[length..];
    }
    translated
}

/// Returns true if the text starts with `{2}`, `{2,}` or `{2,3}`; other braces are literal.
fn is_repetition(text: &str) -> bool {
    let Some((inside, _)) = text[1..].split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && all_digits(least) && all_digits(most)
}

/// The result of a match: its text, its groups by position, or its groups by name.
enum Shape {
    Text,
    Positions,
    Names,
}

fn shape(pattern: &Regex) -> Result<Shape, Failure> {
    let named = pattern.capture_names().flatten().count();
    match (pattern.captures_len() - 1, named) {
        (0, _) => Ok(Shape::Text),
        (_, 0) => Ok(Shape::Positions),
        (all, named) if all == named => Ok(Shape::Names),
        _ => Err(Failure::argument(0, "it has both named and unnamed groups")),
    }
}

fn regex_type(arguments: &[Value]) -> Result<Type, Failure> {
    let Some(pattern) = arguments.first().and_then(Value::as_str) else {
        return Ok(Type::Dynamic);
    };
    let pattern = compile(pattern, 0)?;
    Ok(match shape(&pattern)? {
        Shape::Text => Type::String,
        Shape::Positions => Type::tuple((1..pattern.captures_len()).map(|_| Type::String)),
        Shape::Names => Type::object(pattern.capture_names().flatten().map(|name| (name, Type::String))),
    })
}

fn matched(pattern: &Regex, shape: &Shape, found: &regex::Captures<'_>) -> Value {
    let group = |text: Option<regex::Match<'_>>| {
        text.map_or_else(|| Value::null(Type::String), |text| Value::string(text.as_str()))
    };
    match shape {
        Shape::Text => group(found.get(0)),
        Shape::Positions => Value::tuple(found.iter().skip(1).map(group)),
        Shape::Names => {
            Value::object(pattern.capture_names().flatten().map(|name| (name, group(found.name(name)))))
        }
    }
}

fn regex(arguments: &[Value]) -> Outcome {
    let pattern = compile(text(arguments, 0), 0)?;
    let shape = shape(&pattern)?;
    match pattern.captures(text(arguments, 1)) {
        Some(found) => Ok(matched(&pattern, &shape, &found)),
        None => Err(Failure::call("no part of the string matches the pattern")),
    }
}

fn regexall(arguments: &[Value], allowance: Allowance) -> Outcome {
    let ty = regex_type(arguments)?;
    let pattern = compile(text(arguments, 0), 0)?;
    let shape = shape(&pattern)?;
    let mut matches = Vec::new();
    for found in pattern.captures_iter(text(arguments, 1)) {
        matches.push(matched(&pattern, &shape, &found));
        check_parts(matches.len().saturating_mul(pattern.captures_len()), ELEMENT, allowance)?;
    }
    Ok(Value::list(ty, matches))
}

/// Replaces all matches. A search text between slashes is a regular expression.
fn replace_matches(
    pattern: &Regex,
    source: &str,
    replacement: &str,
    allowance: Allowance,
) -> Result<String, Failure> {
    let mut result = String::with_capacity(source.len());
    let mut from = 0;
    for found in pattern.captures_iter(source) {
        let Some(whole) = found.get(0) else { continue };
        result.push_str(&source[from..whole.start()]);
        found.expand(replacement, &mut result);
        from = whole.end();
        check_length(result.len(), allowance)?;
    }
    result.push_str(&source[from..]);
    Ok(result)
}

fn replace(arguments: &[Value], allowance: Allowance) -> Outcome {
    let (source, wanted, replacement) = (text(arguments, 0), text(arguments, 1), text(arguments, 2));
    let pattern = wanted.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    Ok(Value::string(match pattern {
        Some(pattern) => replace_matches(&compile(pattern, 1)?, source, replacement, allowance)?,
        None => {
            let added = source.matches(wanted).count().saturating_mul(replacement.len());
            check_length(source.len().saturating_add(added), allowance)?;
            source.replace(wanted, replacement)
        }
    }))
}
