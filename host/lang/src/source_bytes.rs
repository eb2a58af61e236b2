//! Reads files with comments that are not valid UTF-8.
//!
//! Old files may contain comments in other encodings. Terraform has always ignored the content of
//! comments, so an invalid byte is an error only in code.

use std::borrow::Cow;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, SourceFile, Span};

use crate::syntax::scan::{Start, TokenKind, scan};

/// The placeholder for the byte 0x80 if it is not part of valid UTF-8. The characters that follow
/// are the placeholders for 0x81 to 0xFF. They are in a private use area, so they have no other
/// meaning.
const FIRST_STAND_IN: u32 = 0x0010_FE80;

/// A file's bytes, with valid text even if some comments are not valid UTF-8.
#[derive(Clone, Debug)]
pub struct SourceBytes {
    file: Arc<SourceFile>,
    has_stand_ins: bool,
}

impl SourceBytes {
    /// Reads the bytes of a file in native syntax. In the text, each byte that is not part of valid
    /// UTF-8 is replaced by a placeholder.
    ///
    /// # Errors
    /// Returns an error if such a byte occurs outside of comments.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self, Diagnostic> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Ok(Self { file: SourceFile::new(name, text), has_stand_ins: false }),
            Err(error) => error.into_bytes(),
        };
        let text = with_stand_ins(&bytes);
        let place = match &text {
            Some(text) => first_outside_of_comments(text),
            // The file itself contains such characters, so they could not be distinguished from
            // placeholders.
            None => std::str::from_utf8(&bytes).err().map(|error| error.valid_up_to()),
        };
        match (text, place) {
            (Some(text), None) => Ok(Self { file: SourceFile::new(name, text), has_stand_ins: true }),
            (text, place) => {
                let text = text.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
                Err(not_text(name, &text, place.unwrap_or_default()))
            }
        }
    }

    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }

    /// Returns the file with a replacement character for each invalid byte, for callers that do not
    /// write it back.
    pub fn into_file(self) -> Arc<SourceFile> {
        if !self.has_stand_ins {
            return self.file;
        }
        let marked =
            |character| if byte_of(character).is_some() { char::REPLACEMENT_CHARACTER } else { character };
        SourceFile::new(self.file.name(), self.file.text().chars().map(marked).collect::<String>())
    }

    /// Returns the bytes of text that was derived from this file's text.
    pub fn bytes_of<'a>(&self, text: &'a str) -> Cow<'a, [u8]> {
        if !self.has_stand_ins {
            return Cow::Borrowed(text.as_bytes());
        }
        let mut bytes = Vec::with_capacity(text.len());
        for character in text.chars() {
            match byte_of(character) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        Cow::Owned(bytes)
    }
}

/// Returns the byte that a placeholder replaces.
fn byte_of(character: char) -> Option<u8> {
    let distance = u32::from(character).checked_sub(FIRST_STAND_IN)?;
    u8::try_from(distance).ok()?.checked_add(0x80)
}

/// Returns the text with placeholders; `None` if the bytes already contain such characters.
fn with_stand_ins(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().chars().any(|character| byte_of(character).is_some()) {
            return None;
        }
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let distance = u32::from(byte.checked_sub(0x80)?);
            text.push(char::from_u32(FIRST_STAND_IN + distance)?);
        }
    }
    Some(text)
}

/// Returns the offset of the first placeholder outside of comments.
fn first_outside_of_comments(text: &str) -> Option<usize> {
    // Only spaces occur between tokens.
    scan(text, 0, text.len(), Start::Normal)
        .iter()
        .filter(|token| !matches!(token.kind, TokenKind::LineComment | TokenKind::BlockComment))
        .find_map(|token| {
            let code = text.get(token.start..token.end)?;
            code.find(|character| byte_of(character).is_some()).map(|at| token.start + at)
        })
}

fn not_text(name: &str, text: &str, at: usize) -> Diagnostic {
    let shown = |part: &str| {
        part.chars().map(|c| byte_of(c).map_or(c, |_| char::REPLACEMENT_CHARACTER)).collect::<String>()
    };
    let before = shown(text.get(..at).unwrap_or_default());
    let start = before.len();
    let file = SourceFile::new(name, before + &shown(text.get(at..).unwrap_or_default()));
    Diagnostic::error(
        "Invalid character encoding",
        format!("A byte here is not valid UTF-8. Save {name} in that encoding."),
    )
    .at(Span::new(&file, start, start + char::REPLACEMENT_CHARACTER.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_formatted_unchanged() {
        let bytes = b"# caf\xe9 \xff\x80\na=1 /* \xc3 \xc3\xa9 */\n// \xf0\x9f\x92\n";
        let read = SourceBytes::new("x.tf", bytes.to_vec()).unwrap();
        assert_eq!(read.bytes_of(read.file().text()), &bytes[..]);
        assert_eq!(
            read.into_file().text(),
            "# caf\u{fffd} \u{fffd}\u{fffd}\na=1 /* \u{fffd} \u{e9} */\n// \u{fffd}\u{fffd}\u{fffd}\n"
        );
    }

    #[test]
    fn private_use_characters_are_preserved() {
        let text = "a = \"\u{10fe80}\u{10feff}\" # \u{10fe99}\n";
        let read = SourceBytes::new("x.tf", text.as_bytes().to_vec()).unwrap();
        assert_eq!(read.bytes_of(read.file().text()), text.as_bytes());
        assert_eq!(read.into_file().text(), text);
    }

    #[test]
    fn invalid_bytes_in_code_are_reported_with_position() {
        for (bytes, line, column) in [
            (&b"# \xe9\na = 1\nb = \"\xff\"\n"[..], 3, 6),
            (b"\xff = 1\n", 1, 1),
            (b"a = <<E\n# \xe9\nE\n", 2, 3),
            (b"a = \"# \xe9\"\n", 1, 8),
            ("# \u{10fe80}\n# \u{fffd}".as_bytes(), 0, 0),
        ] {
            let read = SourceBytes::new("x.tf", bytes.to_vec());
            let place = read.err().and_then(|problem| problem.subject).map(|span| span.start_position());
            assert_eq!(place.map_or((0, 0), |place| (place.line, place.column)), (line, column));
        }
    }

    #[test]
    fn invalid_bytes_next_to_their_placeholders_are_rejected() {
        let problem = SourceBytes::new("x.tf", b"# \xf4\x8f\xba\x80\n# \xff\n".to_vec()).unwrap_err();
        assert_eq!(problem.subject.unwrap().start_position().line, 2);
    }
}
