//! Reads `output` blocks.

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Expression, Reference};
use wardian_value::Str;

use super::Condition;
use super::check::conditions;
use super::references::depends_on;
use crate::content::{Shape, labels};
use crate::names::check_name;

/// An output.
#[derive(Clone, Debug)]
pub struct Output {
    pub name: Str,
    pub description: Option<String>,
    pub expression: Expression,
    /// True if the value must not be shown.
    pub sensitive: bool,
    /// True if the value must not be stored.
    pub ephemeral: bool,
    /// The deprecation message for callers if the output is deprecated.
    pub deprecated: Option<String>,
    /// Dependencies in addition to the expression's references.
    pub depends_on: Vec<Reference>,
    pub preconditions: Vec<Condition>,
    /// The span of the header.
    pub span: Span,
}

impl Output {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "an output block",
            required: &["value"],
            optional: &["description", "sensitive", "ephemeral", "depends_on", "deprecated"],
            blocks: &["precondition", "postcondition"],
        };
        let [label] = labels(block, ["name"], problems)?;
        check_name(label, "Invalid output name", problems);
        let content = SHAPE.read(&block.body, problems);
        for block in content.unlabeled("postcondition", problems) {
            let detail =
                "An output's conditions are checked before its value is known: write a precondition.";
            problems.push(
                Diagnostic::error("Postconditions are not allowed", detail).at(block.header_span.clone()),
            );
        }
        let description = content.text("description", problems).map(|(text, _)| text);
        let sensitive = content.flag("sensitive", problems).unwrap_or(false);
        let ephemeral = content.flag("ephemeral", problems).unwrap_or(false);
        let depends_on = depends_on(&content, problems);
        let preconditions = conditions(&content, "precondition", problems);
        Some(Self {
            name: label.text.clone(),
            description,
            expression: content.expression("value")?,
            sensitive,
            ephemeral,
            deprecated: content.text("deprecated", problems).map(|(text, _)| text),
            depends_on,
            preconditions,
            span: block.header_span.clone(),
        })
    }
}
