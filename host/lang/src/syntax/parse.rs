//! Parses tokens into bodies and expressions.
//!
//! A recursive descent parser that reports as many errors as it can. It omits invalid code or
//! replaces it with unknown values, and continues at the apparent end of the invalid code. From
//! then on, the parser is *recovering*: it suppresses errors that may only be consequences, to
//! avoid reporting one mistake repeatedly. Both the suppressed errors and the position where
//! parsing continues are the same as in Terraform: the same text causes the same errors, each on
//! the same line.
//!
//! The parser builds no intermediate tree: it compiles expressions to [`Node`]s directly, because
//! all information that is required to resolve a name precedes the name.
//!
//! Two limits bound the depth: the nesting of the text ([`MAX_NESTING`]), which bounds the
//! recursion here, and the height of nodes ([`MAX_HEIGHT`]), which bounds the recursion when nodes
//! are visited, evaluated and dropped.

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

/// A byte range in the file, excluding the end. The file may be an excerpt, whose spans refer to
/// another file.
type ByteRange = (usize, usize);

/// Maximum nesting of brackets, templates and blocks.
const MAX_NESTING: usize = 300;

/// Maximum nesting of operations.
const MAX_HEIGHT: u32 = 1100;

/// Maximum number of reported errors per file. In a file that is not a configuration, nearly every
/// character causes an error.
const MAX_PROBLEMS: usize = 1000;

/// Parses a file of attributes and blocks.
pub(super) fn body(file: &Arc<SourceFile>) -> (Body, Diagnostics) {
    let mut parser = Parser::new(file, (0, file.text().len()), Start::Normal);
    let body = parser.body(TokenKind::End);
    (body, parser.problems.into())
}

/// Parses a range of a file as one expression, in which line breaks have no meaning.
pub(crate) fn expression(file: &Arc<SourceFile>, place: ByteRange) -> Result<Expression, Diagnostics> {
    let mut parser = Parser::new(file, place, Start::Normal);
    parser.newlines = Newlines::Skip;
    let node = parser.expression();
    let next = parser.peek();
    if next.kind != TokenKind::End {
        parser.problem_unless_recovering(
            "Extra characters after expression",
            "An operator is required between expressions. Add an operator, or remove the rest.",
            next.place(),
        );
    }
    parser.finish(node)
}

/// Parses a range of a file as a template without quotes.
pub(crate) fn template(
    file: &Arc<SourceFile>,
    place: ByteRange,
    names: Names,
) -> Result<Expression, Diagnostics> {
    let mut parser = Parser::new(file, place, Start::Template);
    parser.names = names;
    let (kind, _) = parser.template(TokenKind::End, template::Indentation::Kept);
    let node = parser.node(kind, place);
    parser.finish(node)
}

/// The meaning of a line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newlines {
    /// The line break ends an item.
    Count,
    /// The line break is whitespace, as between brackets.
    Skip,
}

struct Parser<'a> {
    file: &'a Arc<SourceFile>,
    text: &'a str,
    tokens: Vec<Token>,
    /// The index of the token after the last token that was read.
    next: usize,
    newlines: Newlines,
    /// The last token that was found starting at `next`. Caching it avoids skipping a long sequence
    /// of comments and line breaks more than once.
    peeked: Option<Peeked>,
    /// True after an error that may cause other errors; see the module documentation.
    recovering: bool,
    /// True if parsing and reporting have ended because the text is nested too deeply.
    gave_up: bool,
    nesting: usize,
    names: Names,
    /// The variables of the enclosing `for` expressions, by slot. The slots for elements of splats
    /// have no name.
    variables: Vec<Option<Str>>,
    /// The number of errors. The list of errors is limited.
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
    const fn place(self) -> ByteRange {
        (self.start, self.end)
    }
}

impl<'a> Parser<'a> {
    fn new(file: &'a Arc<SourceFile>, (from, to): ByteRange, start: Start) -> Self {
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

    /// Returns the next significant token without consuming it.
    fn peek(&mut self) -> Token {
        self.locate().0
    }

    /// Consumes the next significant token. At the end of the file, the end token is returned
    /// repeatedly.
    fn read(&mut self) -> Token {
        let (token, behind) = self.locate();
        self.next = behind;
        token
    }

    /// Returns the next significant token and the index after it.
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
                // A line comment includes its newline, except at the end of the file.
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

    /// Returns the last consumed token; at the beginning, the first token.
    fn previous(&self) -> Token {
        self.tokens.get(self.next.saturating_sub(1)).copied().unwrap_or_else(|| self.end_token())
    }

    fn text_of(&self, token: Token) -> &'a str {
        token.text(self.text)
    }

    fn is_keyword(&self, token: Token, keyword: &str) -> bool {
        token.kind == TokenKind::Identifier && self.text_of(token) == keyword
    }

    fn span(&self, (start, end): ByteRange) -> Span {
        Span::new(self.file, start, end)
    }

    fn problem(&mut self, summary: &str, detail: &str, place: ByteRange) {
        if self.gave_up {
            return;
        }
        self.found += 1;
        if self.problems.len() < MAX_PROBLEMS {
            let span = self.span(place);
            self.problems.push(Diagnostic::error(summary, detail).at(span));
        }
    }

    fn problem_unless_recovering(&mut self, summary: &str, detail: &str, place: ByteRange) {
        if !self.recovering {
            self.problem(summary, detail, place);
        }
    }

    /// Returns true if recovery began after `found_before` errors.
    fn recovered_since(&self, found_before: usize) -> bool {
        self.recovering && self.found > found_before
    }

    /// Parses code in which line breaks have the given meaning.
    fn between<T>(&mut self, newlines: Newlines, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.newlines, newlines);
        let result = read(self);
        self.newlines = outer;
        result
    }

    /// Parses nested code, or returns `None` if the nesting is too deep.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.nesting >= MAX_NESTING {
            self.give_up();
            return None;
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        Some(result)
    }

    /// Reports that the text is nested too deeply, and skips to its end.
    fn give_up(&mut self) {
        let place = self.peek().place();
        let detail = format!(
            "Brackets, templates and blocks may be nested at most {MAX_NESTING} levels deep. Move parts \
             into local values."
        );
        self.problem("Nested too deeply", &detail, place);
        self.gave_up = true;
        self.recovering = true;
        self.next = self.tokens.len();
    }

    fn node(&mut self, kind: Kind, (start, end): ByteRange) -> Node {
        let node = Node::new(kind, start, end);
        if node.height <= MAX_HEIGHT {
            return node;
        }
        self.give_up();
        Self::broken((start, end))
    }

    /// Returns the node for an expression that cannot be parsed.
    fn broken((start, end): ByteRange) -> Node {
        Node::new(Kind::Constant(Value::unknown(Type::Dynamic)), start, end)
    }

    fn slot_of(&self, name: &str) -> Option<usize> {
        self.variables.iter().rposition(|variable| variable.as_deref() == Some(name))
    }

    /// Assigns slots to the variables of a `for`, and returns the first slot.
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
