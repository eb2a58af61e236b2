//! Parses templates: quoted strings, heredocs and template files.
//!
//! Strip markers and the indentation of `<<-` apply to the text between directives regardless of
//! nesting, one literal at a time; in multi-line text each line is one literal. Therefore a
//! template is first parsed into a flat list, then trimmed, and then assembled.

mod assemble;

use wardian_value::{Value, graphemes};

use super::literal::plain_text;
use super::{ByteRange, MAX_NESTING, Newlines, Parser};
use crate::node::{Kind, Node};
use crate::syntax::scan::{Token, TokenKind};

/// The treatment of indentation at the start of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Indentation {
    Kept,
    /// Removes the common indentation, as `<<-` requires.
    Removed,
}

/// An element of a flat template.
enum Piece {
    Literal(String),
    Interpolation(Node),
    Directive(Directive, ByteRange),
}

enum Directive {
    If(Node),
    Else,
    EndIf,
    For { collection: Node, slot: usize, has_key: bool },
    EndFor,
}

/// A flat template, with the state of strip markers.
#[derive(Default)]
struct Layout {
    pieces: Vec<Piece>,
    /// True if the last sequence ended with `~}`, which trims the next literal.
    trims_next: bool,
    /// True if a sequence that begins with a strip marker may trim the last literal.
    may_trim_last: bool,
    /// The start of the template.
    start: ByteRange,
    /// The end of the template.
    end: ByteRange,
}

impl Parser<'_> {
    /// Parses a template after its opening token, up to and including `end`. Returns its content
    /// and its end.
    pub(super) fn template(&mut self, end: TokenKind, indentation: Indentation) -> (Kind, usize) {
        let variables = self.variables.len();
        let mut layout = self.layout(end);
        self.leave(variables);
        let closing = self.previous().end;
        if indentation == Indentation::Removed {
            layout.remove_indentation();
        }
        (self.assembled(layout), closing)
    }

    fn layout(&mut self, end: TokenKind) -> Layout {
        let mut layout = Layout { start: self.peek().place(), ..Layout::default() };
        // One entry per open directive: the number of variables before its `for`.
        let mut open: Vec<Option<usize>> = Vec::new();
        loop {
            let token = self.read();
            if token.kind == end {
                layout.end = token.place();
                return layout;
            }
            match token.kind {
                TokenKind::QuotedLiteral => {
                    let text = self.quoted_text(token);
                    layout.literal(&text);
                }
                TokenKind::TemplateLiteral => layout.literal(&plain_text(self.text_of(token))),
                TokenKind::OpenInterpolation => {
                    layout.open_sequence(token);
                    let node = self.between(Newlines::Skip, |parser| parser.interpolation(end, &mut layout));
                    layout.pieces.push(Piece::Interpolation(node));
                }
                TokenKind::OpenDirective => {
                    layout.open_sequence(token);
                    let directive =
                        self.between(Newlines::Skip, |parser| parser.directive(token, &mut layout));
                    let Some((directive, place)) = directive else { continue };
                    self.follow_scope(&directive, &mut open);
                    layout.pieces.push(Piece::Directive(directive, place));
                }
                _ => {
                    self.problem_unless_recovering(
                        "Unterminated template string",
                        "The end of this template is missing: a closing quote, or for a heredoc a line that \
                         contains only its marker.",
                        token.place(),
                    );
                    layout.end = self.recover(end).place();
                    return layout;
                }
            }
        }
    }

    /// Keeps the variables of a `for` directive in scope until the directive ends.
    fn follow_scope(&mut self, directive: &Directive, open: &mut Vec<Option<usize>>) {
        if open.len() > MAX_NESTING {
            self.give_up();
        }
        match directive {
            Directive::If(_) => open.push(None),
            Directive::For { slot, .. } => open.push(Some(*slot)),
            Directive::EndIf | Directive::EndFor => {
                if let Some(Some(slot)) = open.pop() {
                    self.leave(slot);
                }
            }
            Directive::Else => {}
        }
    }

    /// Parses the expression of `${ }` after the opening token, including the closing token.
    fn interpolation(&mut self, end: TokenKind, layout: &mut Layout) -> Node {
        let node = self.expression();
        let close = self.peek();
        if close.kind == TokenKind::CloseSequence {
            self.read();
            layout.close_sequence(close);
            return node;
        }
        let is_quote = matches!(close.kind, TokenKind::OpenQuote | TokenKind::CloseQuote);
        let (summary, detail, place) = match close.kind {
            TokenKind::End => (
                "Unclosed template interpolation sequence",
                "The \"${\" in this string has no closing brace before the end of the file.",
                layout.start,
            ),
            _ if is_quote && end == TokenKind::CloseQuote => (
                "Unclosed template interpolation sequence",
                "The \"${\" in this quoted string has no closing brace before the end of the string.",
                layout.start,
            ),
            _ => (
                "Extra characters after interpolation expression",
                "A closing brace is required after the expression. If the text is meant for another \
                 language, such as a shell, write \"$${\" for a literal \"${\".",
                close.place(),
            ),
        };
        self.problem_unless_recovering(summary, detail, place);
        self.recover(TokenKind::CloseSequence);
        node
    }

    /// Parses the content of `%{ }` after the opening token; returns `None` if it is invalid.
    fn directive(&mut self, opening: Token, layout: &mut Layout) -> Option<(Directive, ByteRange)> {
        let keyword = self.peek();
        if keyword.kind != TokenKind::Identifier {
            let detail = "\"%{\" must be followed by \"if\", \"else\", \"endif\", \"for\" or \"endfor\".";
            self.problem_unless_recovering("Invalid template directive", detail, keyword.place());
            self.recover(TokenKind::CloseSequence);
            return None;
        }
        self.read();
        let name = self.text_of(keyword);
        let directive = match name {
            "if" => Directive::If(self.expression()),
            "else" => Directive::Else,
            "endif" => Directive::EndIf,
            "endfor" => Directive::EndFor,
            "for" => match self.variables_of_for() {
                Ok(variables) => {
                    let collection = self.expression();
                    let slot = self.enter(variables.key, variables.value);
                    Directive::For { collection, slot, has_key: variables.key.is_some() }
                }
                Err((place, detail)) => {
                    self.problem_unless_recovering("Invalid 'for' directive", detail, place);
                    self.recover(TokenKind::CloseSequence);
                    return None;
                }
            },
            _ => {
                let known = ["if", "for", "else", "endif", "endfor"];
                let meant = wardian_diagnostic::did_you_mean(name, known);
                let detail = format!("There is no directive \"{name}\".{meant}");
                self.problem_unless_recovering("Invalid template control keyword", &detail, keyword.place());
                self.recover(TokenKind::CloseSequence);
                return None;
            }
        };
        let close = self.peek();
        if close.kind == TokenKind::CloseSequence {
            self.read();
            layout.close_sequence(close);
        } else {
            let summary = format!("Extra characters in {name} marker");
            let detail = "A closing brace is required at the end of the directive.";
            self.problem_unless_recovering(&summary, detail, close.place());
            self.recover(TokenKind::CloseSequence);
        }
        Some((directive, (opening.start, close.end)))
    }
}

