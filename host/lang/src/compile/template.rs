//! Templates: quoted strings, heredocs and template files.
//!
//! Strip markers and the indentation of `<<-` concern the text between
//! directives wherever those are nested, one line at a time. So a template is
//! first laid out flat, then trimmed, then put together again.

use std::sync::Arc;

use hcl_edit::Span as _;
use hcl_edit::template::{Directive, Element, HeredocTemplate, Strip, Template};
use unicode_segmentation::UnicodeSegmentation;
use wardian_value::{Str, Value};

use super::Compiler;
use crate::node::{Kind, Node, Part};

/// How the literal parts of a template are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Literals {
    /// With backslash escapes, on one line.
    Quoted,
    /// Line by line, as they stand.
    Heredoc,
    /// As in a heredoc; the whole is a file.
    Template,
}

/// A template laid out flat.
enum Token {
    Literal(String),
    Interpolation(Arc<Node>),
    If(Arc<Node>),
    Else,
    EndIf,
    For { collection: Arc<Node>, slot: usize, has_key: bool },
    EndFor,
}

/// Tokens with what strip markers have still to do.
#[derive(Default)]
struct Tokens {
    tokens: Vec<Token>,
    trim_next: bool,
}

impl Tokens {
    fn literal(&mut self, text: &str) {
        let trim = std::mem::take(&mut self.trim_next);
        let text = if trim { text.trim_start() } else { text };
        self.tokens.push(Token::Literal(text.to_owned()));
    }

    fn sequence(&mut self, token: Token, strip: Strip) {
        if strip.strip_start()
            && let Some(Token::Literal(text)) = self.tokens.last_mut()
        {
            text.truncate(text.trim_end().len());
        }
        self.tokens.push(token);
        self.trim_next = strip.strip_end();
    }

    /// Removes the indentation that all lines have in common. Lines that are
    /// blank do not count and stay as they are.
    fn remove_indentation(&mut self) {
        let mut common = usize::MAX;
        let mut at_line_start = true;
        let mut indented = Vec::new();
        for (index, token) in self.tokens.iter().enumerate() {
            if at_line_start {
                at_line_start = false;
                let spaces = match token {
                    Token::Literal(text) => {
                        let rest = text.trim_start();
                        if rest.is_empty() && text.ends_with('\n') {
                            usize::MAX
                        } else {
                            indented.push(index);
                            text[..text.len() - rest.len()].graphemes(true).count()
                        }
                    }
                    _ => 0,
                };
                common = common.min(spaces);
            }
            if let Token::Literal(text) = token
                && text.ends_with('\n')
            {
                at_line_start = true;
            }
        }
        for index in indented {
            if let Some(Token::Literal(text)) = self.tokens.get_mut(index) {
                *text = text.graphemes(true).skip(common).collect();
            }
        }
    }
}

