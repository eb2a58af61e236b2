//! Converts tokens to output text, with every change except the spaces between tokens.

use std::borrow::Cow;
use std::ops::Range;

use super::{Piece, bracket_change, labels};
use crate::syntax::scan::{Token, TokenKind};

/// Returns the output pieces for the tokens of a file without syntax errors.
pub(super) fn pieces<'a>(text: &'a str, tokens: &'a [Token]) -> Vec<Piece<'a>> {
    let mut rewriter =
        Rewriter { text, tokens, at: 0, pieces: Vec::with_capacity(tokens.len()), bodies: Vec::new() };
    while rewriter.at < tokens.len() {
        rewriter.item();
    }
    rewriter.pieces
}

/// An open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// A top-level `variable` block.
    Variable,
    Other,
}

struct Rewriter<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// The index of the next token.
    at: usize,
    pieces: Vec<Piece<'a>>,
    bodies: Vec<Body>,
}

impl<'a> Rewriter<'a> {
    /// Rewrites the next attribute, the header or closing brace of a block, a comment or a line
    /// break.
    fn item(&mut self) {
        match self.kind(self.at) {
            Some(TokenKind::Identifier) => {
                let mut behind = self.tokens[self.at + 1..].iter().map(|token| token.kind);
                if behind.find(|kind| !is_comment(*kind)) == Some(TokenKind::Assign) {
                    self.attribute();
                } else {
                    self.block_header();
                }
            }
            kind => {
                if kind == Some(TokenKind::CloseBrace) {
                    self.bodies.pop();
                }
                self.keep_to(self.at + 1);
            }
        }
    }

    fn attribute(&mut self) {
        let is_type =
            self.bodies.as_slice() == [Body::Variable] && self.tokens[self.at].text(self.text) == "type";
        while self.kind(self.at).is_some_and(|kind| kind != TokenKind::Assign) {
            self.keep_to(self.at + 1);
        }
        self.keep_to(self.at + 1);
        while self.kind(self.at).is_some_and(is_comment) {
            self.keep_to(self.at + 1);
        }
        let mut expression = self.at..self.argument_end();
        while !expression.is_empty() && self.kind(expression.end - 1).is_some_and(is_comment) {
            expression.end -= 1;
        }
        if is_type { self.type_constraint(expression) } else { self.value(expression) }
    }

    /// Returns the end of the argument that begins here: the first line break, line comment or
    /// closing brace outside of brackets.
    fn argument_end(&self) -> usize {
        let mut open = 0;
        let mut at = self.at;
        while let Some(kind) = self.kind(at) {
            let ends = matches!(
                kind,
                TokenKind::Newline | TokenKind::LineComment | TokenKind::CloseBrace | TokenKind::End
            );
            if open == 0 && ends {
                break;
            }
            open += bracket_change(kind);
            at += 1;
        }
        at
    }

    fn block_header(&mut self) {
        let is_variable = self.bodies.is_empty() && self.tokens[self.at].text(self.text) == "variable";
        self.bodies.push(if is_variable { Body::Variable } else { Body::Other });
        self.keep_to(self.at + 1);
        let mut at = self.at;
        while let Some(kind) = self.kind(at) {
            match kind {
                TokenKind::Identifier => {
                    self.label(at + 1, labels::quote(Cow::Borrowed(self.tokens[at].text(self.text))));
                    at = self.at;
                }
                TokenKind::OpenQuote => {
                    let end = (at + 1..self.tokens.len())
                        .find(|at| self.kind(*at) == Some(TokenKind::CloseQuote))
                        .unwrap_or(at);
                    let literal =
                        self.text.get(self.tokens[at].end..self.tokens[end].start).unwrap_or_default();
                    self.label(end + 1, labels::requote(literal));
                    at = self.at;
                }
                kind if is_comment(kind) => at += 1,
                _ => break,
            }
        }
        // Keep the comments after the last label, and the opening brace.
        self.keep_to(at + 1);
    }

    /// Writes a label in place of all tokens before `end`.
    fn label(&mut self, end: usize, literal: Cow<'a, str>) {
        self.make(TokenKind::OpenQuote, "\"");
        self.make(TokenKind::QuotedLiteral, literal);
        self.make(TokenKind::CloseQuote, "\"");
        self.at = end;
    }

