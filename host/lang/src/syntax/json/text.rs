//! Decodes JSON strings: resolves their escapes, and records the source position of each character.

use std::borrow::Cow;
use std::sync::Arc;

use wardian_diagnostic::SourceFile;

/// A string without quotes and escapes.
pub(super) struct Unescaped<'t> {
    pub(super) text: Cow<'t, str>,
    /// Pairs of an offset in the string and an offset in the file. After each pair, both offsets
    /// advance by the same amount. Empty if the string has no escapes.
    offsets: Vec<(usize, usize)>,
}

/// Removes the quotes from a string that begins at offset `start` of its file, and resolves its
/// escapes; unpaired surrogates become replacement characters.
///
/// # Errors
///
/// Returns the offset, in the token, of the first character that is not allowed in a string.
pub(super) fn unescape(token: &str, start: usize) -> Result<Unescaped<'_>, usize> {
    let inner = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(token.len())?;
    if !inner.contains('\\') {
        return Ok(Unescaped { text: Cow::Borrowed(inner), offsets: Vec::new() });
    }
    let mut text = String::with_capacity(inner.len());
    let mut offsets = vec![(0, start + 1)];
    let mut at = 0;
    while let Some(length) = inner.get(at..).and_then(|rest| rest.find('\\')) {
        text.push_str(inner.get(at..at + length).unwrap_or(""));
        at += length;
        let (character, length) = escape(inner.get(at..).unwrap_or("")).ok_or(at + 1)?;
        offsets.push((text.len(), start + 1 + at));
        text.push(character);
        at += length;
        offsets.push((text.len(), start + 1 + at));
    }
    text.push_str(inner.get(at..).unwrap_or(""));
    Ok(Unescaped { text: Cow::Owned(text), offsets })
}

/// Returns the character that the escape at the start of the text represents, and the length of the
/// escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let simple = |character| Some((character, 2));
    match text.as_bytes().get(1)? {
        b'"' => simple('"'),
        b'\\' => simple('\\'),
        b'/' => simple('/'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'u' => {
            let unit = code_unit(text)?;
            let low = || text.get(6..).and_then(code_unit).filter(|low| (0xdc00..0xe000).contains(low));
            if (0xd800..0xdc00).contains(&unit)
                && let Some(low) = low()
            {
                let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Some((char::from_u32(code)?, 12));
            }
            Some((char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), 6))
        }
        _ => None,
    }
}

fn code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

impl Unescaped<'_> {
    /// Returns the source file in which to compile the string, and the start and end of the string
    /// in it. Spans in the returned file refer to `file`.
    pub(super) fn source(self, file: &Arc<SourceFile>, start: usize) -> (Arc<SourceFile>, usize, usize) {
        match self.text {
            Cow::Borrowed(text) => (Arc::clone(file), start + 1, start + 1 + text.len()),
            Cow::Owned(text) => {
                let length = text.len();
                (SourceFile::excerpt(file, text, self.offsets), 0, length)
            }
        }
    }
}
