//! Splits JSON text into tokens.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    OpenBrace,
    CloseBrace,
    OpenBracket,
    CloseBracket,
    Comma,
    Colon,
    Equals,
    /// A string, including its quotes. If the line ends first, the closing quote is missing.
    Text,
    Number,
    /// `true`, or any other word.
    Word,
    Invalid,
    End,
}

/// A token and its position in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    pub(super) fn place(self) -> (usize, usize) {
        (self.start, self.end)
    }
}

/// Returns the tokens one after the other; at the end, returns [`TokenKind::End`] repeatedly.
pub(super) struct Scanner<'t> {
    text: &'t str,
    next: Token,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, next: token_at(text, 0) }
    }

    pub(super) fn text_of(&self, token: Token) -> &'t str {
        self.text.get(token.start..token.end).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Token {
        self.next
    }

    pub(super) fn read(&mut self) -> Token {
        let token = self.next;
        self.next = match token.kind {
            // The remaining text is not JSON.
            TokenKind::Invalid => Token { kind: TokenKind::End, start: token.end, end: token.end },
            TokenKind::End => token,
            _ => token_at(self.text, token.end),
        };
        token
    }
}

fn token_at(text: &str, from: usize) -> Token {
    let bytes = text.as_bytes();
    let run = |from: usize, belongs: fn(u8) -> bool| {
        from + bytes.get(from..).unwrap_or_default().iter().take_while(|byte| belongs(**byte)).count()
    };
    let start = run(from, |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    let Some(first) = bytes.get(start) else {
        return Token { kind: TokenKind::End, start: text.len(), end: text.len() };
    };
    let (kind, end) = match first {
        b'{' => (TokenKind::OpenBrace, start + 1),
        b'}' => (TokenKind::CloseBrace, start + 1),
        b'[' => (TokenKind::OpenBracket, start + 1),
        b']' => (TokenKind::CloseBracket, start + 1),
        b',' => (TokenKind::Comma, start + 1),
        b':' => (TokenKind::Colon, start + 1),
        b'=' => (TokenKind::Equals, start + 1),
        b'"' => (TokenKind::Text, end_of_text(bytes, start + 1)),
        b'-' | b'+' | b'.' | b'0'..=b'9' => {
            let number = |byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
            (TokenKind::Number, run(start, number))
        }
        b'a'..=b'z' | b'A'..=b'Z' => (TokenKind::Word, run(start, |byte| byte.is_ascii_alphanumeric())),
        _ => {
            let length = text.get(start..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            (TokenKind::Invalid, start + length)
        }
    };
    Token { kind, start, end }
}

/// Returns the offset after the closing quote, or the end of the line if the closing quote is
/// missing.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            0..=0x1f => return at,
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    bytes.len()
}
