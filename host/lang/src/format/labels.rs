//! Block labels: parsed, and quoted again.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use wardian_value::Str;

/// Returns the canonical content of a quoted label. A label with a `$` or `%` is not changed.
pub(super) fn requote(literal: &str) -> Cow<'_, str> {
    if literal.contains(['$', '%']) { Cow::Borrowed(literal) } else { quote(decode(literal)) }
}

fn decode(literal: &str) -> Cow<'_, str> {
    if !literal.contains('\\') {
        return Cow::Borrowed(literal);
    }
    let mut label = String::with_capacity(literal.len());
    let mut rest = literal.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            label.push(character);
            continue;
        }
        match rest.next() {
            Some('n') => label.push('\n'),
            Some('r') => label.push('\r'),
            Some('t') => label.push('\t'),
            Some('u') => label.extend(code_point(&mut rest, 4)),
            Some('U') => label.extend(code_point(&mut rest, 8)),
            other => label.extend(other),
        }
    }
    Cow::Owned(label)
}

fn code_point(rest: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let number = rest.take(digits).try_fold(0_u32, |number, digit| {
        number.checked_mul(16).zip(digit.to_digit(16)).map(|(number, digit)| number + digit)
    })?;
    char::from_u32(number)
}

/// Returns `label` escaped for a quoted string.
pub(super) fn quote(label: Cow<'_, str>) -> Cow<'_, str> {
    if label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ')) {
        return label;
    }
    let label = Str::new(&label);
    let mut literal = String::with_capacity(label.len());
    let mut rest = label.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '$' | '%' => {
                literal.push(character);
                if rest.peek() == Some(&'{') {
                    literal.push(character);
                }
            }
            _ if is_printable(character) => literal.push(character),
            _ if u32::from(character) <= 0xffff => escape(&mut literal, 'u', 4, character),
            _ => escape(&mut literal, 'U', 8, character),
        }
    }
    Cow::Owned(literal)
}

fn escape(literal: &mut String, letter: char, digits: usize, character: char) {
    // Writing to a string does not fail.
    let _ = write!(literal, "\\{letter}{:0digits$x}", u32::from(character));
}

fn is_printable(character: char) -> bool {
    static PRINTABLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$").ok());
    match character {
        ' '..='~' => true,
        _ if character.is_ascii() => false,
        _ => PRINTABLE.as_ref().is_some_and(|pattern| pattern.is_match(character.encode_utf8(&mut [0; 4]))),
    }
}
