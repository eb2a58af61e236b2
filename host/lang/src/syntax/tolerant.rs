//! Text that is valid but that the parser refuses.
//!
//! Such text is parsed in a rewritten form of the same length, so that every
//! place stays where it was; the values concerned are read from the original.
//!
//! | refused                                        | rewritten                 |
//! |------------------------------------------------|---------------------------|
//! | a byte order mark                              | spaces                    |
//! | an exponent that no machine float has          | zeros                     |
//! | line breaks between operators in `{for ...}`   | spaces                    |
//! | a key that an object has already (the last one counts) | another key       |
//! | a heredoc line that goes on behind the marker  | another first letter      |
//! | a heredoc without lines (misread, not refused) | `""`                      |

use hcl_edit::parser::Error;

/// Duplicate keys beyond this many are refused.
const MOST_DUPLICATES: usize = 200;

/// Parses `text`; where that fails, once more in rewritten form.
pub(crate) fn tolerant<T>(text: &str, mut parse: impl FnMut(&str) -> Result<T, Error>) -> Result<T, Error> {
    let without_mark;
    let text = match text.strip_prefix('\u{feff}') {
        // As many bytes of space as the byte order mark has.
        Some(rest) => {
            without_mark = format!("   {rest}");
            &without_mark
        }
        None => text,
    };
    let mut bytes = text.as_bytes().to_vec();
    let scanned = may_have_empty_heredoc(text) && scan(text, &mut bytes).0;
    let mut error = match parse(&String::from_utf8_lossy(&bytes)) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    if exponents(&mut bytes) | (!scanned && scan(text, &mut bytes).0) {
        match parse(&String::from_utf8_lossy(&bytes)) {
            Ok(parsed) => return Ok(parsed),
            Err(other) => error = other,
        }
    }
    for attempt in 0..MOST_DUPLICATES {
        if !error.message().contains("redefined object key")
            || !rename_key(&mut bytes, error.location().offset(), attempt)
        {
            break;
        }
        match parse(&String::from_utf8_lossy(&bytes)) {
            Ok(parsed) => return Ok(parsed),
            Err(other) => error = other,
        }
    }
    Err(error)
}

/// Exponents of three digits and more become zeros.
fn exponents(bytes: &mut [u8]) -> bool {
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
    changed
}

/// What a place in the text is inside of.
enum Frame<'t> {
    Brace { is_for: bool },
    Other,
    Quote,
    Interpolation,
    Heredoc { marker: &'t str },
}

/// The innermost bracket, quote or heredoc that is still open at the end.
pub(crate) fn unclosed(text: &str) -> Option<usize> {
    let mut bytes = text.as_bytes().to_vec();
    scan(text, &mut bytes).1
}

fn may_have_empty_heredoc(text: &str) -> bool {
    text.match_indices("<<").any(|(at, _)| {
        let mut lines = text[at + 2..].lines();
        let marker = lines.next().unwrap_or("").trim_start_matches('-').trim_end();
        lines.next().is_some_and(|line| line.trim() == marker)
    })
}

