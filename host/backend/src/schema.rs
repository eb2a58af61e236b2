//! Builds the schemas of backends.

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, NestedBlock, Setting,
};
use wardian_value::{Str, Type};

/// Returns the schema of a block with optional attributes. Whether an argument is required is checked
/// when the backend is configured, because `-backend-config` and environment variables can set it.
pub(crate) fn block<const N: usize>(attributes: [(&'static str, AttributeType); N]) -> Block {
    let attributes = attributes.into_iter().map(|(name, ty)| (Str::new(name), attribute(ty))).collect();
    Block { attributes, ..Block::default() }
}

/// Adds a nested block of which there can be one.
pub(crate) fn with_block(
    mut block: Block,
    name: &'static str,
    nested: Block,
    nesting: BlockNesting,
) -> Block {
    let nested = NestedBlock { block: nested, nesting, min_items: 0, max_items: 1 };
    block.block_types.insert(Str::new(name), nested);
    block
}

pub(crate) fn text() -> AttributeType {
    AttributeType::Value(Type::String)
}

pub(crate) fn flag() -> AttributeType {
    AttributeType::Value(Type::Bool)
}

pub(crate) fn number() -> AttributeType {
    AttributeType::Value(Type::Number)
}

pub(crate) fn attribute(ty: AttributeType) -> Attribute {
    Attribute {
        ty,
        description: Description::default(),
        setting: Setting::Optional,
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}
