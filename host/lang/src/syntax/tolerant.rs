//! Text that is valid but that the parser refuses.
//!
//! Such text is parsed in a rewritten form of the same length, so that every
//! place stays where it was; the values concerned are read from the original.

/// Parses `text`; where that fails, once more in rewritten form. The first error
/// is the one that counts.
pub(crate) fn tolerant<T, E>(text: &str, mut parse: impl FnMut(&str) -> Result<T, E>) -> Result<T, E> {
    let without_mark;
    let text = match text.strip_prefix('\u{feff}') {
        // As many bytes of space as the byte order mark has.
        Some(rest) => {
            without_mark = format!("   {rest}");
            &without_mark
        }
        None => text,
    };
    parse(text).or_else(|error| match rewrite(text) {
        Some(rewritten) => parse(&rewritten).map_err(|_| error),
        None => Err(error),
    })
}

/// Exponents that no machine float has become zeros.
fn rewrite(text: &str) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let mut changed = false;
    let mut at = 0;
    while at < bytes.len() {
        let starts_number = bytes[at].is_ascii_digit() && (at == 0 || !is_word(bytes[at - 1]));
        if !starts_number {
            at += 1;
            continue;
        }
        while at < bytes.len() && (bytes[at].is_ascii_digit() || bytes[at] == b'.') {
            at += 1;
        }
        if !matches!(bytes.get(at), Some(b'e' | b'E')) {
            continue;
        }
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        let digits = at;
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            at += 1;
        }
        if at - digits >= 3 {
            bytes[digits..at].fill(b'0');
            changed = true;
        }
    }
    if changed { String::from_utf8(bytes).ok() } else { None }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || !byte.is_ascii()
}
