//! The provisioner's calls.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_value::Value;

use crate::diagnostic::PluginDiagnostics;
use crate::schema::Schema;

/// A provisioner: work on an object that was just created, or is about to go.
#[async_trait]
pub trait Provisioner: Send + Sync {
    /// The schema of its configuration.
    async fn schema(&self) -> Result<Arc<Schema>, PluginDiagnostics>;

    /// Checks a configuration, which may hold unknown values.
    async fn validate_config(&self, config: Value) -> PluginDiagnostics;

    /// Does the work, telling `output` what it shows meanwhile.
    async fn provision(
        &self,
        config: Value,
        connection: Value,
        output: &mut (dyn FnMut(String) + Send),
    ) -> PluginDiagnostics;

    /// Asks for an orderly end of what is in flight.
    async fn stop(&self) -> Result<(), String>;
}
