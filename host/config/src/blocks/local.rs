//! Reads `locals` blocks.

use wardian_diagnostic::{Diagnostics, Span};
use wardian_lang::{Block, Expression};
use wardian_value::Str;

use crate::content::{labels, unexpected_block};
use crate::names::check_identifier;

/// A local value.
#[derive(Clone, Debug)]
pub struct Local {
    pub name: Str,
    pub expression: Expression,
    /// The span of the whole definition.
    pub span: Span,
}

impl Local {
    pub(crate) fn read_all(block: &Block, problems: &mut Diagnostics) -> Vec<Self> {
        labels(block, [], problems);
        let body = block.body.with_attributes_only(problems);
        for inner in &body.blocks {
            problems.push(unexpected_block(inner, "a locals block"));
        }
        let mut locals = Vec::new();
        for attribute in &body.attributes {
            check_identifier(&attribute.name, &attribute.name_span, "Invalid local value name", problems);
            locals.push(Self {
                name: attribute.name.clone(),
                expression: attribute.expression.clone(),
                span: attribute.span.clone(),
            });
        }
        locals
    }
}
