//! Quoted strings in Terraform's syntax.

use std::fmt;

/// Displays text as a quoted string literal: `"a\n"`, `"$${b}"`.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut characters = self.0.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '$' | '%' if characters.peek() == Some(&'{') => write!(f, "{character}{character}")?,
                _ if is_printable(character) => write!(f, "{character}")?,
                _ if u32::from(character) <= 0xffff => write!(f, "\\u{:04x}", u32::from(character))?,
                _ => write!(f, "\\U{:08x}", u32::from(character))?,
            }
        }
        f.write_str("\"")
    }
}

fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // `escape_debug` escapes unprintable characters; the preceding letter prevents it from
    // escaping combining marks.
    let mut text = [0; 5];
    text[0] = b'a';
    let length = character.encode_utf8(&mut text[1..]).len();
    match std::str::from_utf8(&text[..=length]) {
        Ok(text) => text.escape_debug().nth(1) != Some('\\'),
        Err(_) => false,
    }
}

/// Parses the quoted string at the start of `text`. Returns its content and its length in bytes,
/// or `None` if it is not a constant string.
pub(super) fn unquote(text: &str) -> Option<(String, usize)> {
    let body = text.strip_prefix('"')?;
    let mut content = String::new();
    let mut rest = body.char_indices();
    while let Some((at, character)) = rest.next() {
        let following = &body[at..];
        match character {
            '"' => return Some((content, at + 2)),
            '\n' | '\r' => return None,
            '$' | '%' if following[1..].starts_with('{') => return None,
            '$' | '%' if following.starts_with("$${") || following.starts_with("%%{") => {
                content.push(character);
                content.push('{');
                rest.nth(1)?;
            }
            '\\' => match rest.next()?.1 {
                'n' => content.push('\n'),
                'r' => content.push('\r'),
                't' => content.push('\t'),
                '"' => content.push('"'),
                '\\' => content.push('\\'),
                'u' => content.push(code_point(&mut rest, 4)?),
                'U' => content.push(code_point(&mut rest, 8)?),
                _ => return None,
            },
            other => content.push(other),
        }
    }
    None
}

fn code_point(rest: &mut std::str::CharIndices<'_>, digits: usize) -> Option<char> {
    let mut code = 0u32;
    for _ in 0..digits {
        code = code.checked_mul(16)?.checked_add(rest.next()?.1.to_digit(16)?)?;
    }
    char::from_u32(code)
}
