//! Tokens to bodies and expressions.
//!
//! A recursive descent that finds as many errors as it can. What it cannot read it
//! leaves out, or puts a value in its place that is not known; then it goes on behind
//! what seems to be the end of the thing that is broken. From then on it is
//! *recovering*: errors that may be nothing but consequences are kept back, so that one
//! mistake is not told ten times. Which errors those are, and where it goes on, is
//! Terraform's way: the same text has the same errors, each on the same line.
//!
//! There is no tree between: expressions become [`Node`]s while they are read, since all
//! that names need to be resolved stands before them.
//!
//! Depth is limited twice: in what nests in the text ([`MOST_NESTING`]), which bounds the
//! recursion here, and in the height of nodes ([`MOST_HEIGHT`]), which bounds it wherever
//! nodes are walked, evaluated and dropped.

mod body;
mod call;
mod collection;
mod expression;
mod for_expression;
mod literal;
mod recovery;
mod steps;
mod template;

use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_value::{Str, Type, Value};

use super::scan::{Start, Token, TokenKind, scan};
use crate::compile::Names;
use crate::node::{Kind, Node};
use crate::{Body, Expression};

/// A stretch of the file, from a byte to the byte behind. The file may be an excerpt, whose
/// spans are those of another.
type Place = (usize, usize);

/// How deep brackets, templates and blocks may nest.
const MOST_NESTING: usize = 300;

/// How many operations may stand inside each other.
const MOST_HEIGHT: u32 = 1100;

/// How many errors of one file are told: of a file that is no configuration at all,
/// nearly every character is wrong.
const MOST_PROBLEMS: usize = 1000;

/// Reads a file of attributes and blocks.
pub(super) fn body(file: &Arc<SourceFile>) -> (Body, Diagnostics) {
    let mut parser = Parser::new(file, (0, file.text().len()), Start::Normal);
    let body = parser.body(TokenKind::End);
    (body, parser.problems.into())
}

/// Reads a part of a file as one expression. Line breaks in it mean nothing.
pub(crate) fn expression(file: &Arc<SourceFile>, place: Place) -> Result<Expression, Diagnostics> {
    let mut parser = Parser::new(file, place, Start::Normal);
    parser.newlines = Newlines::Skip;
    let node = parser.expression();
    let next = parser.peek();
    if next.kind != TokenKind::End {
        parser.problem_unless_recovering(
            "Extra characters after expression",
            "The expression ends before this. Remove what follows, or join it with an operator.",
            next.place(),
        );
    }
    parser.finish(node)
}

/// Reads a part of a file as a template without quotes.
pub(crate) fn template(
    file: &Arc<SourceFile>,
    place: Place,
    names: Names,
) -> Result<Expression, Diagnostics> {
    let mut parser = Parser::new(file, place, Start::Template);
    parser.names = names;
    let (kind, _) = parser.template(TokenKind::End, template::Indentation::Kept);
    let node = parser.node(kind, place);
    parser.finish(node)
}

/// What a line break is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newlines {
    /// The end of something.
    Count,
    /// No more than a blank, as between brackets.
    Skip,
}

struct Parser<'a> {
    file: &'a Arc<SourceFile>,
    text: &'a str,
    tokens: Vec<Token>,
    /// The token behind the last one that was read.
    next: usize,
    newlines: Newlines,
    /// What was found last from `next` on, so that a long run of comments and line
    /// breaks is skipped once.
    peeked: Option<Peeked>,
    /// An error has led the parser astray; see the module's words.
    recovering: bool,
    /// Nothing more is read or said, as the text nests too deeply.
    gave_up: bool,
    nesting: usize,
    names: Names,
    /// Variables of the `for` expressions around, by slot; elements of splats
    /// take slots without a name.
    variables: Vec<Option<Str>>,
    /// How many errors there were; the list is capped.
    found: usize,
    problems: Vec<Diagnostic>,
}

#[derive(Clone, Copy)]
struct Peeked {
    from: usize,
    newlines: Newlines,
    token: Token,
    behind: usize,
}

impl Token {
    const fn place(self) -> Place {
        (self.start, self.end)
    }
}

impl<'a> Parser<'a> {
    fn new(file: &'a Arc<SourceFile>, (from, to): Place, start: Start) -> Self {
        let text = file.text();
        let mut parser = Self {
            file,
            text,
            tokens: scan(text, from, to, start),
            next: 0,
            newlines: Newlines::Count,
            peeked: None,
            recovering: false,
            gave_up: false,
            nesting: 0,
            names: Names::References,
            variables: Vec::new(),
            found: 0,
            problems: Vec::new(),
        };
        parser.refuse_unknown_tokens();
        parser
    }

