//! Parses bodies: attributes and blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_diagnostic::Span;
use wardian_value::Str;

use super::{ByteRange, Parser};
use crate::syntax::scan::{Token, TokenKind};
use crate::{Attribute, Block, Body, Expression, Label};

const ITEM_REQUIRED: &str = "Argument or block definition required";

enum Item {
    Attribute(Attribute),
    Block(Block),
}

impl Parser<'_> {
    /// Parses a body up to and including the token `end`.
    pub(super) fn body(&mut self, end: TokenKind) -> Body {
        let opening = self.previous();
        let is_file = end == TokenKind::End;
        let start = if is_file { 0 } else { opening.end };
        let mut body = Body::empty(self.span((start, start)));
        let mut names: BTreeMap<Str, Span> = BTreeMap::new();
        let inner_end = loop {
            let next = self.peek();
            if next.kind == end {
                self.read();
                break next.start;
            }
            match next.kind {
                TokenKind::Newline => {
                    self.read();
                }
                TokenKind::Identifier => match self.item() {
                    Some(Item::Attribute(attribute)) => match names.get(&attribute.name) {
                        Some(first) => {
                            let detail = format!(
                                "The argument \"{}\" is already set at {first}. Remove one of the two.",
                                attribute.name
                            );
                            let place = (attribute.name_span.start, attribute.name_span.end);
                            self.problem("Attribute redefined", &detail, place);
                        }
                        None => {
                            names.insert(attribute.name.clone(), attribute.name_span.clone());
                            body.attributes.push(attribute);
                        }
                    },
                    Some(Item::Block(block)) => body.blocks.push(block),
                    None => {}
                },
                _ => {
                    self.refuse_item(opening);
                    self.recover(end);
                    break self.previous().start;
                }
            }
        };
        body.span = if is_file { self.file.span() } else { self.span((start, inner_end)) };
        if is_file {
            self.add_contexts(&body.blocks);
        }
        body
    }

    /// Adds the headers of the blocks at the top level to the problems in the blocks. A block
    /// without a closing brace contains the end of the file.
    fn add_contexts(&mut self, blocks: &[Block]) {
        let file_end = self.file.text().len();
        for problem in &mut self.problems {
            let Some(subject) = &problem.subject else { continue };
            let count = blocks.partition_point(|block| block.span.start <= subject.start);
            let Some(block) = count.checked_sub(1).and_then(|last| blocks.get(last)) else { continue };
            if subject.start < block.span.end || block.span.end == file_end {
                problem.context.get_or_insert_with(|| block.context());
            }
        }
    }

    /// Reports a token that cannot begin an attribute or a block. `opening` is the brace of the
    /// block.
    fn refuse_item(&mut self, opening: Token) {
        let bad = self.read();
        let (summary, detail, place) = match bad.kind {
            TokenKind::OpenQuote => {
                ("Invalid argument name", "An argument name must not be quoted.", bad.place())
            }
            TokenKind::End => (
                "Unclosed configuration block",
                "The block that begins here has no closing brace before the end of the file. A closing \
                 brace may also be missing elsewhere in the file.",
                opening.place(),
            ),
            TokenKind::CloseBrace => (
                ITEM_REQUIRED,
                "This brace closes no block. Remove it, or add the block's header.",
                bad.place(),
            ),
            _ => (
                ITEM_REQUIRED,
                "Only an argument, such as name = value, or a block can begin here.",
                bad.place(),
            ),
        };
        self.problem_unless_recovering(summary, detail, place);
    }

    fn item(&mut self) -> Option<Item> {
        let name = self.read();
        match self.peek().kind {
            TokenKind::Assign => Some(Item::Attribute(self.attribute(name, Line::OfItsOwn))),
            TokenKind::OpenQuote | TokenKind::OpenBrace | TokenKind::Identifier => {
                Some(Item::Block(self.block(name)))
            }
            _ => {
                self.refuse_lone_name(name);
                None
            }
        }
    }

    fn refuse_lone_name(&mut self, name: Token) {
        self.recover_behind_item();
        let detail = format!(
            "\"{0}\" is neither an argument nor a block. An argument continues with \"=\" and a value; a \
             block continues with labels and \"{{\".",
            self.text_of(name)
        );
        self.problem(ITEM_REQUIRED, &detail, name.place());
    }

    fn attribute(&mut self, name: Token, line: Line) -> Attribute {
        self.read();
        let before = self.found;
        let node = self.expression();
        if self.recovered_since(before) {
            self.recover_behind_item();
        } else if line == Line::OfItsOwn {
            self.end_of_attribute();
        }
        let name_span = self.span(name.place());
        let expression = Expression::new(self.file, Arc::new(node));
        let span = name_span.to(expression.span());
        Attribute { name: Str::new(self.text_of(name)), name_span, expression, span }
    }

    fn end_of_attribute(&mut self) {
        let end = self.peek();
        match end.kind {
            TokenKind::Newline | TokenKind::End => {
                self.read();
            }
            kind => {
                let (summary, detail) = if kind == TokenKind::Comma {
                    (
                        "Unexpected comma after argument",
                        "Arguments are not separated by commas. End the line here; the next argument begins \
                         on a new line.",
                    )
                } else {
                    (
                        "Missing newline after argument",
                        "A line break is required after the argument's value. Put the rest on a new line.",
                    )
                };
                self.problem_unless_recovering(summary, detail, end.place());
                self.recover_behind_item();
            }
        }
    }

    fn block(&mut self, kind: Token) -> Block {
        let mut labels = Vec::new();
        let opening = loop {
            let token = self.peek();
            match token.kind {
                TokenKind::OpenBrace => break self.read(),
                TokenKind::OpenQuote => {
                    let (text, place) = self.label();
                    labels.push(Label { text: Str::new(&text), span: self.span(place) });
                }
                TokenKind::Identifier => {
                    self.read();
                    labels
                        .push(Label { text: Str::new(self.text_of(token)), span: self.span(token.place()) });
                }
                _ => {
                    self.refuse_header(token);
                    self.recover_behind_item();
                    let body = Body::empty(self.span(kind.place()));
                    return self.finish_block(kind, labels, body, None);
                }
            }
        };
        let body = match self.peek().kind {
            TokenKind::Newline | TokenKind::End | TokenKind::CloseBrace => {
                self.nested(|parser| parser.body(TokenKind::CloseBrace))
            }
            _ => self.one_line_body(opening),
        };
        let body = body.unwrap_or_else(|| Body::empty(self.span((opening.end, opening.end))));
        let closing = self.previous();
        let behind = self.peek();
        if matches!(behind.kind, TokenKind::Newline | TokenKind::End) {
            self.read();
        } else {
            self.problem_unless_recovering(
                "Missing newline after block definition",
                "A line break is required after the block. Put the rest on a new line.",
                behind.place(),
            );
            self.recover_behind_item();
        }
        self.finish_block(kind, labels, body, Some(closing))
    }

    fn finish_block(&self, kind: Token, labels: Vec<Label>, body: Body, closing: Option<Token>) -> Block {
        let kind_span = self.span(kind.place());
        let header_span = labels.last().map_or_else(|| kind_span.clone(), |label| kind_span.to(&label.span));
        let span = closing.map_or_else(|| header_span.clone(), |end| kind_span.to(&self.span(end.place())));
        Block { kind: Str::new(self.text_of(kind)), kind_span, labels, body, header_span, span }
    }

    fn refuse_header(&mut self, token: Token) {
        const SUMMARY: &str = "Invalid block definition";
        match token.kind {
            TokenKind::Assign => self.problem(
                SUMMARY,
                "A block has no \"=\" before its opening brace, and an argument has no labels before its \"=\".",
                token.place(),
            ),
            TokenKind::Newline => self.problem(
                SUMMARY,
                "The opening brace \"{\" of a block must be on the line on which the block begins.",
                token.place(),
            ),
            _ => self.problem_unless_recovering(
                SUMMARY,
                "A block must continue with a label, quoted or bare, or with its opening brace \"{\".",
                token.place(),
            ),
        }
    }

    /// Parses a body between braces on one line. It contains at most one argument.
    fn one_line_body(&mut self, opening: Token) -> Option<Body> {
        let before = self.problems.len();
        let attribute = self.lone_attribute();
        let inner_end = self.previous().end;
        // Errors in the line precede errors in the argument.
        let of_attribute: Vec<_> = self.problems.split_off(before);
        self.end_of_one_line_body(opening);
        self.problems.extend(of_attribute);
        attribute.map(|attribute| {
            let mut body = Body::empty(self.span((opening.end, inner_end)));
            body.attributes.push(attribute);
            body
        })
    }

    fn lone_attribute(&mut self) -> Option<Attribute> {
        let name = self.read();
        if name.kind != TokenKind::Identifier {
            self.recover_behind_item();
            self.problem(
                ITEM_REQUIRED,
                "Only an argument, such as name = value, can begin here.",
                name.place(),
            );
            return None;
        }
        let next = self.peek();
        match next.kind {
            TokenKind::Assign => return Some(self.attribute(name, Line::Shared)),
            TokenKind::OpenQuote | TokenKind::OpenBrace | TokenKind::Identifier => {
                self.recover_behind_item();
                let detail = format!(
                    "A block on one line contains a single argument and no block. If \"{}\" is an argument, \
                     \"=\" is missing after it; if it is a block, put it on a new line.",
                    self.text_of(name)
                );
                self.problem("Argument definition required", &detail, (name.start, next.end));
            }
            _ => self.refuse_lone_name(name),
        }
        None
    }

    fn end_of_one_line_body(&mut self, opening: Token) {
        const SUMMARY: &str = "Invalid single-argument block definition";
        let next = self.peek();
        match next.kind {
            TokenKind::CloseBrace => {
                self.read();
                return;
            }
            TokenKind::Comma => self.problem(
                SUMMARY,
                "A block on one line contains a single argument. To set more arguments, put each on a new \
                 line.",
                next.place(),
            ),
            TokenKind::Newline => self.problem(
                SUMMARY,
                "A block whose argument is on the line of its opening brace must end on that line, too.",
                next.place(),
            ),
            TokenKind::End => self.problem_unless_recovering(
                "Unclosed configuration block",
                "The block that begins here has no closing brace before the end of the file.",
                opening.place(),
            ),
            _ => self.problem_unless_recovering(
                SUMMARY,
                "The closing brace must follow the single argument of a block on one line.",
                next.place(),
            ),
        }
        self.recover(TokenKind::CloseBrace);
    }

    /// Parses a quoted label. A label is not a template.
    fn label(&mut self) -> (String, ByteRange) {
        const SUMMARY: &str = "Invalid string literal";
        let opening = self.read();
        let mut text = String::new();
        loop {
            let token = self.read();
            match token.kind {
                TokenKind::CloseQuote => return (text, (opening.start, token.end)),
                TokenKind::QuotedLiteral => text.push_str(&self.quoted_text(token)),
                TokenKind::OpenInterpolation | TokenKind::OpenDirective => {
                    let sign = if token.kind == TokenKind::OpenDirective { '%' } else { '$' };
                    let detail = format!(
                        "This string cannot be a template. For a literal \"{sign}{{\", write \
                         \"{sign}{sign}{{\"."
                    );
                    self.problem(SUMMARY, &detail, token.place());
                    self.recover(TokenKind::CloseSequence);
                }
                TokenKind::End => {
                    let detail = "The file ends before the closing quote of a string.";
                    self.problem("Unterminated string literal", detail, token.place());
                    return (text, (opening.start, token.end));
                }
                _ => {
                    self.problem(SUMMARY, "This is not allowed in a quoted string.", token.place());
                    self.recover(TokenKind::CloseQuote);
                    return (text, (opening.start, token.end));
                }
            }
        }
    }
}

/// The position of an argument relative to the braces of its block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    OfItsOwn,
    /// On the same line as the braces of its block.
    Shared,
}
