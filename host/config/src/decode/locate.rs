//! Finds the source span of an attribute or element of a body's value.

use wardian_diagnostic::Span;
use wardian_lang::{Block, Body, Expression};
use wardian_value::{Path, PathStep};

/// Returns the source span for a path in the value, or for its nearest ancestor in the source.
/// `None` if the path does not exist.
pub fn span_of(body: &Body, path: &Path) -> Option<Span> {
    in_body(body, path.steps())
}

fn in_body(body: &Body, steps: &[PathStep]) -> Option<Span> {
    let (PathStep::Attribute(name) | PathStep::Key(name), rest) = steps.split_first()? else {
        return None;
    };
    if let Some(attribute) = body.attribute(name) {
        return Some(in_expression(&attribute.expression, rest));
    }
    let blocks: Vec<&Block> = body
        .blocks
        .iter()
        .filter(|block| block.kind == *name || dynamic_content(block, name).is_some())
        .collect();
    if blocks.is_empty() {
        return body.json_span(steps).or_else(|| Some(body.missing_item_span()));
    }
    let (block, rest) = choose(&blocks, rest)?;
    let content = if block.kind == *name { block } else { dynamic_content(block, name)? };
    if rest.is_empty() {
        return Some(block.header_span.clone());
    }
    in_body(&content.body, rest).or_else(|| Some(block.header_span.clone()))
}

/// Returns the block selected by the next step, and the remaining steps.
fn choose<'a, 'b>(blocks: &[&'a Block], steps: &'b [PathStep]) -> Option<(&'a Block, &'b [PathStep])> {
    let first = *blocks.first()?;
    let is_dynamic = |block: &Block| &*block.kind == "dynamic";
    match steps.split_first() {
        Some((PathStep::Index(index), rest)) => {
            let index = usize::try_from(*index).ok()?;
            // The number of blocks that a `dynamic` block generates is not known here, so counting
            // ends at the first `dynamic` block.
            let counted = blocks.iter().position(|block| is_dynamic(block)).unwrap_or(blocks.len());
            let block = blocks.get(index.min(counted)).or(blocks.last())?;
            Some((block, rest))
        }
        Some((PathStep::Key(key), rest)) => {
            let labelled = blocks.iter().find(|block| {
                !is_dynamic(block) && block.labels.first().is_some_and(|label| label.text == *key)
            });
            let block = labelled.or(blocks.iter().find(|block| is_dynamic(block))).copied();
            Some((block.unwrap_or(first), rest))
        }
        _ => Some((first, steps)),
    }
}

fn dynamic_content<'a>(block: &'a Block, name: &str) -> Option<&'a Block> {
    if &*block.kind != "dynamic" || block.labels.first().is_none_or(|label| &*label.text != name) {
        return None;
    }
    block.body.blocks_of("content").next()
}

fn in_expression(expression: &Expression, steps: &[PathStep]) -> Span {
    let inner = steps.split_first().and_then(|(step, rest)| match step {
        PathStep::Attribute(name) | PathStep::Key(name) => {
            let items = expression.as_object_items()?;
            let (_, value) =
                items.into_iter().find(|(key, _)| key.as_keyword().or(key.as_quoted()) == Some(&**name))?;
            Some(in_expression(&value, rest))
        }
        PathStep::Index(index) => {
            let item = expression.as_tuple_items()?.into_iter().nth(usize::try_from(*index).ok()?)?;
            Some(in_expression(&item, rest))
        }
    });
    inner.unwrap_or_else(|| expression.span().clone())
}
