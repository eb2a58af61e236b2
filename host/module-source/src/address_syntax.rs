//! The syntax that all remote addresses share: `[GETTER::]ADDRESS[//SUB][?QUERY]`.
//!
//! Terraform parses addresses as text, and most of them are written to `modules.json` unchanged.
//! Therefore, they are not converted to a `Url` here; only the relevant parts are extracted.

use std::borrow::Cow;

/// Splits a forced getter from an address: `git::https://...`. The name of a getter consists of
/// letters and digits.
pub(crate) fn split_forced_getter(address: &str) -> (Option<&str>, &str) {
    match address.split_once("::") {
        Some((name, rest))
            if !name.is_empty()
                && !rest.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            (Some(name), rest)
        }
        _ => (None, address),
    }
}

/// Splits the path in the package from an address. The query remains part of the address. If there
/// is no path, the second part is empty.
pub(crate) fn split_subdirectory(address: &str) -> (Cow<'_, str>, &str) {
    let end = address.find('?').unwrap_or(address.len());
    let (before_query, query) = address.split_at(end);
    let authority = before_query.find("://").map_or(0, |at| at + 3);
    let Some(at) = before_query.get(authority..).and_then(|rest| rest.find("//")) else {
        return (Cow::Borrowed(address), "");
    };
    let (package, rest) = before_query.split_at(authority + at);
    let subdirectory = rest.get(2..).unwrap_or_default();
    let package =
        if query.is_empty() { Cow::Borrowed(package) } else { Cow::Owned(format!("{package}{query}")) };
    (package, subdirectory)
}

/// Splits the text before the query from the query, without the question mark.
pub(crate) fn split_query(address: &str) -> (&str, Option<&str>) {
    match address.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (address, None),
    }
}

/// Returns the scheme of an address, if the address has one.
pub(crate) fn scheme(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then_some(scheme)
}

/// Returns whether an address is a URL with a scheme. The rules are the same as in the parser that
/// Terraform uses, which accepts `mailto:x` and rejects ports that are not numbers.
pub(crate) fn is_url(address: &str) -> bool {
    if address.bytes().any(|byte| byte.is_ascii_control()) {
        return false;
    }
    let Some(scheme) = scheme(address) else { return false };
    let (address, fragment) = address.split_once('#').unwrap_or((address, ""));
    let (before_query, _) = split_query(address);
    let rest = before_query.get(scheme.len() + 1..).unwrap_or_default();
    if !has_valid_escapes(fragment) {
        return false;
    }
    if !rest.starts_with('/') {
        return true;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !is_authority(authority) {
                return false;
            }
            path
        }
        None => rest,
    };
    has_valid_escapes(path)
}

fn is_authority(authority: &str) -> bool {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    let in_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    user.bytes().all(in_user) && has_valid_escapes(user) && is_host(host)
}

fn is_host(host: &str) -> bool {
    let (name, port) = if host.starts_with('[') {
        match host.rfind(']') {
            Some(end) => host.split_at(end + 1),
            None => return false,
        }
    } else {
        host.split_at(host.rfind(':').unwrap_or(host.len()))
    };
    let port_is_valid = match port.strip_prefix(':') {
        Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    let in_host = |byte: u8| {
        byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
    };
    // A percent sign is allowed only before the zone of an IPv6 address.
    let name = if name.starts_with('[') { name.replace("%25", "") } else { name.to_owned() };
    port_is_valid && name.bytes().all(in_host)
}

/// Returns whether two hexadecimal digits follow each percent sign.
pub(crate) fn has_valid_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        matches!(after.as_bytes(), [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
    })
}

