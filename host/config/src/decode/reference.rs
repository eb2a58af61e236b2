//! What a body refers to.

use wardian_lang::{Body, Reference};
use wardian_plugin::Block;

use crate::walk::each_expression;

/// Everything that a body refers to. What is bound inside the body itself (the
/// iterators of `dynamic` blocks) is left out. Where the schema is known, a block
/// that it calls `dynamic` is an ordinary one.
pub fn references(body: &Body, schema: Option<&Block>) -> Vec<Reference> {
    let mut found = Vec::new();
    each_expression(body, schema, &mut |expression, iterators| {
        found.extend(expression.references_besides(iterators));
    });
    found
}