/// Rewrites what depends on where it stands; answers whether anything was, and
/// what is open at the end.
fn scan(text: &str, bytes: &mut [u8]) -> (bool, Option<usize>) {
    let source = text.as_bytes();
    let mut changed = false;
    let mut frames: Vec<(Frame<'_>, usize)> = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let rest = &source[at..];
        let opens = rest.starts_with(b"${") || rest.starts_with(b"%{");
        let escaped = rest.starts_with(b"$${") || rest.starts_with(b"%%{");
        match frames.last().map(|(frame, _)| frame) {
            Some(Frame::Quote) => {
                at += match rest[0] {
                    b'\\' => 2,
                    _ if escaped => 3,
                    b'"' => {
                        frames.pop();
                        1
                    }
                    _ if opens => {
                        frames.push((Frame::Interpolation, at));
                        2
                    }
                    _ => 1,
                };
            }
            Some(Frame::Heredoc { marker }) => {
                let marker = *marker;
                if source[at - 1] == b'\n' {
                    let line_end = at + find_line_end(rest);
                    let line = text.get(at..line_end).unwrap_or("");
                    if line.trim() == marker {
                        frames.pop();
                        at = line_end;
                        continue;
                    }
                    let behind = line.trim_start().strip_prefix(marker);
                    if marker.is_ascii()
                        && behind.is_some_and(|behind| !behind.bytes().next().is_some_and(is_word))
                    {
                        // The compiler reads the text of heredocs from the original.
                        let first = at + line.len() - line.trim_start().len();
                        bytes[first] = if bytes[first] == b'X' { b'Y' } else { b'X' };
                        changed = true;
                    }
                }
                if escaped {
                    at += 3;
                } else if opens {
                    frames.push((Frame::Interpolation, at));
                    at += 2;
                } else {
                    at += 1;
                }
            }
            frame => {
                let blanks = matches!(frame, Some(Frame::Brace { is_for: true }));
                match rest[0] {
                    b'"' => frames.push((Frame::Quote, at)),
                    b'(' | b'[' => frames.push((Frame::Other, at)),
                    b'{' => {
                        let is_for = starts_for(&text[at + 1..]);
                        frames.push((Frame::Brace { is_for }, at));
                    }
                    b')' | b']' | b'}' => {
                        frames.pop();
                    }
                    b'\n' | b'\r' if blanks => {
                        bytes[at] = b' ';
                        changed = true;
                    }
                    b'#' | b'/' if rest[0] == b'#' || rest.starts_with(b"//") => {
                        let end = at + find_line_end(rest);
                        if blanks {
                            bytes[at..end].fill(b' ');
                            changed = true;
                        }
                        at = end;
                        continue;
                    }
                    b'/' if rest.starts_with(b"/*") => {
                        at += text[at..].find("*/").map_or(rest.len(), |end| end + 2);
                        continue;
                    }
                    b'<' if rest.starts_with(b"<<") => {
                        if let Some(marker) = marker(&text[at..at + find_line_end(rest)]) {
                            let body = (at + find_line_end(rest) + 1).min(source.len());
                            let line_end = body + find_line_end(&source[body..]);
                            if text[body..line_end].trim() == marker {
                                bytes[at..line_end].fill(b' ');
                                bytes[at..at + 2].fill(b'"');
                                changed = true;
                                at = line_end;
                            } else {
                                frames.push((Frame::Heredoc { marker }, at));
                                at = body;
                            }
                            continue;
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
        }
    }
    (changed, frames.last().map(|(_, start)| *start))
}

/// The marker of a line that starts a heredoc.
fn marker(line: &str) -> Option<&str> {
    let marker = line.strip_prefix("<<")?;
    let marker = marker.strip_prefix('-').unwrap_or(marker).trim_end();
    (!marker.is_empty() && marker.bytes().all(is_word)).then_some(marker)
}

fn find_line_end(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

fn starts_for(inside: &str) -> bool {
    inside
        .trim_start()
        .strip_prefix("for")
        .is_some_and(|rest| rest.starts_with([' ', '\t', '\n', '\r', '#', '/']))
}

/// Gives the key at a place another name of the same length: a bare name, or a
/// quoted one without escapes, of which the compiler reads the original.
fn rename_key(bytes: &mut [u8], start: usize, attempt: usize) -> bool {
    let quoted = bytes.get(start) == Some(&b'"');
    let start = if quoted { start + 1 } else { start };
    let end = bytes[start.min(bytes.len())..]
        .iter()
        .position(|byte| if quoted { *byte == b'"' } else { !is_word(*byte) })
        .map_or(bytes.len(), |length| start + length);
    if start >= end || (quoted && bytes[start..end].iter().any(|b| matches!(b, b'\\' | b'{'))) {
        return false;
    }
    let mut number = attempt;
    for byte in &mut bytes[start..end] {
        let letter = u8::try_from(number % 26).unwrap_or(0);
        *byte = b'A' + letter;
        number /= 26;
    }
    true
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || !byte.is_ascii()
}