impl Layout {
    fn literal(&mut self, text: &str) {
        let trims = std::mem::take(&mut self.trims_next);
        let text = if trims { text.trim_start() } else { text };
        self.pieces.push(Piece::Literal(text.to_owned()));
        self.may_trim_last = true;
    }

    /// Handles `${~` and `%{~`, which trim the literal before them.
    fn open_sequence(&mut self, opening: Token) {
        self.trims_next = false;
        if std::mem::take(&mut self.may_trim_last)
            && opening.end - opening.start == 3
            && let Some(Piece::Literal(text)) = self.pieces.last_mut()
        {
            text.truncate(text.trim_end().len());
        }
    }

    /// Handles `~}`, which trims the following literal.
    fn close_sequence(&mut self, closing: Token) {
        self.trims_next = closing.end - closing.start == 2;
    }

    /// Removes the indentation that all lines have in common. Blank lines are ignored and not changed.
    fn remove_indentation(&mut self) {
        let mut common = usize::MAX;
        let mut at_line_start = true;
        let mut indented = Vec::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            if at_line_start {
                at_line_start = false;
                let spaces = match piece {
                    Piece::Literal(text) => {
                        let rest = text.trim_start();
                        if rest.is_empty() && text.ends_with('\n') {
                            usize::MAX
                        } else {
                            indented.push(index);
                            graphemes(&text[..text.len() - rest.len()]).count()
                        }
                    }
                    _ => 0,
                };
                common = common.min(spaces);
            }
            if let Piece::Literal(text) = piece
                && text.ends_with('\n')
            {
                at_line_start = true;
            }
        }
        if common == 0 {
            return;
        }
        for index in indented {
            if let Some(Piece::Literal(text)) = self.pieces.get_mut(index) {
                let cut: usize = graphemes(text).take(common).map(str::len).sum();
                text.drain(..cut);
            }
        }
    }
}

/// Returns a string without interpolations.
fn quoted(text: String) -> Kind {
    Kind::Quoted(Value::string(text))
}
