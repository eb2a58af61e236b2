//! Reads meta-arguments that several types of blocks share.

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Body, Expression};

use crate::content::Content;

/// Reads `count` and `for_each`. They cannot be used together.
pub(super) fn repetition(
    content: &Content<'_>,
    problems: &mut Diagnostics,
) -> (Option<Expression>, Option<Expression>) {
    let count = content.expression("count");
    let for_each = content.expression("for_each");
    if let (Some(_), Some(both)) = (&count, content.attribute("for_each")) {
        let detail = "Only one of count and for_each can determine the number of instances.";
        problems.push(
            Diagnostic::error("Invalid combination of \"count\" and \"for_each\"", detail)
                .at(both.name_span.clone()),
        );
    }
    (count, for_each)
}

/// Rejects reserved blocks, and moves the content of `_` blocks into the body. A `_` block contains
/// a provider's or module's arguments that have the same names as meta-arguments.
pub(super) fn take_escaped(
    content: &Content<'_>,
    reserved: &[&str],
    kind: &str,
    body: &mut Body,
    problems: &mut Diagnostics,
) {
    for block in content.blocks.iter().filter(|block| reserved.contains(&&*block.kind)) {
        let detail = format!("Blocks of type \"{}\" cannot be used in a {kind} block.", block.kind);
        problems.push(
            Diagnostic::error(format!("Reserved block type name in {kind} block"), detail)
                .at(block.kind_span.clone()),
        );
    }
    if let Some(escaped) = content.only_block("_", "Duplicate escaping block", problems) {
        for attribute in &escaped.body.attributes {
            if let Some(first) = body.attribute(&attribute.name) {
                let detail =
                    format!("The argument \"{}\" is already set at {}.", attribute.name, first.name_span);
                problems
                    .push(Diagnostic::error("Attribute redefined", detail).at(attribute.name_span.clone()));
            } else {
                body.attributes.push(attribute.clone());
            }
        }
        body.blocks.extend(escaped.body.blocks.iter().cloned());
        body.take_uninterpreted(&escaped.body);
    }
}
