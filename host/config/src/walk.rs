//! Every expression of a body.

use wardian_lang::{Body, Diagnostics, Expression};

/// Hands over every expression in a body and in the blocks inside.
pub(crate) fn each_expression<'a>(body: &'a Body, found: &mut dyn FnMut(&'a Expression)) {
    for attribute in &body.attributes {
        found(&attribute.expression);
    }
    for block in &body.blocks {
        each_expression(&block.body, found);
    }
}

/// Checks every expression in a body as far as that goes without values.
pub(crate) fn check_body(body: &Body, problems: &mut Diagnostics) {
    each_expression(body, &mut |expression| problems.extend(expression.check()));
}
