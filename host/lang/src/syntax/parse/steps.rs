//! Parses the steps after a term: attributes, indexes and splats.

use std::sync::Arc;

use wardian_value::{Str, Type, Value};

use super::expression::Source;
use super::{ByteRange, Newlines, Parser};
use crate::compile;
use crate::node::{Kind, Node, Step, StepKind};
use crate::syntax::scan::{Token, TokenKind};

impl Parser<'_> {
    pub(super) fn steps(&mut self, mut source: Source) -> Node {
        let mut steps: Vec<Step> = Vec::new();
        loop {
            match self.peek().kind {
                TokenKind::Dot => {
                    let dot = self.read();
                    match self.peek().kind {
                        TokenKind::Star => {
                            let star = self.read();
                            let Some(each) = self.attributes_behind_splat(star) else { continue };
                            let inner = self.joined(source, std::mem::take(&mut steps));
                            source = Source::Node(self.attribute_splat(inner, each, (dot.start, star.end)));
                        }
                        TokenKind::Identifier | TokenKind::Number => {
                            let named = self.read();
                            steps.push(self.named_step(dot, named, named));
                        }
                        _ => {
                            let found = self.peek();
                            let start = source.start();
                            self.problem("Invalid attribute name", NAME_REQUIRED, found.place());
                            self.recovering = true;
                            steps.clear();
                            source = Source::Node(Self::broken((start, dot.end)));
                        }
                    }
                }
                TokenKind::OpenBracket => {
                    let opening = self.read();
                    if self.peek().kind == TokenKind::Star {
                        let inner = self.joined(source, std::mem::take(&mut steps));
                        source = Source::Node(self.full_splat(inner, opening));
                    } else {
                        steps.push(self.index(opening));
                    }
                }
                _ => return self.joined(source, steps),
            }
        }
    }

    /// Parses `.name`, or `.0` as a legacy index. `place_of` is the span for errors.
    fn named_step(&mut self, dot: Token, named: Token, place_of: Token) -> Step {
        let text = self.text_of(named);
        let kind = if named.kind == TokenKind::Identifier {
            StepKind::Attribute(Str::new(text))
        } else if let Some((first, second)) = text.split_once('.') {
            let detail = format!(
                "Two consecutive indexes cannot be written with dots. Write [{first}][{second}] instead, \
                 and [*] for a splat before them."
            );
            self.problem("Invalid legacy index syntax", &detail, place_of.place());
            StepKind::Key(Value::unknown(Type::Dynamic))
        } else {
            StepKind::Key(self.number(named))
        };
        Step { kind, start: dot.start, end: named.end }
    }

    /// Parses `[key]` after the opening bracket.
    fn index(&mut self, opening: Token) -> Step {
        self.between(Newlines::Skip, |parser| {
            let before = parser.found;
            let key = parser.expression();
            let closing = if parser.recovered_since(before) {
                parser.recover(TokenKind::CloseBracket)
            } else {
                parser.closing_bracket("Missing close bracket on index", INDEX_OPEN)
            };
            let kind = match &key.kind {
                Kind::Constant(value) if value.as_number().is_some() => StepKind::Key(value.clone()),
                Kind::Quoted(value) => StepKind::Key(value.clone()),
                _ => StepKind::Index(Arc::new(key)),
            };
            Step { kind, start: opening.start, end: closing.end }
        })
    }

    /// Parses the required closing bracket. If it is missing, the error is reported at the next
    /// closing bracket, or at the end of the text.
    fn closing_bracket(&mut self, summary: &str, detail: &str) -> Token {
        let closing = self.read();
        if closing.kind == TokenKind::CloseBracket || self.recovering {
            return closing;
        }
        let closing = self.recover(TokenKind::CloseBracket);
        self.problem(summary, detail, closing.place());
        closing
    }

    /// Parses the attributes that follow `.*`; returns `None` if they are invalid.
    fn attributes_behind_splat(&mut self, star: Token) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        while self.peek().kind == TokenKind::Dot {
            let dot = self.read();
            let named = self.peek();
            match named.kind {
                TokenKind::Identifier | TokenKind::Number => {
                    self.read();
                    let place_of = if named.kind == TokenKind::Number { star } else { named };
                    steps.push(self.named_step(dot, named, place_of));
                    continue;
                }
                TokenKind::Star => self.problem_unless_recovering(
                    "Nested splat expression not allowed",
                    "\".*\" cannot be followed by another splat. Use [*] for the first one.",
                    named.place(),
                ),
                _ => self.problem_unless_recovering("Invalid attribute name", NAME_REQUIRED, star.place()),
            }
            self.recovering = true;
            return None;
        }
        Some(steps)
    }

    /// Returns the node of `source.*.each`.
    fn attribute_splat(&mut self, source: Node, each: Vec<Step>, marker: ByteRange) -> Node {
        let (slot, element) = self.element(source.start, marker);
        let each = self.joined(Source::Node(element), each);
        self.leave(slot);
        self.splat(source, slot, each, marker)
    }

    /// Parses `source[*]` and all steps that follow, after the opening bracket.
    fn full_splat(&mut self, source: Node, opening: Token) -> Node {
        self.read();
        let closing = self.closing_bracket("Missing close bracket on splat index", SPLAT_OPEN);
        let marker = (opening.start, closing.end);
        let (slot, element) = self.element(source.start, marker);
        let place = (source.start, closing.end);
        let each = self.nested(|parser| parser.steps(Source::Node(element)));
        self.leave(slot);
        self.splat(source, slot, each.unwrap_or_else(|| Self::broken(place)), marker)
    }

    /// Returns the slot and the node that represent each element of a splat.
    fn element(&mut self, start: usize, marker: ByteRange) -> (usize, Node) {
        let slot = self.variables.len();
        self.variables.push(None);
        (slot, Node::new(Kind::Slot { slot, name: Str::new("") }, start, marker.1))
    }

    fn splat(&mut self, source: Node, slot: usize, each: Node, marker: ByteRange) -> Node {
        let place = (source.start, each.end);
        let kind = Kind::Splat { source: Arc::new(source), slot, each: Arc::new(each), marker };
        self.node(kind, place)
    }

    /// Applies steps to their operand.
    fn joined(&mut self, source: Source, steps: Vec<Step>) -> Node {
        let end = steps.last().map(|step| step.end);
        match source {
            Source::Node(node) => match end {
                None => node,
                Some(end) => {
                    let start = node.start;
                    self.node(Kind::Traverse { source: Arc::new(node), steps }, (start, end))
                }
            },
            Source::Name(token) => {
                let root = Str::new(self.text_of(token));
                let Some(slot) = self.slot_of(&root) else {
                    let name = compile::name(self.file, root, token.place(), steps, self.names);
                    return self.node(Kind::Name(Box::new(name)), (token.start, end.unwrap_or(token.end)));
                };
                let node = Node::new(Kind::Slot { slot, name: root }, token.start, token.end);
                self.joined(Source::Node(node), steps)
            }
        }
    }
}

const INDEX_OPEN: &str = "A closing bracket is required after the index.";
const SPLAT_OPEN: &str = "A closing bracket is required directly after the \"*\" of a splat.";
const NAME_REQUIRED: &str = "A dot must be followed by the name of an attribute.";

impl Source {
    const fn start(&self) -> usize {
        match self {
            Self::Name(token) => token.start,
            Self::Node(node) => node.start,
        }
    }
}
