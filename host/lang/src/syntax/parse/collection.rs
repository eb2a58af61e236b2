//! Parses tuples and objects.

use std::sync::Arc;

use wardian_value::Str;

use super::{Newlines, Parser};
use crate::node::{Item, Key, Kind, Node, Step, StepKind};
use crate::syntax::scan::{Token, TokenKind};

impl Parser<'_> {
    /// Parses `[a, b]` or `[for ...]`.
    pub(super) fn tuple(&mut self) -> Node {
        self.between(Newlines::Skip, |parser| {
            let opening = parser.read();
            let next = parser.peek();
            if parser.is_keyword(next, "for") {
                return parser.for_expression(opening);
            }
            let mut items = Vec::new();
            let closing = loop {
                if parser.peek().kind == TokenKind::CloseBracket {
                    break parser.read();
                }
                let before = parser.found;
                items.push(Arc::new(parser.expression()));
                if parser.recovered_since(before) {
                    break parser.recover(TokenKind::CloseBracket);
                }
                let next = parser.peek();
                match next.kind {
                    TokenKind::CloseBracket => break parser.read(),
                    TokenKind::Comma => {
                        parser.read();
                        continue;
                    }
                    TokenKind::End => parser.problem_unless_recovering(
                        "Unterminated tuple constructor expression",
                        "The bracket that opens here is not closed before the end of the file.",
                        opening.place(),
                    ),
                    _ => parser.problem_unless_recovering(
                        "Missing item separator",
                        "A comma is required between elements.",
                        next.place(),
                    ),
                }
                break parser.recover(TokenKind::CloseBracket);
            };
            parser.node(Kind::Tuple(items), (opening.start, closing.end))
        })
    }

    /// Parses `{ a = b }` or `{for ...}`.
    pub(super) fn object(&mut self) -> Node {
        let opening = self.read();
        // `for` may be on a later line, but line breaks are significant in an object.
        let next = self.between(Newlines::Skip, Self::peek);
        if self.is_keyword(next, "for") {
            return self.between(Newlines::Skip, |parser| parser.for_expression(opening));
        }
        self.between(Newlines::Count, |parser| {
            let mut items = Vec::new();
            let closing = loop {
                match parser.peek().kind {
                    TokenKind::Newline => {
                        parser.read();
                        continue;
                    }
                    TokenKind::CloseBrace => break parser.read(),
                    _ => {}
                }
                if parser.item_of_object(opening, &mut items) == After::Recovering {
                    break parser.recover(TokenKind::CloseBrace);
                }
                let next = parser.peek();
                match next.kind {
                    TokenKind::CloseBrace => break parser.read(),
                    TokenKind::Comma | TokenKind::Newline => {
                        parser.read();
                        continue;
                    }
                    TokenKind::End => parser.refuse_open_object(opening),
                    _ => parser.problem_unless_recovering(
                        "Missing attribute separator",
                        "A line break or a comma is required between attributes.",
                        next.place(),
                    ),
                }
                break parser.recover(TokenKind::CloseBrace);
            };
            parser.node(Kind::Object(items), (opening.start, closing.end))
        })
    }

    fn refuse_open_object(&mut self, opening: Token) {
        self.problem_unless_recovering(
            "Unterminated object constructor expression",
            "The brace that opens here is not closed before the end of the file.",
            opening.place(),
        );
    }

    fn item_of_object(&mut self, opening: Token, items: &mut Vec<Item>) -> After {
        let before = self.found;
        let (first, behind_first) = self.locate();
        let key = self.expression();
        if self.recovered_since(before) {
            return After::Recovering;
        }
        let is_name = first.kind == TokenKind::Identifier && self.next == behind_first;
        let key = if is_name {
            Key::Name { name: Str::new(self.text_of(first)), start: first.start, end: first.end }
        } else if first.kind != TokenKind::OpenParenthesis && is_fixed(&key) {
            Key::Ambiguous(Arc::new(key))
        } else {
            Key::Expression(Arc::new(key))
        };
        let next = self.peek();
        if !matches!(next.kind, TokenKind::Assign | TokenKind::Colon) {
            self.refuse_separator(opening, next);
            return After::Recovering;
        }
        self.read();
        let before = self.found;
        let value = Arc::new(self.expression());
        items.push(Item { key, value });
        if self.recovered_since(before) { After::Recovering } else { After::Item }
    }

    fn refuse_separator(&mut self, opening: Token, next: Token) {
        match next.kind {
            TokenKind::Newline | TokenKind::Comma => self.problem_unless_recovering(
                "Missing attribute value",
                "A key must be followed by \"=\" and a value.",
                next.place(),
            ),
            TokenKind::End => self.refuse_open_object(opening),
            kind => {
                let detail = if kind == TokenKind::Identifier {
                    "\"=\" is required after the key. Put a key with dots or spaces in quotes."
                } else {
                    "\"=\" is required after the key."
                };
                self.problem_unless_recovering("Missing key/value separator", detail, next.place());
            }
        }
    }
}

/// The result of parsing an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Item,
    Recovering,
}

/// Returns true if the node consists only of names and constant indexes.
fn is_fixed(node: &Node) -> bool {
    let all_fixed = |steps: &[Step]| {
        steps.iter().all(|step| matches!(step.kind, StepKind::Attribute(_) | StepKind::Key(_)))
    };
    match &node.kind {
        Kind::Name(name) => all_fixed(&name.steps),
        Kind::Traverse { source, steps } => matches!(source.kind, Kind::Slot { .. }) && all_fixed(steps),
        _ => false,
    }
}
