//! Splits text into tokens.
//!
//! The parser and the formatter depend on token boundaries that are the same as in Terraform's
//! scanner for the native syntax.
//!
//! - [`scan`] is total: invalid text becomes [`TokenKind::Invalid`]. The last token is always
//!   [`TokenKind::End`], which is empty.
//! - [`scan`] is lossless: tokens are in order and do not overlap; between two of them there are
//!   only spaces and tabs, and a byte order mark may precede the first.
//! - [`scan`] takes time linear in the length of the text, and needs memory for the tokens and for
//!   one small entry per open template, interpolation and heredoc.
//!
//! # Newlines and comments
//!
//! A [`TokenKind::Newline`] is `\n` or `\r\n`. A [`TokenKind::LineComment`] includes the end of
//! its line (unless the file ends first): no newline token follows it.
//!
//! # Templates
//!
//! `"a${b}\n"` is [`TokenKind::OpenQuote`], [`TokenKind::QuotedLiteral`] (`a`),
//! [`TokenKind::OpenInterpolation`] (`${` or `${~`), the tokens of an expression,
//! [`TokenKind::CloseSequence`] (`}` or `~}`), [`TokenKind::QuotedLiteral`] (`\n`, escapes as
//! written) and [`TokenKind::CloseQuote`]. Adjacent literals form one text. A line break inside
//! quotes is an error that the parser reports: [`TokenKind::QuotedNewline`] covers all consecutive
//! line breaks, and the template continues.
//!
//! A heredoc is [`TokenKind::OpenHeredoc`] (`<<EOT` or `<<-EOT` with the end of the line), one or
//! more [`TokenKind::TemplateLiteral`] for each of its lines, and [`TokenKind::CloseHeredoc`]. The
//! last of these is the line of the marker with the spaces on both sides, but without its line
//! break, which follows as [`TokenKind::Newline`]. A marker that is not followed by the end of a
//! line is text.
//!
//! Inside interpolations and directives (`%{ ... }`) the rules are the same as outside.
//!
//! ```text
//! template    -> OpenQuote piece* CloseQuote
//! heredoc     -> OpenHeredoc piece* CloseHeredoc
//! piece       -> literal | (OpenInterpolation | OpenDirective) token* CloseSequence
//! ```

mod template;

use self::template::Template;

/// A range of significant text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// The offset of the first byte in the file.
    pub(crate) start: usize,
    /// The offset after the last byte.
    pub(crate) end: usize,
}

/// The kind of a token. The text of a kind varies, unless the kind's documentation shows a fixed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A letter or `_`, followed by letters, digits, `_` and `-`. Keywords are identifiers too.
    Identifier,
    /// Text that begins and ends with a digit. It can contain several dots (`1.2.3`, which is not a
    /// number but two legacy indexes) and exponents.
    Number,
    Newline,
    /// `#` or `//` up to and including the end of the line.
    LineComment,
    /// `/* */`.
    BlockComment,

    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `(`
    OpenParenthesis,
    /// `)`
    CloseParenthesis,

    /// `"` at the start of a template.
    OpenQuote,
    /// `"` at the end of a template.
    CloseQuote,
    /// Text between quotes, with its escapes.
    QuotedLiteral,
    /// Line breaks between quotes.
    QuotedNewline,
    /// `<<EOT` or `<<-EOT` and the end of the line.
    OpenHeredoc,
    /// The marker with the spaces around it.
    CloseHeredoc,
    /// Text in a heredoc, or in a template without quotes. The only escapes are `$${` and `%%{`.
    TemplateLiteral,
    /// `${` or `${~`
    OpenInterpolation,
    /// `%{` or `%{~`
    OpenDirective,
    /// `}` or `~}` of an interpolation or directive, or an unmatched `~}`.
    CloseSequence,

    /// `=`
    Assign,
    /// `=>`
    Arrow,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `!`
    Not,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `?`
    Question,
    /// `:`
    Colon,
    /// `::`
    DoubleColon,
    /// `.`
    Dot,
    /// `...`
    Ellipsis,
    /// `,`
    Comma,

    /// `&`, which is not an operator.
    Ampersand,
    /// `|`, which is not an operator.
    Pipe,
    /// `^`, which is not an operator.
    Caret,
    /// `~`, which is not an operator.
    Tilde,
    /// `'`, which is not a quotation mark.
    Apostrophe,
    /// `` ` ``, which is not a quotation mark.
    Backtick,
    /// `;`, which is not a separator.
    Semicolon,
    /// Text that is not a token, usually one character.
    Invalid,
    /// The end of the text; empty.
    End,
}

