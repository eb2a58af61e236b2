//! Visits every expression of a body.

use wardian_diagnostic::Diagnostics;
use wardian_lang::{Body, Expression};
use wardian_plugin::Block;
use wardian_value::Str;

use crate::decode::{dynamic_parts_expected, expected_by_schema};

/// Visits every expression in a body and its nested blocks, with the iterators of the surrounding
/// `dynamic` blocks. If the schema is known and declares a block type `dynamic`, such blocks are
/// treated like any other.
pub(crate) fn each_expression(
    body: &Body,
    schema: Option<&Block>,
    found: &mut dyn FnMut(&Expression, &[Str]),
) {
    in_body(body, schema, &mut Vec::new(), found);
}

fn in_body(
    body: &Body,
    schema: Option<&Block>,
    iterators: &mut Vec<Str>,
    found: &mut dyn FnMut(&Expression, &[Str]),
) {
    // Errors in the body are reported when it is decoded.
    let mut problems = Diagnostics::new();
    let body = match schema {
        Some(schema) => body.interpreted(&|name| expected_by_schema(schema, name), &mut problems),
        None => body.guessed(),
    };
    for layer in body.layers() {
        for attribute in &layer.attributes {
            found(&attribute.expression, iterators);
        }
        for block in &layer.blocks {
            let ordinary = schema.is_some_and(|schema| schema.block_types.contains_key("dynamic"));
            match block.labels.first() {
                Some(label) if &*block.kind == "dynamic" && !ordinary => {
                    in_dynamic(&block.body, &label.text, schema, iterators, found);
                }
                _ => in_body(&block.body, inner(schema, &block.kind), iterators, found),
            }
        }
    }
}

fn in_dynamic(
    body: &Body,
    name: &Str,
    schema: Option<&Block>,
    iterators: &mut Vec<Str>,
    found: &mut dyn FnMut(&Expression, &[Str]),
) {
    let body = body.interpreted(&dynamic_parts_expected, &mut Diagnostics::new()).into_owned();
    let mut iterator = name.clone();
    for attribute in &body.attributes {
        match &*attribute.name {
            "iterator" => {
                if let Some(keyword) = attribute.expression.as_keyword() {
                    iterator = Str::new(keyword);
                }
            }
            "labels" => {}
            _ => found(&attribute.expression, iterators),
        }
    }
    iterators.push(iterator);
    if let Some(labels) = body.attribute("labels") {
        found(&labels.expression, iterators);
    }
    for content in &body.blocks {
        in_body(&content.body, inner(schema, name), iterators, found);
    }
    iterators.pop();
}

fn inner<'a>(schema: Option<&'a Block>, name: &str) -> Option<&'a Block> {
    schema.and_then(|schema| schema.block_types.get(name)).map(|nested| &nested.block)
}

/// Checks every expression in a body for errors that do not depend on values.
pub(crate) fn check_body(body: &Body, problems: &mut Diagnostics) {
    each_expression(body, None, &mut |expression, iterators| {
        problems.extend(expression.check_excluding(iterators));
    });
}
