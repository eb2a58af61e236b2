//! The body of a block, by the schema of whoever it is for.

use wardian_lang::{Body, Diagnostics, Reference, Scope, Span};
use wardian_plugin::Block;
use wardian_value::{Path, Value};

/// The value that a body means by a schema: attributes evaluated and converted,
/// nested blocks collected, `dynamic` blocks expanded. Its type fits the
/// schema's implied type also where there are errors; what is wrong is unknown.
pub fn decode_body(body: &Body, schema: &Block, scope: &dyn Scope) -> (Value, Diagnostics) {
    let _ = (body, scope);
    (schema.empty_value(), Diagnostics::new())
}

/// Everything that a body refers to. Where the schema is known, what is bound
/// inside the body itself (the iterators of `dynamic` blocks) is left out either
/// way.
pub fn references(body: &Body, schema: Option<&Block>) -> Vec<Reference> {
    let _ = (body, schema);
    Vec::new()
}

/// Where in a body the part of its value is that a path leads to: the nearest
/// thing that is written there.
pub fn span_of(body: &Body, path: &Path) -> Option<Span> {
    let _ = (body, path);
    None
}
