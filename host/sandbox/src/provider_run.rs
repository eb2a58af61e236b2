//! The data that the instances of one provider configuration share during a run.

use std::sync::Arc;

use tokio::sync::OnceCell;
use wardian_plugin::transport::DecodedSchema;

use crate::capability::{Interrupter, SharedMemory};

/// The schema of a plugin, once it is known.
pub(crate) type KnownSchema = Arc<OnceCell<Arc<DecodedSchema>>>;

#[derive(Default)]
pub(crate) struct ProviderRun {
    /// Interrupts the calls of all instances.
    pub(crate) interrupter: Interrupter,
    /// The memory that all instances can access.
    pub(crate) shared: Arc<SharedMemory>,
    schema: KnownSchema,
}

impl ProviderRun {
    pub(crate) fn new(schema: &KnownSchema) -> Self {
        Self { schema: Arc::clone(schema), ..Self::default() }
    }

    /// Returns the schema of the provider, if it is known.
    pub(crate) fn schema(&self) -> Option<Arc<DecodedSchema>> {
        self.schema.get().cloned()
    }
}
