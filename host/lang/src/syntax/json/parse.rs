//! Parses JSON text into a tree of values.
//!
//! After an error, parsing continues after the object or array that contains it. Therefore, one run
//! can report several errors.

use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span, closest};
use wardian_value::{Number, Str};

use super::scan::{Scanner, Token, TokenKind};
use super::text::unescape;
use super::{Json, Kind, Member};

/// Maximum nesting of values.
const MAX_NESTING: usize = 256;

type ByteRange = (usize, usize);

/// Parses the value in a file.
pub(super) fn file(file: &Arc<SourceFile>) -> (Json, Diagnostics) {
    let scanner = Scanner::new(file.text());
    let mut parser = Parser { file, scanner, problems: Diagnostics::new(), depth: 0 };
    let value = parser.value();
    let next = parser.scanner.peek();
    if parser.problems.is_empty() && next.kind != TokenKind::End {
        let detail = "A file contains only one value; remove the rest.";
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
    fn problem(&mut self, summary: &str, detail: impl Into<String>, (start, end): ByteRange) {
        // At the end of the file, the span covers the preceding text.
        let end = if start == end { (start + 1).min(self.file.text().len()) } else { end };
        self.problems.push(Diagnostic::error(summary, detail).at(Span::new(self.file, start, end)));
    }

    /// Parses any value. Text that cannot be parsed is reported, and replaced by [`Kind::Invalid`].
    fn value(&mut self) -> Json {
        let token = self.scanner.peek();
        let kind = match token.kind {
            TokenKind::OpenBrace | TokenKind::OpenBracket if self.depth >= MAX_NESTING => {
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

    fn nested(&mut self, read: fn(&mut Self) -> Option<(Kind, ByteRange)>) -> Option<(Kind, ByteRange)> {
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Reports excessive nesting once, and skips the nested value.
    fn too_deep(&mut self, token: Token) {
        let detail = format!("JSON values may be nested at most {MAX_NESTING} levels deep.");
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
        let needed = "A value must be a string in double quotes, a number, true, false, null, an object or \
        an array.";
        match kind {
            TokenKind::CloseBracket => {
                self.problem("Missing array element value", needed, token.place());
            }
            TokenKind::CloseBrace => self.problem("Missing JSON value", needed, token.place()),
            TokenKind::End => {
                self.problem("Missing value", "The file ends where a value is required.", token.place());
            }
            _ if self.scanner.text_of(token) == "\u{feff}" => {
                let detail = "The file begins with a byte order mark, which JSON does not allow. Save the \
                    file without the mark.";
                self.problem("Invalid start of value", detail, token.place());
            }
            _ => self.problem("Invalid start of value", needed, token.place()),
        }
    }

    fn object(&mut self) -> Option<(Kind, ByteRange)> {
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
                        let detail = "JSON does not allow a comma after the last property of an object. \
                            Remove the comma.";
                        self.problem("Trailing comma in object", detail, comma.place());
                        return None;
                    }
                }
                TokenKind::End => {
                    let detail =
                        "The brace that begins this object is not closed before the end of the file.";
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
                        "Properties of an object must be separated by commas: a comma is missing before {}.",
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
        let detail = "The name of a property must be a string in double quotes.";
        self.problem("Invalid object property name", detail, place);
    }

    fn missing_colon(&mut self, found: Token) {
        self.recover(found, TokenKind::OpenBrace, TokenKind::CloseBrace);
        let (summary, detail) = match found.kind {
            TokenKind::CloseBrace | TokenKind::Comma => (
                "Missing object value",
                "A property must have a colon and a value. Write a list of values in brackets instead of \
                 braces.",
            ),
            TokenKind::Equals => (
                "Missing property value colon",
                "JSON has a colon between name and value, not an equals sign.",
            ),
            _ => (
                "Missing property value colon",
                "A colon is required between the name of a property and its value.",
            ),
        };
        self.problem(summary, detail, found.place());
    }

    /// Skips to the end of the object or array that contains `token`.
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

    fn array(&mut self) -> Option<(Kind, ByteRange)> {
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
                            "JSON does not allow a comma after the last value of an array. Remove the comma.";
                        self.problem("Trailing comma in array", detail, comma.place());
                        return None;
                    }
                    continue;
                }
                TokenKind::CloseBracket => continue,
                TokenKind::End => {
                    let detail =
                        "The bracket that begins this array is not closed before the end of the file.";
                    self.problem("Unclosed object", detail, open.place());
                    return None;
                }
                TokenKind::Colon => (
                    "Invalid array value",
                    "Array elements have no names; to name values, use an object, in braces. There is a \
                     colon at",
                ),
                TokenKind::CloseBrace => {
                    ("Mismatched brackets", "An array ends with a bracket, not with the brace at")
                }
                _ => (
                    "Missing attribute seperator comma",
                    "Values of an array must be separated by commas. A comma is missing before",
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

    fn text(&mut self) -> Option<(Kind, ByteRange)> {
        let token = self.scanner.read();
        match unescape(self.scanner.text_of(token), token.start) {
            Ok(unescaped) => Some((Kind::Text(Str::new(&unescaped.text)), token.place())),
            Err(at) => {
                let detail = "This string is not valid JSON. A backslash may only be followed by n, r, t, \
                    b, f, a quote, a slash, another backslash or uNNNN; write a line break as \\n.";
                let start = (token.start + at).min(token.end.saturating_sub(1)).max(token.start);
                let place = (floor(self.file.text(), start), token.end);
                self.problem("Invalid JSON string", detail, place);
                None
            }
        }
    }

    fn number(&mut self) -> Option<(Kind, ByteRange)> {
        let token = self.scanner.read();
        let text = self.scanner.text_of(token);
        let number = is_number(text).then(|| Number::parse(text).ok()).flatten();
        if number.is_none() {
            let detail = "This is not a valid JSON number. A number consists of digits without a leading \
                          zero, optionally with a minus sign, a fraction and an exponent.";
            self.problem("Invalid JSON number", detail, token.place());
        }
        number.map(|number| (Kind::Number(number), token.place()))
    }

    fn word(&mut self) -> Option<(Kind, ByteRange)> {
        let token = self.scanner.read();
        let kind = match self.scanner.text_of(token) {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            word => {
                let advice = match closest(word, ["true", "false", "null"]) {
                    Some(near) => format!("Did you mean \"{near}\"?"),
                    None => "Put strings in double quotes.".to_owned(),
                };
                let detail = format!("JSON has the keywords true, false and null, not \"{word}\". {advice}");
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

/// Returns true if the text is a JSON number.
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
