//! `dynamic` blocks: one block per element of a value.

use std::borrow::Cow;

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block as SyntaxBlock, Body, ReferenceSubject, Resolved, Scope};
use wardian_plugin::Block;
use wardian_value::{Marks, Str, Type, Value, View};

use super::dynamic_parts::{DynamicParts, dynamic_label};
use crate::content::labels;

/// Blocks, as written or as a `dynamic` block generates them.
pub(super) enum ExpandedBlock<'a> {
    Block {
        content: Cow<'a, Body>,
        labels: Vec<Str>,
        iteration: Option<Iteration<'a>>,
        span: Span,
    },
    /// An unknown number of blocks.
    Uncounted {
        content: Cow<'a, Body>,
        iteration: Iteration<'a>,
        marks: Marks,
    },
    /// The marks of the value that determines the number of blocks, even if there are none.
    Marks(Marks),
}

/// Returns true if a block is a `dynamic` block and not a block of that name in the schema.
pub(super) fn is_dynamic(block: &SyntaxBlock, schema: &Block) -> bool {
    &*block.kind == "dynamic" && !schema.block_types.contains_key("dynamic")
}

/// Returns true if a block is `dynamic "name"`.
pub(super) fn label_is(block: &SyntaxBlock, name: &str) -> bool {
    &*block.kind == "dynamic" && block.labels.first().is_some_and(|label| &*label.text == name)
}

/// Returns all blocks of a type in source order.
pub(super) fn blocks_of<'a>(
    name: &str,
    label_count: usize,
    body: &'a Body,
    scope: &'a dyn Scope,
    problems: &mut Diagnostics,
) -> Vec<ExpandedBlock<'a>> {
    let mut found = Vec::new();
    for block in &body.blocks {
        if &*block.kind == name {
            let texts = if label_count == 1 {
                labels(block, ["key"], problems).map(|[label]| vec![label.text.clone()])
            } else {
                labels(block, [], problems).map(|[]| Vec::new())
            };
            let Some(labels) = texts else {
                continue;
            };
            let span = block.header_span.clone();
            found.push(ExpandedBlock::Block {
                content: Cow::Borrowed(&block.body),
                labels,
                iteration: None,
                span,
            });
        } else if label_is(block, name) && labels(block, ["block type"], problems).is_some() {
            expand(block, label_count, scope, &mut found, problems);
        }
    }
    found
}

fn expand<'a>(
    block: &'a SyntaxBlock,
    label_count: usize,
    scope: &'a dyn Scope,
    found: &mut Vec<ExpandedBlock<'a>>,
    problems: &mut Diagnostics,
) {
    let Some(parts) = DynamicParts::from_block(block, problems) else {
        return;
    };
    if parts.labels.len() != label_count {
        let detail = if label_count == 0 {
            "Blocks of this type have no labels, so the argument labels cannot be set."
        } else {
            "Blocks of this type have one label each: labels = [...] with one element is required."
        };
        problems
            .push(Diagnostic::error("Invalid dynamic block labels", detail).at(block.header_span.clone()));
        return;
    }
    let expression = &parts.for_each.expression;
    let Some(value) = problems.collect(expression.evaluate(scope)) else {
        return;
    };
    let marks = value.marks();
    let span = parts.content.header_span.clone();
    let body = match parts.content {
        Cow::Borrowed(content) => Cow::Borrowed(&content.body),
        Cow::Owned(content) => Cow::Owned(content.body),
    };
    if !value.is_known() {
        let unknown = Value::unknown(Type::Dynamic);
        let iteration = Iteration::new(scope, parts.iterator, unknown.clone(), unknown);
        found.push(ExpandedBlock::Uncounted { content: body, iteration, marks });
        return;
    }
    let invalid = |detail: String| {
        Diagnostic::error("Invalid dynamic for_each value", detail).at(expression.span().clone())
    };
    let elements: Vec<(Value, Value)> = match value.view() {
        View::List(elements) | View::Tuple(elements) => (0u64..)
            .zip(elements)
            .map(|(index, element)| (Value::number(wardian_value::Number::from(index)), element.clone()))
            .collect(),
        View::Set(elements) => elements.iter().map(|element| (element.clone(), element.clone())).collect(),
        View::Map(elements) | View::Object(elements) => {
            elements.iter().map(|(key, element)| (Value::string(key.clone()), element.clone())).collect()
        }
        View::Null => {
            problems.push(invalid("A list, a set or a map is required here, but this is null.".to_owned()));
            return;
        }
        _ => {
            problems.push(invalid(format!(
                "A list, a set or a map is required here, but this is {}.",
                value.ty().friendly_name()
            )));
            return;
        }
    };
    if !marks.is_empty() {
        found.push(ExpandedBlock::Marks(marks));
    }
    for (key, value) in elements {
        let iteration = Iteration::new(scope, parts.iterator.clone(), key, value);
        let labels: Option<Vec<Str>> =
            parts.labels.iter().map(|label| dynamic_label(label, &iteration, problems)).collect();
        if let Some(labels) = labels {
            let (content, span) = (body.clone(), span.clone());
            found.push(ExpandedBlock::Block { content, labels, iteration: Some(iteration), span });
        }
    }
}

/// The outer scope plus the iterator.
pub(super) struct Iteration<'a> {
    outer: &'a dyn Scope,
    iterator: Str,
    /// An object of key and value.
    element: Value,
}

impl<'a> Iteration<'a> {
    fn new(outer: &'a dyn Scope, iterator: Str, key: Value, value: Value) -> Self {
        Self { outer, iterator, element: Value::object([("key", key), ("value", value)]) }
    }
}

impl Scope for Iteration<'_> {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        self.outer.resolve(subject, index, span)
    }

    fn local(&self, name: &str) -> Option<Value> {
        if *name == *self.iterator { Some(self.element.clone()) } else { self.outer.local(name) }
    }

    fn outer(&self) -> Option<&dyn Scope> {
        Some(self.outer)
    }
}
