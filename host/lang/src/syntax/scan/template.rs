//! Scans the literal text in templates.

use super::{Open, Scanner, TokenKind};

/// A template, outside of interpolations and directives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Template {
    Quoted,
    /// The byte range of the heredoc marker in the file, and whether the scanner is at the start of
    /// a line.
    Heredoc {
        marker: (usize, usize),
        line_start: bool,
    },
    /// A template without quotes that spans the whole text.
    Bare,
}

impl Scanner<'_> {
    /// Scans the start of a heredoc, if `<<` starts one here.
    pub(super) fn heredoc(&mut self) -> bool {
        let start = self.at + 2 + usize::from(self.byte(2) == Some(b'-'));
        let end = start + self.identifier_length(start);
        let line_end = match self.bytes.get(end..) {
            Some([b'\n', ..]) => 1,
            Some([b'\r', b'\n', ..]) => 2,
            _ => 0,
        };
        if start == end || line_end == 0 {
            return false;
        }
        self.push(TokenKind::OpenHeredoc, end + line_end - self.at);
        self.open.push(Open::Template(Template::Heredoc { marker: (start, end), line_start: true }));
        true
    }

    pub(super) fn template_token(&mut self, template: Template) {
        if let (Some(kind), Some(b'{')) = (sequence_kind(self.byte(0)), self.byte(1)) {
            let strips = usize::from(self.byte(2) == Some(b'~'));
            self.set_line_start(false);
            self.push(kind, 2 + strips);
            self.open.push(Open::Sequence { braces: 0 });
            return;
        }
        match template {
            Template::Quoted => self.quoted_token(),
            Template::Heredoc { marker, line_start } => self.heredoc_token(marker, line_start),
            Template::Bare => {
                let line = self.literal_length(|byte| byte == b'\n');
                let length = line + usize::from(self.byte(line) == Some(b'\n'));
                self.push(TokenKind::TemplateLiteral, length);
            }
        }
    }

    fn quoted_token(&mut self) {
        match self.byte(0) {
            Some(b'"') => {
                self.push(TokenKind::CloseQuote, 1);
                self.open.pop();
            }
            Some(b'\n' | b'\r') => {
                let rest = &self.bytes[self.at..];
                let length =
                    rest.iter().position(|byte| !matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
                self.push(TokenKind::QuotedNewline, length);
            }
            // A backslash at the end of a line or of the text is not an escape.
            Some(b'\\') if matches!(self.byte(1), None | Some(b'\n' | b'\r')) => {
                self.push(TokenKind::Invalid, 1);
            }
            _ => {
                let length = self.literal_length(|byte| matches!(byte, b'"' | b'\n' | b'\r' | b'\\'));
                self.push(TokenKind::QuotedLiteral, length);
            }
        }
    }

    /// Scans a line of a heredoc, or the rest of the line up to the next interpolation or
    /// directive.
    fn heredoc_token(&mut self, marker: (usize, usize), line_start: bool) {
        let mut length = self.literal_length(|byte| byte == b'\n');
        let ends = self.byte(length) == Some(b'\n');
        let Some(line) = self.text.get(self.at..self.at + length) else { return self.set_line_start(false) };
        if ends && line_start && self.text.get(marker.0..marker.1) == Some(line.trim()) {
            let returns = usize::from(line.ends_with('\r'));
            self.push(TokenKind::CloseHeredoc, length - returns);
            self.push(TokenKind::Newline, returns + 1);
            self.open.pop();
            return;
        }
        self.set_line_start(ends);
        length += usize::from(ends);
        self.push(TokenKind::TemplateLiteral, length);
    }

    fn set_line_start(&mut self, is_start: bool) {
        if let Some(Open::Template(Template::Heredoc { line_start, .. })) = self.open.last_mut() {
            *line_start = is_start;
        }
    }

    /// Returns the length of literal text, up to the next interpolation or directive, or up to a
    /// byte for which `ends` returns true. If `ends` returns true for the backslash, a backslash
    /// does not end the text but escapes the next character, unless that is the end of the line.
    fn literal_length(&self, ends: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes[self.at..];
        let mut length = 0;
        while let Some(byte) = rest.get(length).copied() {
            length += match byte {
                b'\\' if ends(byte) => match rest.get(length + 1) {
                    None | Some(b'\n' | b'\r') => break,
                    Some(_) => self.escape_length(length),
                },
                _ if ends(byte) => break,
                b'$' | b'%' if rest.get(length + 1) == Some(&b'{') => break,
                // `$${` is not an interpolation; in `$$${`, the last two dollar signs are the
                // escape.
                b'$' | b'%' if rest.get(length + 1) == Some(&byte) && rest.get(length + 2) == Some(&b'{') => {
                    3
                }
                _ => 1,
            };
        }
        length
    }

    /// Returns the length of a backslash and the following character.
    fn escape_length(&self, ahead: usize) -> usize {
        let behind = self.text.get(self.at + ahead + 1..).and_then(|rest| rest.chars().next());
        1 + behind.map_or(0, char::len_utf8)
    }
}

fn sequence_kind(first: Option<u8>) -> Option<TokenKind> {
    match first {
        Some(b'$') => Some(TokenKind::OpenInterpolation),
        Some(b'%') => Some(TokenKind::OpenDirective),
        _ => None,
    }
}
