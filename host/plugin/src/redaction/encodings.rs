//! Finds encodings of a string in other text.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::finder::MIN_LENGTH;
use crate::printable::printable;

/// Minimum length of a line of a multi-line string, and of a number.
pub(super) const MIN_PART_LENGTH: usize = 6;
/// Maximum length of a string that is searched for as a whole.
const MAX_WHOLE_LENGTH: usize = 4 << 10;
/// Words that are too common to be secrets.
const WORDS: [&str; 3] = ["true", "false", "null"];

/// Passes each encoding of a string to `tell`. A string that is too short is skipped.
pub(super) fn each_encoding(text: &str, tell: &mut dyn FnMut(&str)) {
    if text.len() < MIN_LENGTH || WORDS.contains(&text) {
        return;
    }
    if text.len() <= MAX_WHOLE_LENGTH {
        each_encoding_of_piece(text, tell);
    } else {
        // Long strings rarely occur in other encodings, so only their plain and JSON forms are
        // searched for.
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_WHOLE_LENGTH));
            tell(piece);
            tell(&in_json(piece));
            rest = after;
        }
    }
    if text.contains('\n') {
        let lines = text.lines().map(str::trim).filter(|line| line.len() >= MIN_PART_LENGTH);
        for line in lines.filter(|line| line.len() <= MAX_WHOLE_LENGTH) {
            tell(line);
            tell(&in_json(line));
        }
    }
}

fn each_encoding_of_piece(text: &str, tell: &mut dyn FnMut(&str)) {
    tell(text);
    let trimmed = text.trim();
    if trimmed.len() < text.len() {
        tell(trimmed);
    }
    tell(&printable(text));
    let json = in_json(text);
    tell(&json);
    // Go's encoding escapes these characters.
    if text.contains(['<', '>', '&']) {
        tell(&json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"));
    }
    if !text.bytes().all(is_plain_in_url) {
        for digits in [b"0123456789ABCDEF", b"0123456789abcdef"] {
            let escaped = in_url(text, digits);
            tell(&escaped.replace("%20", "+"));
            tell(&escaped.replace("%2F", "/").replace("%2f", "/"));
            tell(&escaped);
        }
    }
    each_base64(text.as_bytes(), tell);
}

/// Passes the base64 encoding of a string to the callback, for each offset that the string can have
/// in the encoded data. The first and the last digit are omitted if they contain bits of adjacent
/// bytes.
fn each_base64(text: &[u8], tell: &mut dyn FnMut(&str)) {
    for before in 0..3_usize {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(text);
        let first = (before * 8).div_ceil(6);
        let end = bytes.len() * 8 / 6;
        for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            let digits = encoded.get(first..end).unwrap_or_default();
            if digits.len() >= MIN_PART_LENGTH {
                tell(digits);
            }
        }
        if before == 0 && end < (bytes.len() * 8).div_ceil(6) {
            tell(&STANDARD_NO_PAD.encode(&bytes));
            tell(&URL_SAFE_NO_PAD.encode(&bytes));
        }
    }
}

fn is_plain_in_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Returns the percent-encoding of a string, written with the given hexadecimal digits.
fn in_url(text: &str, digits: &[u8; 16]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain_in_url(byte) {
            escaped.push(char::from(byte));
            continue;
        }
        escaped.push('%');
        for digit in [byte >> 4, byte & 15] {
            escaped.extend(digits.get(usize::from(digit)).copied().map(char::from));
        }
    }
    escaped
}

/// Returns a string as it appears in string literals of JSON and most languages, without quotes.
fn in_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            letter if u32::from(letter) < 0x20 => {
                // Writing into a string cannot fail.
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}