    fn finish(self, node: Node) -> Result<Expression, Diagnostics> {
        Diagnostics::from(self.problems).into_result(Expression::new(self.file, Arc::new(node)))
    }

    /// The next token that means something, which stays the next one.
    fn peek(&mut self) -> Token {
        self.locate().0
    }

    /// The next token that means something. At the end it is the end, ever again.
    fn read(&mut self) -> Token {
        let (token, behind) = self.locate();
        self.next = behind;
        token
    }

    /// The next token that means something, and the index behind it.
    fn locate(&mut self) -> (Token, usize) {
        if let Some(peeked) = self.peeked
            && peeked.from == self.next
            && peeked.newlines == self.newlines
        {
            return (peeked.token, peeked.behind);
        }
        let skips = self.newlines == Newlines::Skip;
        let mut found = (self.end_token(), self.tokens.len());
        for (index, token) in self.tokens.iter().enumerate().skip(self.next) {
            let kind = match token.kind {
                TokenKind::BlockComment => continue,
                TokenKind::Newline | TokenKind::LineComment if skips => continue,
                // A comment takes the end of its line with it, unless the file ends.
                TokenKind::LineComment if token.text(self.text).ends_with('\n') => TokenKind::Newline,
                TokenKind::LineComment => continue,
                kind => kind,
            };
            found = (Token { kind, ..*token }, index + 1);
            break;
        }
        let (token, behind) = found;
        self.peeked = Some(Peeked { from: self.next, newlines: self.newlines, token, behind });
        found
    }

    fn end_token(&self) -> Token {
        let end = self.text.len();
        self.tokens.last().copied().unwrap_or(Token { kind: TokenKind::End, start: end, end })
    }

    /// The token that was read last, or the first one of all.
    fn previous(&self) -> Token {
        self.tokens.get(self.next.saturating_sub(1)).copied().unwrap_or_else(|| self.end_token())
    }

    fn text_of(&self, token: Token) -> &'a str {
        token.text(self.text)
    }

    fn is_keyword(&self, token: Token, keyword: &str) -> bool {
        token.kind == TokenKind::Identifier && self.text_of(token) == keyword
    }

    fn span(&self, (start, end): Place) -> Span {
        Span::new(self.file, start, end)
    }

    fn problem(&mut self, summary: &str, detail: &str, place: Place) {
        if self.gave_up {
            return;
        }
        self.found += 1;
        if self.problems.len() < MOST_PROBLEMS {
            let span = self.span(place);
            self.problems.push(Diagnostic::error(summary, detail).at(span));
        }
    }

    fn problem_unless_recovering(&mut self, summary: &str, detail: &str, place: Place) {
        if !self.recovering {
            self.problem(summary, detail, place);
        }
    }

    /// Whether an error that led astray came since that many were found.
    fn went_astray(&self, found_before: usize) -> bool {
        self.recovering && self.found > found_before
    }

    /// Reads with line breaks meaning what they mean between some brackets.
    fn between<T>(&mut self, newlines: Newlines, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.newlines, newlines);
        let result = read(self);
        self.newlines = outer;
        result
    }

    /// Reads what nests; `None` where that is too deep.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.nesting >= MOST_NESTING {
            self.give_up();
            return None;
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        Some(result)
    }

    /// Says that the text nests too deeply, and goes to its end.
    fn give_up(&mut self) {
        let place = self.peek().place();
        let detail = format!(
            "Brackets, templates and blocks may nest {MOST_NESTING} levels deep here. Move parts into local \
             values."
        );
        self.problem("Nested too deeply", &detail, place);
        self.gave_up = true;
        self.recovering = true;
        self.next = self.tokens.len();
    }

    fn node(&mut self, kind: Kind, (start, end): Place) -> Node {
        let node = Node::new(kind, start, end);
        if node.height <= MOST_HEIGHT {
            return node;
        }
        self.give_up();
        Self::broken((start, end))
    }

    /// What stands for an expression that could not be read.
    fn broken((start, end): Place) -> Node {
        Node::new(Kind::Constant(Value::unknown(Type::Dynamic)), start, end)
    }

    fn slot_of(&self, name: &str) -> Option<usize> {
        self.variables.iter().rposition(|variable| variable.as_deref() == Some(name))
    }

    /// Gives slots to the variables of a `for`; answers the first.
    fn enter(&mut self, key: Option<&str>, value: &str) -> usize {
        let slot = self.variables.len();
        self.variables.extend(key.map(|key| Some(Str::new(key))));
        self.variables.push(Some(Str::new(value)));
        slot
    }

    fn leave(&mut self, slot: usize) {
        self.variables.truncate(slot);
    }
}
