//! Builds the built-in provider's schema.

use std::sync::{Arc, LazyLock};

use wardian_plugin::{ProviderSchema, SchemaTable, ServerCapabilities};
use wardian_value::Str;

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
