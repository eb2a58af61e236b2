//! Finds the secret strings in the values that a plugin received.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_value::{Mapping, Marks, Path, Str, Value, View, json};

use super::encodings::MIN_PART_LENGTH;
use crate::raw_state::RawState;
use crate::schema::{
    Attribute, AttributeType, Block, BlockNesting, NestedObject, ObjectNesting, ProviderSchema, Schema,
};

/// A value that a plugin received.
#[derive(Clone)]
pub(super) enum SecretSource {
    /// A value in which the marked values are secret.
    Marked(Value),
    /// A value that is secret as a whole.
    All(Value),
    /// An object whose schema declares which attributes are secret.
    Object(Value, Arc<Schema>),
    /// A provider's configuration, whose schema declares which attributes are secret.
    Configuration(Value, Arc<ProviderSchema>),
    /// A stored object.
    Stored(RawState, Arc<Schema>),
    /// A stored object in which the values at these paths are secret.
    Parts(Arc<str>, Box<[Path]>),
}

type Tell<'a> = dyn FnMut(&str) + 'a;

impl SecretSource {
    /// Returns whether the source can contain a secret.
    pub(super) fn may_be_secret(&self) -> bool {
        match self {
            Self::Marked(_) | Self::All(_) | Self::Parts(..) => true,
            Self::Object(_, schema) | Self::Stored(_, schema) => schema.has_secret(),
            Self::Configuration(_, schema) => schema.provider.block.has_secret(),
        }
    }

    /// Passes each secret string to `tell`.
    pub(super) fn each_string(&self, tell: &mut Tell<'_>) {
        match self {
            Self::Marked(value) => marked(value, tell),
            Self::All(value) => all(value, tell),
            Self::Object(value, schema) => by_block(&schema.block, value, tell),
            Self::Configuration(value, schema) => by_block(&schema.provider.block, value, tell),
            Self::Stored(RawState::Json(text), schema) => {
                // An object that is not JSON is not passed to the plugin.
                if let Ok(value) = json::decode_simple(&**text) {
                    by_block(&schema.block, &value, tell);
                }
            }
            Self::Parts(text, parts) => {
                // As above, text that is not JSON is not passed to the plugin.
                if let Ok(value) = json::decode_simple(&**text) {
                    parts.iter().filter_map(|part| part.apply(&value)).for_each(|part| all(part, tell));
                }
            }
            Self::Stored(RawState::Flatmap(flat), schema) => {
                for (key, text) in &**flat {
                    if is_secret_in_flat(&schema.block, key) {
                        tell(text);
                    }
                }
            }
        }
    }
}

fn is_secret(marks: Marks) -> bool {
    marks.is_sensitive() || marks.is_ephemeral()
}

fn marked(value: &Value, tell: &mut Tell<'_>) {
    let mut parts = vec![value];
    while let Some(part) = parts.pop() {
        if is_secret(part.marks()) {
            all(part, tell);
        } else if !part.inside_marks().is_empty() {
            push_parts(part, &mut parts);
        }
    }
}

fn all(value: &Value, tell: &mut Tell<'_>) {
    let mut parts = vec![value];
    while let Some(part) = parts.pop() {
        match part.view() {
            View::String(text) => tell(text),
            View::Number(number) => {
                let text = number.to_string();
                if text.len() >= MIN_PART_LENGTH {
                    tell(&text);
                }
            }
            _ => push_parts(part, &mut parts),
        }
    }
}

fn push_parts<'value>(value: &'value Value, parts: &mut Vec<&'value Value>) {
    if let Some(elements) = value.as_elements() {
        parts.extend(elements);
    } else if let Some(elements) = value.as_mapping() {
        parts.extend(elements.values());
    }
}

/// The collection that contains nested objects, if they are in a collection.
#[derive(Clone, Copy)]
enum Many {
    One,
    Elements,
    Values,
}

fn by_block(block: &Block, value: &Value, tell: &mut Tell<'_>) {
    by_attributes(&block.attributes, value, tell);
    let Some(parts) = value.as_mapping() else { return };
    for (name, nested) in &block.block_types {
        let Some(part) = parts.get(name) else { continue };
        let many = match nested.nesting {
            BlockNesting::Single | BlockNesting::Group => Many::One,
            BlockNesting::List | BlockNesting::Set => Many::Elements,
            BlockNesting::Map => Many::Values,
        };
        each_object(part, many, &mut |object| by_block(&nested.block, object, tell));
    }
}

fn by_attributes(attributes: &BTreeMap<Str, Attribute>, value: &Value, tell: &mut Tell<'_>) {
    let Some(parts) = value.as_mapping() else { return };
    for (name, attribute) in attributes {
        let Some(part) = parts.get(name) else { continue };
        if attribute.sensitive || attribute.write_only {
            all(part, tell);
        } else if let AttributeType::Nested(object) = &attribute.ty {
            by_object(object, part, tell);
        }
    }
}

fn by_object(object: &NestedObject, value: &Value, tell: &mut Tell<'_>) {
    let many = match object.nesting {
        ObjectNesting::Single => Many::One,
        ObjectNesting::List | ObjectNesting::Set => Many::Elements,
        ObjectNesting::Map => Many::Values,
    };
    each_object(value, many, &mut |element| by_attributes(&object.attributes, element, tell));
}

fn each_object(value: &Value, many: Many, visit: &mut dyn FnMut(&Value)) {
    match many {
        Many::One => visit(value),
        Many::Elements => value.as_elements().unwrap_or_default().iter().for_each(visit),
        Many::Values => value.as_mapping().into_iter().flat_map(Mapping::values).for_each(visit),
    }
}

/// Whether `key`, such as `disk.0.secret`, refers to a secret.
fn is_secret_in_flat(block: &Block, key: &str) -> bool {
    let mut block = block;
    let mut names = key.split('.');
    while let Some(name) = names.next() {
        if let Some(attribute) = block.attributes.get(name) {
            return attribute.sensitive || attribute.write_only;
        }
        let Some(nested) = block.block_types.get(name) else { return false };
        block = &nested.block;
        // The index or key is skipped.
        names.next();
    }
    false
}
