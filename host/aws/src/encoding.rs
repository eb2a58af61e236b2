//! Percent encoding as signatures require it.

use std::fmt::Write as _;

/// Encodes a value in a query: every byte except unreserved characters.
pub fn encode_value(text: &str) -> String {
    encode(text, |_| false)
}

/// Encodes a key as the path of a URL: slashes are preserved.
pub fn encode_path(text: &str) -> String {
    encode(text, |byte| byte == b'/')
}

fn encode(text: &str, is_preserved: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || is_preserved(byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
