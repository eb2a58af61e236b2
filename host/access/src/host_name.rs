//! The syntax of host names, shared by hosts and host patterns.

use std::borrow::Cow;

use idna::AsciiDenyList;

use crate::HostProblem;

/// The maximum length of text that is parsed as a host name.
pub const MAX_TEXT_LENGTH: usize = 1024;

/// Converts a name to lower case, and an internationalized name to its ASCII form.
///
/// # Errors
/// Returns an error if the name is not a valid internationalized domain name.
pub fn to_ascii(text: &str) -> Result<Cow<'_, str>, HostProblem> {
    let plain = text.is_ascii() && !text.as_bytes().windows(4).any(|four| four.eq_ignore_ascii_case(b"xn--"));
    if plain {
        let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        return Ok(if is_lower { text.into() } else { text.to_ascii_lowercase().into() });
    }
    idna::domain_to_ascii_cow(text.as_bytes(), AsciiDenyList::URL).map_err(|_| HostProblem::International)
}

/// Checks a name in ASCII form.
///
/// # Errors
/// Returns an error if the name cannot be a host name.
pub fn check(name: &str) -> Result<(), HostProblem> {
    if name.len() > 253 {
        return Err(HostProblem::TooLong);
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(HostProblem::EmptyLabel);
        }
        if label.len() > 63 {
            return Err(HostProblem::LongLabel);
        }
        let is_wrong = |c: &char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
        if let Some(wrong) = label.chars().find(is_wrong) {
            return Err(HostProblem::Character(wrong));
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(HostProblem::Dash);
        }
    }
    Ok(())
}

/// Returns whether a label is a number. A text whose last label is a number is either an IPv4
/// address or invalid.
pub fn is_number(label: &str) -> bool {
    let digits = label.strip_prefix("0x");
    !label.is_empty()
        && (label.bytes().all(|byte| byte.is_ascii_digit())
            || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())))
}
