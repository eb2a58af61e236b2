//! Decodes nested blocks of every nesting mode.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Body, Scope};
use wardian_plugin::{Attribute, AttributeType, Block, BlockNesting, NestedBlock};
use wardian_value::{Marks, ObjectType, Str, Type, Value};

use super::decode as decode_content;
use super::dynamic::{self, ExpandedBlock};

/// The decoded blocks of one type.
#[derive(Default)]
struct Blocks {
    elements: Vec<Element>,
    /// True if the number of blocks is unknown.
    uncounted: bool,
    /// The marks of the value that determines the number of blocks.
    marks: Marks,
}

struct Element {
    key: Option<Str>,
    value: Value,
    span: Span,
}

pub(super) fn decode(
    name: &Str,
    nested: &NestedBlock,
    body: &Body,
    scope: &dyn Scope,
    problems: &mut Diagnostics,
) -> Value {
    let blocks = read(name, nested, body, scope, problems);
    check_count(name, nested, &blocks, body, problems);
    let marks = blocks.marks;
    collect(name, nested, blocks, problems).with_marks(marks)
}

/// Decodes the content of all blocks of a type.
fn read(
    name: &Str,
    nested: &NestedBlock,
    body: &Body,
    scope: &dyn Scope,
    problems: &mut Diagnostics,
) -> Blocks {
    let label_count = usize::from(nested.nesting == BlockNesting::Map);
    let mut blocks = Blocks::default();
    for found in dynamic::blocks_of(name, label_count, body, scope, problems) {
        match found {
            ExpandedBlock::Marks(marks) => blocks.marks |= marks,
            ExpandedBlock::Uncounted { content, iteration, marks } => {
                // Report errors that do not depend on the values.
                decode_content(&content, &nested.block, &iteration, problems);
                blocks.uncounted = true;
                blocks.marks |= marks;
            }
            ExpandedBlock::Block { content, labels, iteration, span } => {
                let scope = iteration.as_ref().map_or(scope, |iteration| iteration as &dyn Scope);
                let value = decode_content(&content, &nested.block, scope, problems);
                blocks.elements.push(Element { key: labels.into_iter().next(), value, span });
            }
        }
    }
    blocks
}

fn check_count(name: &Str, nested: &NestedBlock, blocks: &Blocks, body: &Body, problems: &mut Diagnostics) {
    let count = blocks.elements.len() as u64;
    let single = matches!(nested.nesting, BlockNesting::Single | BlockNesting::Group);
    if single {
        if let [first, second, ..] = blocks.elements.as_slice() {
            let detail = format!("Only one {name} block is allowed here; the first is at {}.", first.span);
            problems
                .push(Diagnostic::error(format!("Duplicate {name} block"), detail).at(second.span.clone()));
        } else if count == 0 && nested.min_items > 0 && !blocks.uncounted {
            problems.push(
                Diagnostic::error(
                    format!("Missing {name} block"),
                    format!(
                        "A {name} block is required \
                    here."
                    ),
                )
                .at(body.missing_item_span()),
            );
        }
        return;
    }
    if count < nested.min_items && !blocks.uncounted {
        let detail = format!("At least {} \"{name}\" blocks are required here.", nested.min_items);
        problems.push(
            Diagnostic::error(format!("Insufficient {name} blocks"), detail).at(body.missing_item_span()),
        );
    }
    let limit = usize::try_from(nested.max_items).unwrap_or(usize::MAX);
    if nested.max_items > 0
        && let Some(excess) = blocks.elements.get(limit)
    {
        let detail = format!("No more than {limit} \"{name}\" blocks are allowed here.");
        problems.push(Diagnostic::error(format!("Too many {name} blocks"), detail).at(excess.span.clone()));
    }
}

fn collect(name: &Str, nested: &NestedBlock, blocks: Blocks, problems: &mut Diagnostics) -> Value {
    if blocks.uncounted {
        return Value::unknown(nested.implied_type());
    }
    let element_type = || nested.block.implied_type();
    let values = |elements: Vec<Element>| elements.into_iter().map(|element| element.value);
    match nested.nesting {
        BlockNesting::Single | BlockNesting::Group => {
            values(blocks.elements).next().unwrap_or_else(|| nested.empty_value())
        }
        BlockNesting::List => {
            let element = element_type();
            if element.has_dynamic() {
                Value::tuple(values(blocks.elements))
            } else {
                Value::list(element, values(blocks.elements))
            }
        }
        BlockNesting::Set => Value::set(element_type(), values(blocks.elements)),
        BlockNesting::Map => {
            let mut by_key = BTreeMap::new();
            for element in blocks.elements {
                match element.key.map(|key| by_key.entry(key)) {
                    None => {}
                    Some(Entry::Vacant(place)) => {
                        place.insert(element.value);
                    }
                    Some(Entry::Occupied(taken)) => {
                        let label = taken.key();
                        let detail = format!(
                            "A {name} block with the label \"{label}\" already exists \
                            here."
                        );
                        problems.push(
                            Diagnostic::error(format!("Duplicate {name} block"), detail).at(element.span),
                        );
                    }
                }
            }
            let element = element_type();
            if element.has_dynamic() { Value::object(by_key) } else { Value::map(element, by_key) }
        }
    }
}

/// Returns the object type of an attribute that may be written as blocks. Legacy providers have
/// attributes that are lists or sets of objects, and users write them as blocks.
pub(super) fn may_be_blocks(attribute: &Attribute) -> Option<&Arc<ObjectType>> {
    match &attribute.ty {
        AttributeType::Value(Type::List(element) | Type::Set(element)) => match &**element {
            Type::Object(object) => Some(object),
            _ => None,
        },
        _ => None,
    }
}

/// Decodes an attribute that may be written as blocks, if it is written in this way. `dynamic`
/// blocks that produce no blocks do not set the attribute.
pub(super) fn decode_as_blocks(
    name: &Str,
    attribute: &Attribute,
    body: &Body,
    scope: &dyn Scope,
    problems: &mut Diagnostics,
) -> Option<Value> {
    let object = may_be_blocks(attribute)?;
    let has_blocks = body.blocks.iter().any(|block| *block.kind == **name || dynamic::label_is(block, name));
    if !has_blocks {
        return None;
    }
    let schema = schema_of(object, attribute);
    let nesting = match attribute.implied_type() {
        Type::Set(_) => BlockNesting::Set,
        _ => BlockNesting::List,
    };
    let nested = NestedBlock { block: schema, nesting, min_items: 0, max_items: 0 };
    let blocks = read(name, &nested, body, scope, problems);
    if blocks.elements.is_empty() && !blocks.uncounted {
        return None;
    }
    let marks = blocks.marks;
    Some(collect(name, &nested, blocks, problems).with_marks(marks))
}

/// Returns a schema in which each attribute of an object type may be set.
fn schema_of(object: &ObjectType, like: &Attribute) -> Block {
    let attributes = object.iter().map(|(name, ty)| {
        let attribute = Attribute {
            ty: AttributeType::Value(ty.clone()),
            setting: wardian_plugin::Setting::Optional,
            description: wardian_plugin::Description::default(),
            ..like.clone()
        };
        (name.clone(), attribute)
    });
    Block { attributes: attributes.collect(), ..Block::default() }
}
