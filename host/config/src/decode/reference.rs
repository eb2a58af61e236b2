//! Collects the references in a body.

use std::borrow::Cow;

use wardian_diagnostic::Diagnostics;
use wardian_lang::{Body, Reference};
use wardian_plugin::Block;

use crate::decode::expected_by_schema;
use crate::walk::each_expression;

/// Returns all references in a body, except references to the iterators of `dynamic` blocks in the
/// body. If the schema is known and declares a block type `dynamic`, such blocks are treated like
/// any other.
pub fn references(body: &Body, schema: Option<&Block>) -> Vec<Reference> {
    let mut found = Vec::new();
    each_expression(body, schema, &mut |expression, iterators| {
        found.extend(expression.references_excluding(iterators));
    });
    found
}

/// Returns a body whose arguments and blocks are distinguished according to a schema.
pub fn arguments_and_blocks<'a>(body: &'a Body, schema: &Block) -> Cow<'a, Body> {
    // Errors in the body are reported when it is decoded.
    body.interpreted(&|name| expected_by_schema(schema, name), &mut Diagnostics::new())
}