impl Compiler<'_> {
    /// Compiles a quoted template or a template file.
    pub(super) fn template(&mut self, template: &Template, literals: Literals) -> Kind {
        let mut tokens = Tokens::default();
        self.flatten(template, literals, &mut tokens);
        let mut tokens = tokens.tokens;
        if let [Token::Interpolation(node)] = tokens.as_slice() {
            return Kind::Interpolation(Arc::clone(node));
        }
        finish(&mut tokens)
    }

    pub(super) fn heredoc(&mut self, heredoc: &HeredocTemplate, place: (usize, usize)) -> Node {
        let mut tokens = Tokens::default();
        self.flatten(&heredoc.template, Literals::Heredoc, &mut tokens);
        let behind = self.text((place.1, self.file.text().len()));
        let behind = behind.split('\n').next().unwrap_or("").trim();
        if !behind.is_empty() {
            self.problem(
                "Unterminated heredoc",
                "The marker that ends this text must stand alone on its line.",
                (place.1, place.1 + 1),
            );
        }
        if self.text(place).starts_with("<<-") {
            tokens.remove_indentation();
        }
        Node { kind: finish(&mut tokens.tokens), start: place.0, end: place.1 }
    }

    fn flatten(&mut self, template: &Template, literals: Literals, tokens: &mut Tokens) {
        for element in template {
            match element {
                Element::Literal(literal) => {
                    let place = self.bytes(element.span().or_else(|| literal.span()));
                    if literals == Literals::Quoted {
                        self.refuse_line_break(place);
                        tokens.literal(literal);
                    } else {
                        for line in self.text(place).split_inclusive('\n') {
                            tokens.literal(&line.replace("$${", "${").replace("%%{", "%{"));
                        }
                    }
                }
                Element::Interpolation(interpolation) => {
                    let node = self.shared(&interpolation.expr);
                    tokens.sequence(Token::Interpolation(node), interpolation.strip);
                }
                Element::Directive(directive) => match &**directive {
                    Directive::If(directive) => {
                        let condition = self.shared(&directive.if_expr.cond_expr);
                        tokens.sequence(Token::If(condition), directive.if_expr.strip);
                        self.flatten(&directive.if_expr.template, literals, tokens);
                        if let Some(otherwise) = &directive.else_expr {
                            tokens.sequence(Token::Else, otherwise.strip);
                            self.flatten(&otherwise.template, literals, tokens);
                        }
                        tokens.sequence(Token::EndIf, directive.endif_expr.strip);
                    }
                    Directive::For(directive) => {
                        let intro = &directive.for_expr;
                        let collection = self.shared(&intro.collection_expr);
                        let slot = self.enter(intro.key_var.as_deref(), &intro.value_var);
                        let has_key = intro.key_var.is_some();
                        let start = Token::For { collection, slot, has_key };
                        tokens.sequence(start, intro.strip);
                        self.flatten(&intro.template, literals, tokens);
                        self.leave(slot);
                        tokens.sequence(Token::EndFor, directive.endfor_expr.strip);
                    }
                },
            }
        }
    }
}

fn finish(tokens: &mut Vec<Token>) -> Kind {
    let mut parts = assemble(&mut tokens.drain(..));
    match parts.as_mut_slice() {
        [] => Kind::Quoted(Value::string("")),
        [Part::Literal(text)] => Kind::Quoted(Value::string(text.clone())),
        _ => Kind::Template(parts),
    }
}

/// Puts flat tokens together up to the end of the current directive. The parser
/// has made sure that ends match.
fn assemble(tokens: &mut std::vec::Drain<'_, Token>) -> Vec<Part> {
    assemble_until(tokens).0
}

fn assemble_until(tokens: &mut std::vec::Drain<'_, Token>) -> (Vec<Part>, Option<Token>) {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let flush = |literal: &mut String, parts: &mut Vec<Part>| {
        if !literal.is_empty() {
            parts.push(Part::Literal(Str::new(literal)));
            literal.clear();
        }
    };
    while let Some(token) = tokens.next() {
        match token {
            Token::Literal(text) => literal.push_str(&text),
            Token::Interpolation(node) => {
                flush(&mut literal, &mut parts);
                parts.push(Part::Interpolation(node));
            }
            Token::If(condition) => {
                flush(&mut literal, &mut parts);
                let (then, end) = assemble_until(tokens);
                let otherwise = match end {
                    Some(Token::Else) => assemble_until(tokens).0,
                    _ => Vec::new(),
                };
                parts.push(Part::If { condition, then, otherwise });
            }
            Token::For { collection, slot, has_key } => {
                flush(&mut literal, &mut parts);
                let (body, _) = assemble_until(tokens);
                parts.push(Part::For { collection, slot, has_key, body });
            }
            Token::Else | Token::EndIf | Token::EndFor => {
                flush(&mut literal, &mut parts);
                return (parts, Some(token));
            }
        }
    }
    flush(&mut literal, &mut parts);
    (parts, None)
}
