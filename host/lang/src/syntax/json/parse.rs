//! JSON text as a tree of values.
//!
//! After an error, reading goes on behind the object or array that it is in, so
//! that one run finds what is wrong elsewhere too.

use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, closest};
use wardian_value::{Number, Str};

use super::scan::{Scanner, Token, TokenKind};
use super::text::unescape;
use super::{Json, Kind, Member};

/// How deep values may be nested.
const MOST_NESTED: usize = 256;

type Place = (usize, usize);

/// The value that a file holds.
pub(super) fn file(file: &Arc<SourceFile>) -> (Json, Diagnostics) {
    let scanner = Scanner::new(file.text());
    let mut parser = Parser { file, scanner, problems: Diagnostics::new(), depth: 0 };
    let value = parser.value();
    let next = parser.scanner.peek();
    if parser.problems.is_empty() && next.kind != TokenKind::End {
        let detail = "The value ends before this; nothing may follow it.";
        parser.problem("Extraneous data after value", detail, next.place());
    }
    (value, parser.problems)
}

struct Parser<'a> {
    file: &'a Arc<SourceFile>,
    scanner: Scanner<'a>,
    problems: Diagnostics,
    depth: usize,
}

impl Parser<'_> {
    fn problem(&mut self, summary: &str, detail: impl Into<String>, (start, end): Place) {
        // At the end of the file there is nothing to point at but what is before.
        let end = if start == end { (start + 1).min(self.file.text().len()) } else { end };
        self.problems.push(Diagnostic::error(summary, detail).at(Span::new(self.file, start, end)));
    }

    /// Whatever is there. What cannot be read is told, and is [`Kind::Invalid`].
    fn value(&mut self) -> Json {
        let token = self.scanner.peek();
        let kind = match token.kind {
            TokenKind::OpenBrace | TokenKind::OpenBracket if self.depth >= MOST_NESTED => {
                self.too_deep(token);
                None
            }
            TokenKind::OpenBrace => self.nested(Self::object),
            TokenKind::OpenBracket => self.nested(Self::array),
            TokenKind::Text => self.text(),
            TokenKind::Number => self.number(),
            TokenKind::Word => self.word(),
            other => {
                self.no_value(other, token);
                None
            }
        };
        match kind {
            Some((kind, place)) => Json::new(kind, place),
            None => Json::new(Kind::Invalid, token.place()),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Option<(Kind, Place)>) -> Option<(Kind, Place)> {
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Tells it once, and skips all of what is too deep.
    fn too_deep(&mut self, token: Token) {
        let detail = format!("Values in JSON may be nested {MOST_NESTED} levels deep.");
        self.problem("Nested too deeply", detail, token.place());
        let mut open = 0usize;
        loop {
            match self.scanner.read().kind {
                TokenKind::OpenBrace | TokenKind::OpenBracket => open += 1,
                TokenKind::CloseBrace | TokenKind::CloseBracket if open == 1 => return,
                TokenKind::CloseBrace | TokenKind::CloseBracket => open -= 1,
                TokenKind::End => return,
                _ => {}
            }
        }
    }

    fn no_value(&mut self, kind: TokenKind, token: Token) {
        let needed = "A value is a text in double quotes, a number, true, false, null, or begins with a \
                      brace or a bracket.";
        match kind {
            TokenKind::CloseBracket => {
                self.problem("Missing array element value", needed, token.place());
            }
            TokenKind::CloseBrace => self.problem("Missing JSON value", needed, token.place()),
            TokenKind::End => {
                self.problem("Missing value", "The file ends where a value is needed.", token.place());
            }
            _ if self.scanner.text_of(token) == "\u{feff}" => {
                let detail = "The file begins with a byte order mark, which JSON does not have. Save it \
                              without.";
                self.problem("Invalid start of value", detail, token.place());
            }
            _ => self.problem("Invalid start of value", needed, token.place()),
        }
    }

    fn object(&mut self) -> Option<(Kind, Place)> {
        let open = self.scanner.read();
        let mut members = Vec::new();
        while self.scanner.peek().kind != TokenKind::CloseBrace {
            let name = self.value();
            if !matches!(name.kind, Kind::Text(_)) {
                self.name_needed(&name);
                return None;
            }
            let colon = self.scanner.read();
            if colon.kind != TokenKind::Colon {
                self.missing_colon(colon);
                return None;
            }
            let value = self.value();
            members.push(Member { name: Arc::new(name), value: Arc::new(value) });
            let next = self.scanner.peek();
            match next.kind {
                TokenKind::Comma => {
                    let comma = self.scanner.read();
                    if self.scanner.peek().kind == TokenKind::CloseBrace {
                        let detail = "Behind the last property of an object there is no comma in JSON. \
                                      Remove it.";
                        self.problem("Trailing comma in object", detail, comma.place());
                        return None;
                    }
                }
                TokenKind::End => {
                    let detail = "The file ends, but the brace that begins this object has not been closed.";
                    self.problem("Unclosed object", detail, open.place());
                    return None;
                }
                TokenKind::CloseBracket => {
                    self.scanner.read();
                    let detail = "An object ends with a brace, not with a bracket.";
                    self.problem("Mismatched braces", detail, self.scanner.peek().place());
                    return None;
                }
                TokenKind::CloseBrace => {}
                _ => {
                    let stray = self.scanner.read();
                    self.recover(stray, TokenKind::OpenBrace, TokenKind::CloseBrace);
                    let detail = format!(
                        "Between the properties of an object there must be commas: one is missing before {}.",
                        Span::new(self.file, stray.start, stray.end)
                    );
                    self.problem("Missing attribute seperator comma", detail, self.scanner.peek().place());
                    return None;
                }
            }
        }
        let close = self.scanner.read();
        Some((Kind::Object(members), (open.start, close.end)))
    }

    fn name_needed(&mut self, name: &Json) {
        let place = match name.kind {
            Kind::Array(_) | Kind::Object(_) => (name.start, name.start + 1),
            _ => (name.start, name.end),
        };
        let detail = "The name of a property is a text in double quotes.";
        self.problem("Invalid object property name", detail, place);
    }

    fn missing_colon(&mut self, found: Token) {
        self.recover(found, TokenKind::OpenBrace, TokenKind::CloseBrace);
        let (summary, detail) = match found.kind {
            TokenKind::CloseBrace | TokenKind::Comma => (
                "Missing object value",
                "A property has a value, with a colon before it. A list of values stands in brackets \
                 rather than braces.",
            ),
            TokenKind::Equals => (
                "Missing property value colon",
                "In JSON a colon stands between name and value, not an equals sign.",
            ),
            _ => (
                "Missing property value colon",
                "A colon must stand between the name of a property and its value.",
            ),
        };
        self.problem(summary, detail, found.place());
    }

    /// Goes to the end of the object or array that `token` is in.
    fn recover(&mut self, mut token: Token, opening: TokenKind, closing: TokenKind) {
        let mut open = 1usize;
        loop {
            if token.kind == opening {
                open += 1;
            } else if token.kind == closing {
                open -= 1;
                if open <= 1 {
                    return;
                }
            } else if token.kind == TokenKind::End {
                return;
            }
            token = self.scanner.read();
        }
    }

    fn array(&mut self) -> Option<(Kind, Place)> {
        let open = self.scanner.read();
        let mut items = Vec::new();
        while self.scanner.peek().kind != TokenKind::CloseBracket {
            let value = self.value();
            items.push(Arc::new(value));
            let next = self.scanner.peek();
            let (summary, detail) = match next.kind {
                TokenKind::Comma => {
                    let comma = self.scanner.read();
                    if self.scanner.peek().kind == TokenKind::CloseBracket {
                        let detail =
                            "Behind the last value of an array there is no comma in JSON. Remove it.";
                        self.problem("Trailing comma in array", detail, comma.place());
                        return None;
                    }
                    continue;
                }
                TokenKind::CloseBracket => continue,
                TokenKind::End => {
                    let detail = "The file ends, but the bracket that begins this array has not been closed.";
                    self.problem("Unclosed object", detail, open.place());
                    return None;
                }
                TokenKind::Colon => (
                    "Invalid array value",
                    "Values of an array have no names; an object stands in braces. There is a colon at",
                ),
                TokenKind::CloseBrace => {
                    ("Mismatched brackets", "An array ends with a bracket, not with the brace at")
                }
                _ => (
                    "Missing attribute seperator comma",
                    "Between the values of an array there must be commas. One is missing before",
                ),
            };
            let stray = self.scanner.read();
            self.recover(stray, TokenKind::OpenBracket, TokenKind::CloseBracket);
            let detail = format!("{detail} {}.", Span::new(self.file, stray.start, stray.end));
            self.problem(summary, detail, self.scanner.peek().place());
            return None;
        }
        let close = self.scanner.read();
        Some((Kind::Array(items), (open.start, close.end)))
    }

    fn text(&mut self) -> Option<(Kind, Place)> {
        let token = self.scanner.read();
        match unescape(self.scanner.text_of(token), token.start) {
            Ok(unescaped) => Some((Kind::Text(Str::new(&unescaped.text)), token.place())),
            Err(at) => {
                let detail = "Something in this text is not valid in JSON. Behind a backslash there may be n, r, \
                              t, b, f, a quote, a slash, another backslash or uNNNN; a line break is written as \
                              \\n.";
                let start = (token.start + at).min(token.end.saturating_sub(1)).max(token.start);
                let place = (floor(self.file.text(), start), token.end);
                self.problem("Invalid JSON string", detail, place);
                None
            }
        }
    }

    fn number(&mut self) -> Option<(Kind, Place)> {
        let token = self.scanner.read();
        let text = self.scanner.text_of(token);
        let number = is_number(text).then(|| Number::parse(text).ok()).flatten();
        if number.is_none() {
            let detail = "This is not a number as JSON has them: digits without a zero in front, maybe with a \
                          minus, a fraction and an exponent.";
            self.problem("Invalid JSON number", detail, token.place());
        }
        number.map(|number| (Kind::Number(number), token.place()))
    }

    fn word(&mut self) -> Option<(Kind, Place)> {
        let token = self.scanner.read();
        let kind = match self.scanner.text_of(token) {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            word => {
                let advice = match closest(word, ["true", "false", "null"]) {
                    Some(near) => format!("Did you mean \"{near}\"?"),
                    None => "If it is a text, put it in double quotes.".to_owned(),
                };
                let detail = format!("JSON has the words true, false and null, but not \"{word}\". {advice}");
                self.problem("Invalid JSON keyword", detail, token.place());
                return None;
            }
        };
        Some((kind, token.place()))
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether a text is a number by JSON's own rules.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with('0')) {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}
