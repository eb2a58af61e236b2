//! What a body refers to.

use std::borrow::Cow;

use wardian_diagnostic::Diagnostics;
use wardian_lang::{Body, Reference};
use wardian_plugin::Block;

use crate::decode::expected_by_schema;
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

/// What stands directly in a body, sorted into arguments and blocks by a schema.
pub fn arguments_and_blocks<'a>(body: &'a Body, schema: &Block) -> Cow<'a, Body> {
    // What is wrong with the body is told by whoever decodes it.
    body.interpreted(&|name| expected_by_schema(schema, name), &mut Diagnostics::new())
}
