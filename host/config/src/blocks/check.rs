//! Reads `check` blocks and conditions.

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Expression};
use wardian_value::Str;

use super::Resource;
use crate::content::{Content, Shape, labels};
use crate::names::check_name;

/// A `check` block.
#[derive(Clone, Debug)]
pub struct Check {
    pub name: Str,
    /// The data source nested in the check. Only this check can read it.
    pub data: Option<Resource>,
    /// The conditions. If a condition is false, a warning is reported.
    pub assertions: Vec<Condition>,
    /// The span of the header.
    pub span: Span,
}

/// A condition: `validation`, `precondition`, `postcondition` or `assert`.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The expression that must be true.
    pub condition: Expression,
    /// The message that is shown if the condition is false.
    pub error_message: Expression,
    /// The span of the header.
    pub span: Span,
}

impl Check {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape =
            Shape { noun: "a check block", required: &[], optional: &[], blocks: &["data", "assert"] };
        let [label] = labels(block, ["name"], problems)?;
        check_name(label, "Invalid check block name", problems);
        let content = SHAPE.read(&block.body, problems);
        let assertions = conditions(&content, "assert", problems);
        if assertions.is_empty() {
            problems.push(
                Diagnostic::error(
                    "Zero assert blocks",
                    "A check block needs at least one assert block: without one it checks nothing.",
                )
                .at(block.header_span.clone()),
            );
        }
        let mut data_blocks = content.blocks.iter().filter(|block| &*block.kind == "data");
        let data = data_blocks.next().and_then(|data| {
            check_nested_data(data, problems);
            Resource::read(data, problems)
        });
        for block in data_blocks {
            let detail = "A check block can have only one data block; use a separate check block for each.";
            problems.push(
                Diagnostic::error("Multiple data resource blocks", detail).at(block.header_span.clone()),
            );
        }
        Some(Self { name: label.text.clone(), data, assertions, span: block.header_span.clone() })
    }
}

/// Checks that the nested data source has only one instance and no lifecycle rules.
fn check_nested_data(block: &Block, problems: &mut Diagnostics) {
    for attribute in ["count", "for_each"].iter().filter_map(|name| block.body.attribute(name)) {
        let detail = "A data block inside a check has one instance. Move it out of the check to create \
            several.";
        problems.push(
            Diagnostic::error(format!("Invalid \"{}\" attribute", attribute.name), detail)
                .at(attribute.name_span.clone()),
        );
    }
    for lifecycle in block.body.blocks_of("lifecycle") {
        let detail = "A data block inside a check cannot have a lifecycle block: use assert for conditions.";
        problems.push(Diagnostic::error("Invalid lifecycle block", detail).at(lifecycle.header_span.clone()));
    }
}

impl Condition {
    fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a block with a condition",
            required: &["condition", "error_message"],
            optional: &[],
            blocks: &[],
        };
        let content = SHAPE.read(&block.body, problems);
        let condition = content.expression("condition");
        let error_message = content.expression("error_message");
        if let Some(condition) = &condition
            && condition.references().is_empty()
            && condition.check().is_empty()
        {
            let detail =
                "The condition refers to no object, so its result is always the same and it checks nothing.";
            problems.push(
                Diagnostic::error(format!("Invalid {} expression", block.kind), detail)
                    .at(condition.span().clone()),
            );
            // A more specific check applies to validations of variables.
            if &*block.kind != "validation" {
                return None;
            }
        }
        Some(Self { condition: condition?, error_message: error_message?, span: block.header_span.clone() })
    }
}

/// Reads all conditions in blocks of one type.
pub(crate) fn conditions(content: &Content<'_>, kind: &str, problems: &mut Diagnostics) -> Vec<Condition> {
    let blocks = content.unlabeled(kind, problems);
    blocks.into_iter().filter_map(|block| Condition::read(block, problems)).collect()
}
