//! Parses `[for a in b : c]` and `{for a, b in c : d => e... if f}`.

use std::sync::Arc;

use super::{ByteRange, Parser};
use crate::node::{For, Kind, Node};
use crate::syntax::scan::{Token, TokenKind};

const SUMMARY: &str = "Invalid 'for' expression";
const VARIABLE_REQUIRED: &str = "After \"for\", the name of a variable is required.";
const SECOND_REQUIRED: &str = "After the comma, the name of the variable for values is required.";
const IN_REQUIRED: &str = "After the variables of a \"for\", \"in\" and a collection are required.";

/// The variables of a `for` expression, as written.
pub(super) struct Variables<'a> {
    pub(super) key: Option<&'a str>,
    pub(super) value: &'a str,
}

impl<'a> Parser<'a> {
    /// Parses a `for` expression after its opening bracket, up to and including the closing
    /// bracket.
    pub(super) fn for_expression(&mut self, opening: Token) -> Node {
        let makes_object = opening.kind == TokenKind::OpenBrace;
        let end = if makes_object { TokenKind::CloseBrace } else { TokenKind::CloseBracket };
        self.read();
        let variables = match self.variables_of_for() {
            Ok(variables) => variables,
            Err((found, detail)) => {
                self.problem_unless_recovering(SUMMARY, detail, found);
                return self.abandon(opening, end);
            }
        };
        let before = self.found;
        let collection = self.expression();
        if self.recovered_since(before) {
            return self.abandon(opening, end);
        }
        let colon = self.peek();
        if colon.kind != TokenKind::Colon {
            let detail = "A colon is required after the collection.";
            self.problem_unless_recovering(SUMMARY, detail, colon.place());
            return self.abandon(opening, end);
        }
        self.read();
        let slot = self.enter(variables.key, variables.value);
        let body = self.body_of_for(end);
        self.leave(slot);
        let Some(body) = body else { return self.abandon(opening, end) };
        self.refuse_wrong_kind(makes_object, &body);
        let each = For {
            collection: Arc::new(collection),
            slot,
            has_key: variables.key.is_some(),
            key: body.key.map(Arc::new),
            value: Arc::new(body.value),
            condition: body.condition.map(Arc::new),
            groups: body.ellipsis.is_some(),
        };
        self.node(Kind::For(Box::new(each)), (opening.start, body.end))
    }

    /// Parses the variables up to and including `in`.
    ///
    /// # Errors
    ///
    /// Returns the unexpected text and an error message.
    pub(super) fn variables_of_for(&mut self) -> Result<Variables<'a>, (ByteRange, &'static str)> {
        let first = self.peek();
        if first.kind != TokenKind::Identifier {
            return Err((first.place(), VARIABLE_REQUIRED));
        }
        self.read();
        let mut variables = Variables { key: None, value: self.text_of(first) };
        if self.peek().kind == TokenKind::Comma {
            self.read();
            let second = self.peek();
            if second.kind != TokenKind::Identifier {
                return Err((second.place(), SECOND_REQUIRED));
            }
            self.read();
            variables = Variables { key: Some(variables.value), value: self.text_of(second) };
        }
        let keyword = self.peek();
        if !self.is_keyword(keyword, "in") {
            return Err((keyword.place(), IN_REQUIRED));
        }
        self.read();
        Ok(variables)
    }

    /// Parses the code from the colon up to and including the closing bracket; returns `None` if
    /// recovery begins after an error.
    fn body_of_for(&mut self, end: TokenKind) -> Option<BodyOfFor> {
        let before = self.found;
        let mut value = self.expression();
        let mut key = None;
        if self.peek().kind == TokenKind::Arrow {
            self.read();
            key = Some(std::mem::replace(&mut value, self.expression()));
        }
        if self.recovered_since(before) {
            return None;
        }
        let next = self.peek();
        let ellipsis = (next.kind == TokenKind::Ellipsis).then(|| self.read().place());
        let keyword = self.peek();
        let mut condition = None;
        if self.is_keyword(keyword, "if") {
            self.read();
            let before = self.found;
            condition = Some(self.expression());
            if self.recovered_since(before) {
                return None;
            }
        }
        let closing = self.peek();
        let closing = if closing.kind == end {
            self.read()
        } else {
            let detail = "A closing bracket is required at the end of the \"for\".";
            self.problem_unless_recovering(SUMMARY, detail, closing.place());
            self.recover(end)
        };
        Some(BodyOfFor { key, value, ellipsis, condition, end: closing.end })
    }

    fn refuse_wrong_kind(&mut self, makes_object: bool, body: &BodyOfFor) {
        if makes_object {
            if body.key.is_none() {
                let detail = "A \"for\" expression in braces creates an object, so a key and \"=>\" are \
                    required before the value.";
                self.problem(SUMMARY, detail, (body.value.start, body.value.end));
            }
            return;
        }
        if let Some(key) = &body.key {
            let detail = "A \"for\" expression in brackets creates a tuple, which has no keys. Use braces \
                for an object.";
            self.problem(SUMMARY, detail, (key.start, key.end));
        }
        if let Some(place) = body.ellipsis {
            let detail = "Only a \"for\" expression in braces, which creates an object, can group values \
                with \"...\".";
            self.problem(SUMMARY, detail, place);
        }
    }

    fn abandon(&mut self, opening: Token, end: TokenKind) -> Node {
        let closing = self.recover(end);
        Self::broken((opening.start, closing.end))
    }
}

struct BodyOfFor {
    key: Option<Node>,
    value: Node,
    ellipsis: Option<ByteRange>,
    condition: Option<Node>,
    end: usize,
}
