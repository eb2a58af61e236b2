//! `check` blocks and conditions.

use wardian_lang::{Block, Diagnostic, Diagnostics, Expression, Span};
use wardian_value::Str;

use super::Resource;
use crate::content::{Content, Shape, labels};
use crate::names::check_name;

/// A `check` block.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name.
    pub name: Str,
    /// The data source that is only there for it.
    pub data: Option<Resource>,
    /// What must hold; failing is a warning.
    pub assertions: Vec<Condition>,
    /// The header.
    pub span: Span,
}

/// Something that must hold: `validation`, `precondition`, `postcondition`,
/// `assert`.
#[derive(Clone, Debug)]
pub struct Condition {
    /// What must be true.
    pub condition: Expression,
    /// What to say where it is not.
    pub error_message: Expression,
    /// The header.
    pub span: Span,
}

impl Check {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape =
            Shape { noun: "a check block", required: &[], optional: &[], blocks: &["data", "assert"] };
        let [label] = labels(block, ["name"], problems)?;
        check_name(label, "check block", problems);
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
        let data = content.only_block("data", problems).and_then(|data| Resource::read(data, problems));
        Some(Self { name: label.text.clone(), data, assertions, span: block.header_span.clone() })
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
        let condition = content.expression("condition", problems);
        let error_message = content.expression("error_message", problems);
        Some(Self { condition: condition?, error_message: error_message?, span: block.header_span.clone() })
    }
}

/// All conditions in blocks of one type.
pub(super) fn conditions(content: &Content<'_>, kind: &str, problems: &mut Diagnostics) -> Vec<Condition> {
    content
        .blocks
        .iter()
        .filter(|block| &*block.kind == kind)
        .filter_map(|block| {
            labels(block, [], problems)?;
            Condition::read(block, problems)
        })
        .collect()
}
