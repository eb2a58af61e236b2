//! A pull reader for JSON text. It checks the grammar while reading, returns number literals as
//! written, and does not build a tree.

use std::borrow::Cow;

use crate::codec::{Budget, DecodeProblem, Failure, MAX_DEPTH};

type Result<T> = std::result::Result<T, Failure<DecodeProblem>>;

/// The kind of the next value, as determined by its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a bool",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The budget for values that callers create from the input.
    pub(super) budget: Budget,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(|error| DecodeProblem::Syntax {
            offset: error.valid_up_to(),
            what: "the text is not valid UTF-8",
        })?;
        Ok(Self::for_text(text))
    }

    pub(crate) fn for_text(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, budget: Budget::new() }
    }

    fn syntax<T>(&self, what: &'static str) -> Result<T> {
        Err(DecodeProblem::Syntax { offset: self.at, what }.into())
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    /// Returns the kind of the next value without reading it.
    pub(crate) fn peek(&mut self) -> Result<Kind> {
        self.skip_space();
        match self.byte() {
            Some(b'n') => Ok(Kind::Null),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b'"') => Ok(Kind::String),
            Some(b'[') => Ok(Kind::Array),
            Some(b'{') => Ok(Kind::Object),
            Some(_) => self.syntax("unexpected character"),
            None => self.syntax("unexpected end of input"),
        }
    }

    /// Checks that the text ends here.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.skip_space();
        match self.byte() {
            None => Ok(()),
            Some(_) => self.syntax("unexpected text after the value"),
        }
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            self.syntax("unexpected character")
        }
    }

    pub(crate) fn null(&mut self) -> Result<()> {
        self.word("null")
    }

    pub(crate) fn bool(&mut self) -> Result<bool> {
        if self.byte() == Some(b't') {
            self.word("true").map(|()| true)
        } else {
            self.word("false").map(|()| false)
        }
    }

    /// Reads a number and returns its literal text.
    pub(crate) fn number(&mut self) -> Result<&'a str> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at == start { self.syntax("a digit is expected") } else { Ok(()) }
    }

    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>> {
        self.skip_space();
        if self.byte() != Some(b'"') {
            return self.syntax("a string is expected");
        }
        self.at += 1;
        let mut owned = String::new();
        loop {
            // Most strings are short, so this is faster than a search with vector instructions.
            let rest = &self.text[self.at..];
            let is_special = |&byte: &u8| SPECIAL_IN_STRING[usize::from(byte)];
            let Some(length) = rest.as_bytes().iter().position(is_special) else {
                self.at = self.text.len();
                return self.syntax("a string is not closed");
            };
            let part = &rest[..length];
            self.at += length;
            match rest.as_bytes()[length] {
                b'"' => {
                    self.at += 1;
                    if owned.is_empty() {
                        return Ok(Cow::Borrowed(part));
                    }
                    owned.push_str(part);
                    return Ok(Cow::Owned(owned));
                }
                b'\\' => {
                    self.at += 1;
                    owned.push_str(part);
                    let character = self.escape()?;
                    owned.push(character);
                }
                _ => return self.syntax("a control character in a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let Some(byte) = self.byte() else {
            return self.syntax("a string is not closed");
        };
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                let second = if (0xd800..0xdc00).contains(&first)
                    && self.text.as_bytes()[self.at..].starts_with(b"\\u")
                {
                    let back = self.at;
                    self.at += 2;
                    let second = self.hex()?;
                    if (0xdc00..0xe000).contains(&second) {
                        Some(second)
                    } else {
                        self.at = back;
                        None
                    }
                } else {
                    None
                };
                // A lone surrogate becomes a replacement character, as in Go.
                let code = match second {
                    Some(second) => 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    None => first,
                };
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return self.syntax("an unknown escape in a string"),
        })
    }

    fn hex(&mut self) -> Result<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.byte().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.syntax("four hexadecimal digits are expected");
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    /// Enters an array or object.
    pub(crate) fn open(&mut self) -> Result<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(DecodeProblem::TooDeep.into()) } else { Ok(()) }
    }

    /// Advances to the next element of the array or object that was entered. At the end, leaves the
    /// array or object, and returns `false`. All calls for one array or object share `first`.
    pub(crate) fn next(&mut self, close: u8, first: &mut bool) -> Result<bool> {
        self.skip_space();
        let was_first = std::mem::replace(first, false);
        match self.byte() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            Some(b',') if !was_first => {
                self.at += 1;
                Ok(true)
            }
            Some(_) if was_first => Ok(true),
            Some(_) => self.syntax("a comma or the closing bracket is expected"),
            None => self.syntax("unexpected end of input"),
        }
    }

    /// Reads a key of an object and the colon after it.
    pub(crate) fn key(&mut self) -> Result<Cow<'a, str>> {
        let key = self.string()?;
        self.skip_space();
        if self.byte() != Some(b':') {
            return self.syntax("a colon is expected");
        }
        self.at += 1;
        Ok(key)
    }

    /// Skips a value, but checks its syntax.
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.peek()? {
            Kind::Null => self.null(),
            Kind::Bool => self.bool().map(drop),
            Kind::Number => self.number().map(drop),
            Kind::String => self.string().map(drop),
            Kind::Array => {
                self.open()?;
                let mut first = true;
                while self.next(b']', &mut first)? {
                    self.skip()?;
                }
                Ok(())
            }
            Kind::Object => {
                self.open()?;
                let mut first = true;
                while self.next(b'}', &mut first)? {
                    self.key()?;
                    self.skip()?;
                }
                Ok(())
            }
        }
    }

    /// Returns the current position, for use with [`Reader::rewind`].
    pub(crate) fn position(&self) -> (usize, usize) {
        (self.at, self.depth)
    }

    pub(crate) fn rewind(&mut self, position: (usize, usize)) {
        (self.at, self.depth) = position;
    }
}

/// The bytes that end a part of a string: quotation marks, backslashes and control characters.
const SPECIAL_IN_STRING: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special
};