/// Decodes percent escapes. Invalid escapes are not changed.
pub(crate) fn decode_percent(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = text
            .get(at + 1..at + 3)
            .filter(|digits| byte == b'%' && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

/// Encodes a path of a URL that a detector creates.
pub(crate) fn encode_path(path: &[u8]) -> String {
    encode(path, |byte| b"$&+,/:;=@".contains(&byte))
}

/// Encodes a host of a URL that a detector creates.
pub(crate) fn encode_host(host: &str) -> String {
    encode(host.as_bytes(), |byte| b"!$&'()*+,;=:[]<>\"".contains(&byte))
}

fn encode(text: &[u8], is_allowed: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || is_allowed(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push_str(&hex::encode_upper([byte]));
        }
    }
    encoded
}

/// Returns a path in the form that a detector writes: unchanged if all of its characters are
/// allowed in a URL, and otherwise encoded.
pub(crate) fn normalize_path(path: &str) -> String {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%!$&'()*+,;=:@/[]".contains(&byte);
    if path.bytes().all(is_allowed) && has_valid_escapes(path) {
        path.to_owned()
    } else {
        encode_path(&decode_percent(path))
    }
}

/// Parses a query into decoded pairs. Pairs that are invalid are omitted.
pub(crate) fn parse_query(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        has_valid_escapes(text)
            .then(|| String::from_utf8_lossy(&decode_percent(&text.replace('+', " "))).into_owned())
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect()
}

/// Encodes pairs as a query that is sorted by name.
pub(crate) fn encode_query(mut pairs: Vec<(String, String)>) -> String {
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    let encode = |text: &str| encode(text.as_bytes(), |byte| byte == b' ').replace(' ', "+");
    pairs
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect::<Vec<_>>()
        .join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forced_getter_consists_of_letters_and_digits() {
        assert_eq!(split_forced_getter("git::https://a/b"), (Some("git"), "https://a/b"));
        assert_eq!(split_forced_getter("git::hg::x"), (Some("git"), "hg::x"));
        for other in ["git-x::https://a/b", "::a", "git::", "https://a/b", "a:b", ""] {
            assert_eq!(split_forced_getter(other), (None, other));
        }
    }

    #[test]
    fn subdirectory_is_split_before_the_query() {
        for (address, package, subdirectory) in [
            ("https://a/b//c/d?x=1", "https://a/b?x=1", "c/d"),
            ("https://a/b?x=//c", "https://a/b?x=//c", ""),
            ("https://a/b//", "https://a/b", ""),
            ("git::https://a/b///c", "git::https://a/b", "/c"),
            ("a/b/c//d//e", "a/b/c", "d//e"),
            ("//tmp/x", "", "tmp/x"),
            ("https://a//b", "https://a", "b"),
            ("", "", ""),
        ] {
            let (found, sub) = split_subdirectory(address);
            assert_eq!((found.as_ref(), sub), (package, subdirectory), "{address}");
        }
    }

    #[test]
    fn urls_are_parsed_as_in_terraform() {
        for url in [
            "https://a/b",
            "example.com:o/r.git",
            "mailto:x",
            "C:\\a",
            "ssh://user:pw@a.example:22/o",
            "ssh://git@[::1]/x",
            "git::x",
            "http:/foo",
            "git:",
            "file:///a b",
            "https://a/b?x=%zz",
        ] {
            assert!(is_url(url), "{url}");
        }
        for other in [
            "a/b",
            "ssh://git@a:o/r.git",
            "https://a b/x",
            "https://a%20b/x",
            "ssh://git@[::1/x",
            "https://a/%zz",
            "https://a/\u{1}",
            "1git://x/y",
            "user@example.com:o/r.git",
            ":x",
            "https://a/b#%z",
            "https://u r@a/b",
            "",
        ] {
            assert!(!is_url(other), "{other}");
        }
    }

    #[test]
    fn query_is_sorted_and_encoded() {
        let encoded = |query| encode_query(parse_query(query));
        assert_eq!(encoded("ref=v1&depth=1"), "depth=1&ref=v1");
        assert_eq!(encoded("ref=feature/x"), "ref=feature%2Fx");
        assert_eq!(encoded("x y&a"), "a=&x+y=");
        assert_eq!(encoded("a=%zz&b=1&c;d=2&"), "b=1");
        assert_eq!(encoded("a=2&a=1"), "a=2&a=1");
    }

    #[test]
    fn paths_are_encoded_only_if_necessary() {
        assert_eq!(normalize_path("/o/r%20x(1)"), "/o/r%20x(1)");
        assert_eq!(normalize_path("/o/r x"), "/o/r%20x");
        assert_eq!(encode_path("/o/r%20ü".as_bytes()), "/o/r%2520%C3%BC");
    }
}