/// The kind of text that the scanner starts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A body or an expression.
    Normal,
    /// A template without surrounding quotes.
    Template,
}

/// Returns the tokens of `text` from byte `start` to byte `end`. If one of these is not a character
/// boundary, only [`TokenKind::End`] is returned.
pub(crate) fn scan(text: &str, start: usize, end: usize, mode: Start) -> Vec<Token> {
    let Some(part) = text.get(..end).filter(|part| part.is_char_boundary(start)) else {
        return vec![Token { kind: TokenKind::End, start: end, end }];
    };
    let mark = if start == 0 && part.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut scanner = Scanner {
        text: part,
        bytes: part.as_bytes(),
        at: start + mark,
        tokens: Vec::with_capacity((end - start) / 4 + 1),
        open: Vec::new(),
        unclosed_comment: false,
    };
    scanner.run(mode);
    scanner.tokens
}

impl Token {
    /// Returns the token's text.
    pub(crate) fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or("")
    }
}

/// An open construct that contains the current position.
#[derive(Clone, Copy, Debug)]
enum Open {
    Template(Template),
    /// An interpolation or directive, with the number of braces that are open in it.
    Sequence {
        braces: usize,
    },
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    open: Vec<Open>,
    /// True if the remaining text does not contain `*/`.
    unclosed_comment: bool,
}

