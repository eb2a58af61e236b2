//! Builds the attributes of a schema.

use std::sync::Arc;

use wardian_plugin::{Attribute, AttributeType, Block, Deprecation, Description, Schema, Setting};
use wardian_value::{Str, Type};

/// Builds the schema of a block of attributes.
pub(crate) fn schema_of(attributes: impl IntoIterator<Item = (&'static str, Attribute)>) -> Arc<Schema> {
    let attributes = attributes.into_iter().map(|(name, attribute)| (Str::new(name), attribute)).collect();
    Arc::new(Schema::new(0, Block { attributes, ..Block::default() }))
}

/// Builds an attribute without a description.
pub(crate) fn attribute(ty: Type, setting: Setting) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        setting,
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}
