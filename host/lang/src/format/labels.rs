//! Parses and quotes block labels.

use std::borrow::Cow;

use wardian_value::Str;

use crate::quote::escape_into;

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
    let mut literal = String::with_capacity(label.len());
    escape_into(&Str::new(&label), &mut literal);
    Cow::Owned(literal)
}