impl Scanner<'_> {
    fn run(&mut self, mode: Start) {
        if mode == Start::Template {
            self.open.push(Open::Template(Template::Bare));
        }
        while self.at < self.bytes.len() {
            match self.open.last() {
                Some(Open::Template(template)) => self.template_token(*template),
                _ => self.normal_token(),
            }
        }
        self.push(TokenKind::End, 0);
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let end = self.at + length;
        self.tokens.push(Token { kind, start: self.at, end });
        self.at = end;
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn follows(&self, text: &str) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    fn normal_token(&mut self) {
        use TokenKind as T;
        let Some(byte) = self.byte(0) else { return };
        let next = self.byte(1);
        let (kind, length) = match byte {
            b' ' | b'\t' => {
                self.at += 1;
                return;
            }
            b'\n' => (T::Newline, 1),
            b'\r' if next == Some(b'\n') => (T::Newline, 2),
            b'0'..=b'9' => (T::Number, self.number_length()),
            b'#' => (T::LineComment, self.line_length()),
            b'/' if next == Some(b'/') => (T::LineComment, self.line_length()),
            b'/' if next == Some(b'*') => match self.block_comment_length() {
                Some(length) => (T::BlockComment, length),
                None => (T::Slash, 1),
            },
            b'{' => return self.open_brace(),
            b'}' => return self.close_brace(),
            b'"' => {
                self.push(T::OpenQuote, 1);
                self.open.push(Open::Template(Template::Quoted));
                return;
            }
            b'<' if next == Some(b'<') && self.heredoc() => return,
            b'~' if next == Some(b'}') => return self.close_sequence(2),
            b'[' => (T::OpenBracket, 1),
            b']' => (T::CloseBracket, 1),
            b'(' => (T::OpenParenthesis, 1),
            b')' => (T::CloseParenthesis, 1),
            b'=' => match next {
                Some(b'=') => (T::Equal, 2),
                Some(b'>') => (T::Arrow, 2),
                _ => (T::Assign, 1),
            },
            b'!' if next == Some(b'=') => (T::NotEqual, 2),
            b'!' => (T::Not, 1),
            b'<' if next == Some(b'=') => (T::LessOrEqual, 2),
            b'<' => (T::Less, 1),
            b'>' if next == Some(b'=') => (T::GreaterOrEqual, 2),
            b'>' => (T::Greater, 1),
            b'&' if next == Some(b'&') => (T::And, 2),
            b'&' => (T::Ampersand, 1),
            b'|' if next == Some(b'|') => (T::Or, 2),
            b'|' => (T::Pipe, 1),
            b':' if next == Some(b':') => (T::DoubleColon, 2),
            b':' => (T::Colon, 1),
            b'.' if self.follows("...") => (T::Ellipsis, 3),
            b'.' => (T::Dot, 1),
            b',' => (T::Comma, 1),
            b'+' => (T::Plus, 1),
            b'-' => (T::Minus, 1),
            b'*' => (T::Star, 1),
            b'/' => (T::Slash, 1),
            b'%' => (T::Percent, 1),
            b'?' => (T::Question, 1),
            b'^' => (T::Caret, 1),
            b'~' => (T::Tilde, 1),
            b'\'' => (T::Apostrophe, 1),
            b'`' => (T::Backtick, 1),
            b';' => (T::Semicolon, 1),
            _ => match self.identifier_length(self.at) {
                0 => (T::Invalid, self.character_length()),
                length => (T::Identifier, length),
            },
        };
        self.push(kind, length);
    }

    /// Returns the length of the digits, dots and exponents, up to the last digit.
    fn number_length(&self) -> usize {
        let mut length = 0;
        let mut ahead = 0;
        while let Some(byte) = self.byte(ahead) {
            match byte {
                b'0'..=b'9' => {
                    ahead += 1;
                    length = ahead;
                }
                b'.' => ahead += 1,
                b'e' | b'E' => {
                    let sign = usize::from(matches!(self.byte(ahead + 1), Some(b'+' | b'-')));
                    if !self.byte(ahead + 1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
                        break;
                    }
                    ahead += 2 + sign;
                    length = ahead;
                }
                _ => break,
            }
        }
        length
    }

    /// Returns the length up to and including the end of the line.
    fn line_length(&self) -> usize {
        let rest = &self.bytes[self.at..];
        rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |newline| newline + 1)
    }

    fn block_comment_length(&mut self) -> Option<usize> {
        if self.unclosed_comment {
            return None;
        }
        let length = self.text.get(self.at + 2..).and_then(|rest| rest.find("*/"));
        self.unclosed_comment = length.is_none();
        length.map(|length| length + 4)
    }

    fn character_length(&self) -> usize {
        self.text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }

    /// Returns the length of the identifier that starts at a byte; 0 if there is none.
    fn identifier_length(&self, at: usize) -> usize {
        let mut length = 0;
        while let Some(byte) = self.bytes.get(at + length) {
            let first = length == 0;
            length += match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => 1,
                b'0'..=b'9' | b'-' if !first => 1,
                0..=0x7f => break,
                _ => match self.text.get(at + length..).and_then(|rest| rest.chars().next()) {
                    Some(character) if first && unicode_ident::is_xid_start(character) => {
                        character.len_utf8()
                    }
                    Some(character) if !first && unicode_ident::is_xid_continue(character) => {
                        character.len_utf8()
                    }
                    _ => break,
                },
            };
        }
        length
    }

    fn open_brace(&mut self) {
        if let Some(Open::Sequence { braces }) = self.open.last_mut() {
            *braces += 1;
        }
        self.push(TokenKind::OpenBrace, 1);
    }

    fn close_brace(&mut self) {
        match self.open.last_mut() {
            Some(Open::Sequence { braces: 0 }) => self.close_sequence(1),
            Some(Open::Sequence { braces }) => {
                *braces -= 1;
                self.push(TokenKind::CloseBrace, 1);
            }
            _ => self.push(TokenKind::CloseBrace, 1),
        }
    }

    fn close_sequence(&mut self, length: usize) {
        match self.open.last_mut() {
            Some(Open::Sequence { braces: 0 }) => {
                self.open.pop();
            }
            Some(Open::Sequence { braces }) => *braces -= 1,
            _ => {}
        }
        self.push(TokenKind::CloseSequence, length);
    }
}

#[cfg(test)]
mod tests;
