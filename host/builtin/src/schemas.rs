//! Builds the built-in provider's schema.

use std::sync::{Arc, LazyLock};

use wardian_plugin::{
    Attribute, AttributeType, Block, Deprecation, Description, ProviderSchema, Schema, SchemaTable,
    ServerCapabilities, Setting,
};
use wardian_value::{Str, Type};

use crate::{data_resource, functions, remote_state};

/// Returns the complete schema, which is built once.
pub(crate) fn provider_schema() -> Arc<ProviderSchema> {
    static SCHEMA: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| {
        Arc::new(ProviderSchema {
            capabilities: ServerCapabilities { move_resource_state: true, ..ServerCapabilities::default() },
            resources: SchemaTable::from([(Str::new(data_resource::TYPE_NAME), data_resource::schema())]),
            data_sources: SchemaTable::from([(Str::new(remote_state::TYPE_NAME), remote_state::schema())]),
            functions: functions::signatures(),
            ..ProviderSchema::default()
        })
    });
    Arc::clone(&SCHEMA)
}

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