    /// Rewrites `"${x}"` to `x`, in parentheses if `x` contains line breaks that would end the
    /// argument.
    fn value(&mut self, expression: Range<usize>) {
        let end = expression.end;
        let Some(mut inner) = self.sole_interpolation(expression) else { return self.keep_to(end) };
        while !inner.is_empty() && self.kind(inner.start) == Some(TokenKind::Newline) {
            inner.start += 1;
        }
        while !inner.is_empty() && self.kind(inner.end - 1) == Some(TokenKind::Newline) {
            inner.end -= 1;
        }
        let needs_parentheses = self.needs_parentheses(inner.clone());
        let ends_in_heredoc = self.kind(inner.end - 1) == Some(TokenKind::CloseHeredoc);
        if ends_in_heredoc && (needs_parentheses || self.kind(end) != Some(TokenKind::Newline)) {
            // No text may follow a heredoc on its last line.
            return self.keep_to(end);
        }
        if needs_parentheses {
            self.make(TokenKind::OpenParenthesis, "(");
        }
        self.at = inner.start;
        self.keep_to(inner.end);
        if needs_parentheses {
            self.make(TokenKind::CloseParenthesis, ")");
        }
        self.at = end;
    }

    /// Returns true if an expression in an interpolation has line breaks that would end the
    /// argument. Line breaks are harmless if the expression is in parentheses. This is determined
    /// from its first and last token. If these are ambiguous, or if a comment ends the line, each
    /// bracket is checked.
    fn needs_parentheses(&self, inner: Range<usize>) -> bool {
        let Some(tokens) = self.tokens.get(inner) else { return false };
        let has_parentheses = matches!(
            tokens,
            [first, .., last]
                if first.kind == TokenKind::OpenParenthesis && last.kind == TokenKind::CloseParenthesis
        );
        if !has_parentheses && tokens.iter().any(|token| token.kind == TokenKind::Newline) {
            return true;
        }
        let last = tokens.iter().rposition(|token| !is_comment(token.kind)).unwrap_or(0);
        let mut open = 0;
        tokens.iter().take(last).any(|token| {
            open += bracket_change(token.kind);
            open == 0 && matches!(token.kind, TokenKind::Newline | TokenKind::LineComment)
        })
    }

    /// Returns the content of a template that consists of a single interpolation. A template with a
    /// heredoc that contains an interpolation is not detected.
    fn sole_interpolation(&self, expression: Range<usize>) -> Option<Range<usize>> {
        let [open, interpolation, .., sequence, close] = self.tokens.get(expression.clone())? else {
            return None;
        };
        let inner = expression.start + 2..expression.end - 2;
        let is_interpolation = open.kind == TokenKind::OpenQuote
            && interpolation.kind == TokenKind::OpenInterpolation
            && sequence.kind == TokenKind::CloseSequence
            && close.kind == TokenKind::CloseQuote;
        if inner.is_empty() || !is_interpolation {
            return None;
        }
        let mut quotes = 0_usize;
        for at in inner.clone() {
            match self.kind(at)? {
                TokenKind::OpenQuote => quotes += 1,
                TokenKind::CloseQuote => quotes = quotes.checked_sub(1)?,
                TokenKind::OpenInterpolation | TokenKind::OpenDirective | TokenKind::CloseSequence
                    if quotes == 0 =>
                {
                    return None;
                }
                _ => {}
            }
        }
        Some(inner)
    }

    /// Rewrites the legacy forms `"string"`, `"list"` and `"map"`, and `list`, `map` and `set`
    /// without an element type.
    fn type_constraint(&mut self, expression: Range<usize>) {
        let tokens = self.tokens.get(expression.clone()).unwrap_or_default();
        let (name, element) = match tokens {
            [open, literal, close]
                if open.kind == TokenKind::OpenQuote
                    && literal.kind == TokenKind::QuotedLiteral
                    && close.kind == TokenKind::CloseQuote =>
            {
                match literal.text(self.text) {
                    "string" => ("string", None),
                    "list" => ("list", Some("string")),
                    "map" => ("map", Some("string")),
                    _ => return self.keep_to(expression.end),
                }
            }
            [name] if name.kind == TokenKind::Identifier => match name.text(self.text) {
                name @ ("list" | "map" | "set") => (name, Some("any")),
                _ => return self.keep_to(expression.end),
            },
            _ => return self.keep_to(expression.end),
        };
        self.make(TokenKind::Identifier, name);
        if let Some(element) = element {
            self.make(TokenKind::OpenParenthesis, "(");
            self.make(TokenKind::Identifier, element);
            self.make(TokenKind::CloseParenthesis, ")");
        }
        self.at = expression.end;
    }

    fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// Copies all tokens before the token at `end` unchanged.
    fn keep_to(&mut self, end: usize) {
        let end = end.min(self.tokens.len());
        while self.at < end {
            let token = self.tokens[self.at];
            let before = self.at.checked_sub(1).map_or(0, |at| self.tokens[at].end);
            self.pieces.push(Piece {
                kind: token.kind,
                text: Cow::Borrowed(token.text(self.text)),
                spaces: token.start - before,
            });
            self.at += 1;
        }
    }

    fn make(&mut self, kind: TokenKind, text: impl Into<Cow<'a, str>>) {
        self.pieces.push(Piece { kind, text: text.into(), spaces: 0 });
    }
}

fn is_comment(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::BlockComment | TokenKind::LineComment)
}
