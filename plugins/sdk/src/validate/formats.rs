//! Validators of strings in a format.

use regex_lite::Regex;

use super::Validator;
use super::values::string;
use crate::format::{
    CidrFormat, DurationFormat, JsonFormat, TextFormat, TimeFormat, is_base64, is_ip_address, is_url, is_uuid,
};

/// Requires a string in a format, which may be one of the author's own formats.
///
/// ```
/// use wardian_sdk::{JsonFormat, validate};
///
/// let document = validate::format::<JsonFormat>();
/// ```
pub fn format<F: TextFormat>() -> Validator {
    string(|text| match F::parse(text) {
        Some(_) => Ok(()),
        None => Err(format!("must be {}", F::EXPECTED)),
    })
}

macro_rules! formats {
    ($($(#[$attribute:meta])* $name:ident: $requirement:literal, $condition:expr;)*) => {
        $($(#[$attribute])*
        pub fn $name() -> Validator {
            string(|text| {
                let is_valid: fn(&str) -> bool = $condition;
                if is_valid(text) { Ok(()) } else { Err($requirement) }
            })
        })*
    };
}

formats! {
    /// Requires an absolute URL with a host.
    ///
    /// ```
    /// let endpoint = wardian_sdk::validate::url();
    /// ```
    url: "must be an absolute URL, such as https://example.com/path", |text| is_url(text, &[]);
    /// Requires an absolute URL with the scheme `http` or `https`.
    ///
    /// ```
    /// let endpoint = wardian_sdk::validate::http_url();
    /// ```
    http_url: "must be a URL with the scheme http or https", |text| is_url(text, &["http", "https"]);
    /// Requires an IPv4 or IPv6 address.
    ///
    /// ```
    /// let address = wardian_sdk::validate::ip();
    /// ```
    ip: "must be an IP address, such as 192.0.2.1 or 2001:db8::1", is_ip_address;
    /// Requires a UUID: groups of 8, 4, 4, 4 and 12 hexadecimal digits.
    ///
    /// ```
    /// let id = wardian_sdk::validate::uuid();
    /// ```
    uuid: "must be a UUID, such as 123e4567-e89b-12d3-a456-426614174000", is_uuid;
    /// Requires base64 with `+`, `/` and padding.
    ///
    /// ```
    /// let content = wardian_sdk::validate::base64();
    /// ```
    base64: "must be base64", is_base64;
}

/// Requires a network in CIDR notation.
///
/// ```
/// let network = wardian_sdk::validate::cidr();
/// ```
pub fn cidr() -> Validator {
    format::<CidrFormat>()
}

/// Requires JSON.
///
/// ```
/// let document = wardian_sdk::validate::json();
/// ```
pub fn json() -> Validator {
    format::<JsonFormat>()
}

/// Requires a duration such as `90s` or `1m30s`.
///
/// ```
/// let timeout = wardian_sdk::validate::duration();
/// ```
pub fn duration() -> Validator {
    format::<DurationFormat>()
}

/// Requires an RFC 3339 time.
///
/// ```
/// let expiry = wardian_sdk::validate::time();
/// ```
pub fn time() -> Validator {
    format::<TimeFormat>()
}

/// Requires a string that a regular expression matches. The pattern has the syntax of the crate
/// `regex-lite`, in which classes such as `\d` contain only ASCII characters.
///
/// ```
/// let name = wardian_sdk::validate::regex("^[a-z][a-z0-9-]*$");
/// ```
pub fn regex(pattern: &str) -> Validator {
    regex_with_requirement(pattern, format!("must match the regular expression {pattern:?}"))
}

/// Requires a string that a regular expression matches. `requirement` describes the valid strings:
/// "must consist of lower-case letters".
///
/// ```
/// use wardian_sdk::validate;
///
/// let name = validate::regex_with_requirement("^[a-z]+$", "must consist of lower-case letters");
/// ```
pub fn regex_with_requirement(pattern: &str, requirement: impl Into<String>) -> Validator {
    let requirement = requirement.into();
    match Regex::new(pattern) {
        Ok(regex) => string(move |text| if regex.is_match(text) { Ok(()) } else { Err(requirement.clone()) }),
        Err(error) => {
            let problem = format!("the regular expression {pattern:?} is not valid: {error}");
            let message = format!("cannot be checked, because {problem}");
            let broken = string(move |_| Err(message.clone()));
            Validator { problem: Some(problem), ..broken }
        }
    }
}
