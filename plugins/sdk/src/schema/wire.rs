//! Encodes schemas in the records of the WIT interface. WIT has no recursive types, so blocks and
//! nested objects are stored in flat lists and refer to each other by index.

use super::attribute::Deprecation;
use super::{Attribute, Block, BlockNesting, Nesting, Root, Schema, Shape};
use crate::bindings::wardian::plugin::types as wire;

pub(crate) fn schema_record(schema: &Schema) -> wire::Schema {
    let mut flat = Flat::default();
    flat.block(&schema.root);
    wire::Schema {
        version: schema.version,
        blocks: flat.blocks.into_iter().flatten().collect(),
        objects: flat.objects.into_iter().flatten().collect(),
    }
}

/// A list whose entries are reserved before their contents are built. Therefore, an index always
/// refers to a later entry. Every entry is filled when the list is complete.
#[derive(Default)]
struct Flat {
    blocks: Vec<Option<wire::Block>>,
    objects: Vec<Option<wire::NestedObject>>,
}

impl Flat {
    fn block(&mut self, contents: &Root) -> u32 {
        let place = self.blocks.len();
        self.blocks.push(None);
        let block = wire::Block {
            attributes: contents.attributes.iter().map(|attribute| self.attribute(attribute)).collect(),
            block_types: contents.blocks.iter().map(|block| self.nested_block(block)).collect(),
            description: description(&contents.description),
            deprecation: deprecation(&contents.deprecation),
        };
        self.blocks[place] = Some(block);
        index(place)
    }

    fn nested_block(&mut self, block: &Block) -> wire::NestedBlock {
        let (min_items, max_items) = match block.nesting {
            BlockNesting::Single => (block.min.min(1), block.min.min(1)),
            BlockNesting::Group | BlockNesting::Map => (0, 0),
            BlockNesting::List | BlockNesting::Set => (block.min, block.max),
        };
        wire::NestedBlock {
            type_name: block.name.clone(),
            block: self.block(&block.contents),
            nesting: match block.nesting {
                BlockNesting::Single => wire::BlockNesting::Single,
                BlockNesting::Group => wire::BlockNesting::Group,
                BlockNesting::List => wire::BlockNesting::List,
                BlockNesting::Set => wire::BlockNesting::Set,
                BlockNesting::Map => wire::BlockNesting::Map,
            },
            min_items,
            max_items,
        }
    }

    fn attribute(&mut self, attribute: &Attribute) -> wire::Attribute {
        wire::Attribute {
            name: attribute.name.clone(),
            type_: match &attribute.shape {
                Shape::Value(ty) => wire::AttributeType::Value(ty.to_json()),
                Shape::Nested(nesting, attributes) => {
                    wire::AttributeType::Nested(self.object(*nesting, attributes))
                }
            },
            description: description(&attribute.description),
            required: attribute.required,
            optional: attribute.is_optional(),
            computed: attribute.computed,
            sensitive: attribute.sensitive,
            write_only: attribute.write_only,
            deprecation: deprecation(&attribute.deprecation),
        }
    }

    fn object(&mut self, nesting: Nesting, attributes: &[Attribute]) -> u32 {
        let place = self.objects.len();
        self.objects.push(None);
        let object = wire::NestedObject {
            attributes: attributes.iter().map(|attribute| self.attribute(attribute)).collect(),
            nesting: match nesting {
                Nesting::Single => wire::ObjectNesting::Single,
                Nesting::List => wire::ObjectNesting::List,
                Nesting::Set => wire::ObjectNesting::Set,
                Nesting::Map => wire::ObjectNesting::Map,
            },
        };
        self.objects[place] = Some(object);
        index(place)
    }
}

/// Converts an index. A schema with 2^32 blocks would not fit into memory.
fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

pub(crate) fn description(text: &str) -> wire::Description {
    let kind = if text.is_empty() { wire::StringKind::Plain } else { wire::StringKind::Markdown };
    wire::Description { text: text.to_owned(), kind }
}

pub(crate) fn deprecation(deprecation: &Deprecation) -> wire::Deprecation {
    match deprecation {
        Deprecation::None => wire::Deprecation::None,
        Deprecation::Message(text) if text.is_empty() => wire::Deprecation::Deprecated,
        Deprecation::Message(text) => wire::Deprecation::Message(text.clone()),
    }
}
