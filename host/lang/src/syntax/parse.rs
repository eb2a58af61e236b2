//! From hcl-edit's bodies to ours.

use std::sync::Arc;

use hcl_edit::Span as _;
use hcl_edit::structure::{
    Attribute as AttributeSyntax, Block as BlockSyntax, BlockLabel, Body as BodySyntax, Structure,
};
use wardian_value::Str;

use super::error::syntax_error;
use super::tolerant::tolerant;
use crate::compile::Compiler;
use crate::{Attribute, Block, Body, Diagnostic, Diagnostics, Label, SourceFile, Span};

pub(super) fn body(file: &Arc<SourceFile>) -> (Body, Diagnostics) {
    let syntax = match tolerant(file.text(), hcl_edit::parser::parse_body) {
        Ok(syntax) => syntax,
        Err(error) => return (Body::empty(file.span()), syntax_error(file, 0, &error).into()),
    };
    let mut reader = Reader { file, problems: Diagnostics::new() };
    let body = reader.body(&syntax, file.span());
    (body, reader.problems)
}

struct Reader<'a> {
    file: &'a Arc<SourceFile>,
    problems: Diagnostics,
}

impl Reader<'_> {
    fn span(&self, range: Option<std::ops::Range<usize>>) -> Span {
        let range = range.unwrap_or_default();
        Span::new(self.file, range.start, range.end)
    }

    fn body(&mut self, syntax: &BodySyntax, span: Span) -> Body {
        let mut body = Body::empty(span);
        for structure in syntax {
            match structure {
                Structure::Attribute(attribute) => {
                    if let Some(attribute) = self.attribute(attribute) {
                        body.attributes.push(attribute);
                    }
                }
                Structure::Block(block) => {
                    let block = self.block(block);
                    body.blocks.push(block);
                }
            }
        }
        self.refuse_shared_names(&body);
        body
    }

    /// A name is either an argument or a kind of block.
    fn refuse_shared_names(&mut self, body: &Body) {
        for attribute in &body.attributes {
            if let Some(block) = body.blocks_of(&attribute.name).next() {
                let (first, second) = if attribute.span.start < block.span.start {
                    (&attribute.name_span, &block.kind_span)
                } else {
                    (&block.kind_span, &attribute.name_span)
                };
                self.problems.push(
                    Diagnostic::error(
                        "Name used twice",
                        format!(
                            "\"{}\" was already used at {first}. An argument and a block cannot \
                             have the same name.",
                            attribute.name
                        ),
                    )
                    .at(second.clone()),
                );
            }
        }
    }

    fn attribute(&mut self, syntax: &AttributeSyntax) -> Option<Attribute> {
        let expression = Compiler::new(self.file, 0).expression(&syntax.value);
        let expression = self.problems.collect(expression)?;
        let name_span = self.span(syntax.key.span());
        let span = name_span.to(expression.span());
        Some(Attribute { name: Str::new(syntax.key.as_str()), name_span, expression, span })
    }

    fn block(&mut self, syntax: &BlockSyntax) -> Block {
        let span = self.span(syntax.span());
        let kind_span = self.span(syntax.ident.span());
        let labels: Vec<Label> = syntax
            .labels
            .iter()
            .map(|label| {
                let span = self.span(label.span());
                if let (BlockLabel::String(_), Some(at)) = (label, span.text().find('\n')) {
                    self.problems.push(
                        Diagnostic::error(
                            "Invalid multi-line string",
                            "A quoted label ends on the line on which it starts.",
                        )
                        .at(Span::new(self.file, span.start, span.start + at)),
                    );
                }
                Label { text: Str::new(label.as_str()), span }
            })
            .collect();
        let header_span = labels.last().map_or(kind_span.clone(), |label| kind_span.to(&label.span));
        // The parser keeps no place for the braces: between the header and the
        // opening one there is nothing but space and comments without braces.
        let rest = span.file.text().get(header_span.end..span.end).unwrap_or("");
        let inner_start = header_span.end + opening_brace(rest) + 1;
        let inner = Span::new(self.file, inner_start, span.end.saturating_sub(1));
        let body = self.body(&syntax.body, inner);
        Block { kind: Str::new(syntax.ident.as_str()), kind_span, labels, body, header_span, span }
    }
}

/// The place of the first brace that is not in a comment.
fn opening_brace(text: &str) -> usize {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['{', '/'])) {
        at += found;
        let rest = &text[at..];
        match rest.strip_prefix("/*").map(|comment| comment.find("*/")) {
            Some(Some(end)) => at += end + 4,
            _ if rest.starts_with('{') => return at,
            _ => at += 1,
        }
    }
    0
}
