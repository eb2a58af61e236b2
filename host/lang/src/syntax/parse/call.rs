//! Parses function calls.

use std::sync::Arc;

use wardian_value::Str;

use super::{Newlines, Parser};
use crate::functions;
use crate::node::{Call, Kind, Node, Target};
use crate::syntax::scan::{Token, TokenKind};

impl Parser<'_> {
    /// Parses a call after its first name.
    pub(super) fn call(&mut self, first: Token) -> Node {
        let mut names = vec![self.text_of(first)];
        let mut name_end = first.end;
        let mut opening = self.read();
        while opening.kind == TokenKind::DoubleColon {
            let name = self.read();
            if name.kind != TokenKind::Identifier {
                let detail =
                    "After \"::\", the name of a function or of a part of its namespace is required.";
                return self.broken_call(first, name, "Missing function name", detail);
            }
            names.push(self.text_of(name));
            name_end = name.end;
            opening = self.read();
        }
        if opening.kind != TokenKind::OpenParenthesis {
            let detail = "Names with \"::\" are function names, so the arguments must follow in parentheses.";
            return self.broken_call(first, opening, "Missing open parenthesis", detail);
        }
        let arguments = self.between(Newlines::Skip, |parser| parser.arguments(first, opening));
        let name_place = (first.start, name_end);
        let call = Call {
            name: names.join("::").into(),
            name_span: name_place,
            target: target(&names),
            arguments: arguments.nodes,
            expands: arguments.expands,
        };
        self.node(Kind::Call(Box::new(call)), (first.start, arguments.end.max(opening.end)))
    }

    fn broken_call(&mut self, first: Token, found: Token, summary: &str, detail: &str) -> Node {
        self.problem(summary, detail, found.place());
        self.recover_over_arguments();
        Self::broken((first.start, found.end))
    }

    fn arguments(&mut self, name: Token, opening: Token) -> Arguments {
        let mut arguments = Arguments::default();
        let closing = loop {
            if self.peek().kind == TokenKind::CloseParenthesis {
                break self.read();
            }
            let before = self.found;
            arguments.nodes.push(Arc::new(self.expression()));
            if self.recovered_since(before) {
                break self.recover(TokenKind::CloseParenthesis);
            }
            let separator = self.read();
            match separator.kind {
                TokenKind::Comma => continue,
                TokenKind::CloseParenthesis => break separator,
                TokenKind::Ellipsis => {
                    arguments.expands = true;
                    if self.peek().kind == TokenKind::CloseParenthesis {
                        break self.read();
                    }
                    self.problem_unless_recovering(
                        "Missing closing parenthesis",
                        "The argument that is expanded with \"...\" must be the last one; the closing \
                         parenthesis must follow.",
                        separator.place(),
                    );
                }
                TokenKind::End => self.problem(
                    "Unterminated function call",
                    "The parenthesis of this function call is not closed before the end of the file.",
                    (name.start, opening.end),
                ),
                _ => self.problem(
                    "Missing argument separator",
                    "A comma is required between function arguments.",
                    separator.place(),
                ),
            }
            break self.recover(TokenKind::CloseParenthesis);
        };
        arguments.end = closing.end;
        arguments
    }
}

#[derive(Default)]
struct Arguments {
    nodes: Vec<Arc<Node>>,
    expands: bool,
    end: usize,
}

fn target(names: &[&str]) -> Target {
    match names {
        [name] | ["core", name] => functions::find(name).map_or(Target::Unknown, Target::BuiltIn),
        ["provider", provider, function] => {
            Target::Provider { provider: Str::new(provider), function: Str::new(function) }
        }
        _ => Target::Unknown,
    }
}
