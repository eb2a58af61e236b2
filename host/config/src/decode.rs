//! Decodes the body of a block according to a schema.
//!
//! | nesting | no block | several | unknown number of blocks |
//! |---|---|---|---|
//! | single | null | rejected | an unknown object |
//! | group | an object of empty values | rejected | an unknown object |
//! | list | empty list | list | an unknown list |
//! | set | empty set | set | an unknown set |
//! | map | empty map | map by label, each label once | an unknown map |
//!
//! If a block has attributes of dynamic type, a list of such blocks is a tuple, and a map of them
//! is an object.

mod dynamic;
mod dynamic_parts;
mod locate;
mod nested;
mod reference;

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Attribute as Argument, Body, EmptyScope, Expected, Scope};
use wardian_plugin::{Attribute, AttributeType, Block, BlockNesting, NestedObject, ObjectNesting};
use wardian_value::convert::convert;
use wardian_value::{ObjectType, Str, Type, Value};

use crate::content::{missing_argument, refuse_unread, unsupported_argument, unsupported_block};

pub(crate) use dynamic_parts::expected as dynamic_parts_expected;
pub use locate::span_of;
pub use reference::{arguments_and_blocks, references};

/// Decodes a body according to a schema: attributes are evaluated and converted, nested blocks are
/// collected, and `dynamic` blocks are expanded. The value always matches the schema's implied
/// type; after errors, invalid attributes and blocks are unknown.
pub fn decode_body(body: &Body, schema: &Block, scope: &dyn Scope) -> (Value, Diagnostics) {
    let mut problems = Diagnostics::new();
    let value = decode(body, schema, scope, &mut problems);
    (value, problems)
}

/// Returns the kind (argument or blocks) that a schema expects of a JSON property. A property that
/// could be an argument or blocks is treated as an argument.
pub(crate) fn expected_by_schema(schema: &Block, name: &str) -> Option<Expected> {
    if schema.attributes.contains_key(name) {
        return Some(Expected::Argument);
    }
    match schema.block_types.get(name) {
        Some(nested) => Some(Expected::Block { labels: usize::from(nested.nesting == BlockNesting::Map) }),
        None if name == "dynamic" => Some(Expected::Block { labels: 1 }),
        None => None,
    }
}

fn decode(body: &Body, schema: &Block, scope: &dyn Scope, problems: &mut Diagnostics) -> Value {
    let body = &*body.interpreted(&|name| expected_by_schema(schema, name), problems);
    let mut parts: Vec<(Str, Value)> = Vec::with_capacity(schema.attributes.len() + schema.block_types.len());
    for (name, attribute) in &schema.attributes {
        parts.push((name.clone(), decode_attribute(name, attribute, body, scope, problems)));
    }
    for (name, nested) in &schema.block_types {
        parts.push((name.clone(), nested::decode(name, nested, body, scope, problems)));
    }
    refuse_unknown(body, schema, problems);
    Value::object(parts)
}

/// Decodes an attribute that is written as blocks without references; `None` if it is not written
/// in this way, or if the blocks are invalid.
pub fn decode_constant_blocks(name: &Str, attribute: &Attribute, body: &Body) -> Option<Value> {
    let mut problems = Diagnostics::new();
    let value = nested::decode_as_blocks(name, attribute, body, &EmptyScope, &mut problems)?;
    (!problems.has_errors()).then_some(value)
}

fn decode_attribute(
    name: &Str,
    attribute: &Attribute,
    body: &Body,
    scope: &dyn Scope,
    problems: &mut Diagnostics,
) -> Value {
    let Some(argument) = body.attribute(name) else {
        if let Some(value) = nested::decode_as_blocks(name, attribute, body, scope, problems) {
            return value;
        }
        if attribute.setting.is_required() {
            problems.push(missing_argument(name, body));
        }
        return Value::null(attribute.implied_type());
    };
    evaluate(argument, &conversion_type(attribute), scope, problems)
}

/// Evaluates an argument and converts it; returns an unknown value if that fails.
fn evaluate(argument: &Argument, ty: &Type, scope: &dyn Scope, problems: &mut Diagnostics) -> Value {
    let Some(value) = problems.collect(argument.expression.evaluate(scope)) else {
        return Value::unknown(ty.clone());
    };
    match convert(&value, ty) {
        Ok(converted) => converted,
        Err(reason) => {
            let detail = format!("Inappropriate value for attribute \"{}\": {reason}.", argument.name);
            problems.push(
                Diagnostic::error("Incorrect attribute value type", detail)
                    .at(argument.expression.span().clone()),
            );
            Value::unknown(ty.clone())
        }
    }
}

/// Returns the type to which a configured value is converted. In a nested object, attributes may be
/// omitted unless they are required.
fn conversion_type(attribute: &Attribute) -> Type {
    match &attribute.ty {
        AttributeType::Value(ty) => ty.clone(),
        AttributeType::Nested(object) => nested_type(object),
    }
}

fn nested_type(object: &NestedObject) -> Type {
    let attributes = object.attributes.iter().map(|(name, attribute)| {
        (name.clone(), conversion_type(attribute), !attribute.setting.is_required())
    });
    let element = Type::Object(ObjectType::with_optional(attributes).into());
    match object.nesting {
        ObjectNesting::Single => element,
        ObjectNesting::List => Type::list(element),
        ObjectNesting::Set => Type::set(element),
        ObjectNesting::Map => Type::map(element),
    }
}

/// Reports arguments and blocks that are not in the schema.
fn refuse_unknown(body: &Body, schema: &Block, problems: &mut Diagnostics) {
    let attributes = || schema.attributes.keys().map(|name| &**name);
    let blocks = || schema.block_types.keys().map(|name| &**name);
    refuse_unread(body, "this block", || attributes().chain(blocks()), problems);
    for argument in body.layers().flat_map(|layer| &layer.attributes) {
        if !schema.attributes.contains_key(&*argument.name) {
            problems.push(unsupported_argument(argument, "this block", attributes(), blocks()));
        }
    }
    for block in body.layers().flat_map(|layer| &layer.blocks) {
        let known = |name: &str| {
            schema.block_types.contains_key(name)
                || schema
                    .attributes
                    .get(name)
                    .is_some_and(|attribute| nested::may_be_blocks(attribute).is_some())
        };
        if dynamic::is_dynamic(block, schema) {
            if let Some(label) = block.labels.first()
                && !known(&label.text)
            {
                let mut named = block.clone();
                named.kind = label.text.clone();
                named.kind_span = label.span.clone();
                problems.push(unsupported_block(&named, "this block", blocks(), attributes()));
            }
        } else if !known(&block.kind) {
            problems.push(unsupported_block(block, "this block", blocks(), attributes()));
        }
    }
}

#[cfg(test)]
mod tests;
