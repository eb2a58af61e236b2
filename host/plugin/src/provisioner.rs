//! The provisioner's calls.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_value::Value;

use crate::diagnostic::PluginDiagnostics;
use crate::schema::Schema;

/// A provisioner: work on an object that was just created, or is about to go.
///
/// Values are against the schema's implied type and bear no marks. All calls may be made
/// concurrently; one that is dropped is given up, with all that it started. What a
/// provisioner may touch is not said here: whoever carries the calls out decides that for
/// each call, and hands over no more.
#[async_trait]
pub trait Provisioner: Send + Sync {
    /// The schema of its configuration.
    async fn schema(&self) -> Result<Arc<Schema>, PluginDiagnostics>;

    /// Checks a configuration, which may hold unknown values.
    async fn validate_config(&self, config: Value) -> PluginDiagnostics;

    /// Does the work, telling `output` what it shows meanwhile.
    async fn provision(
        &self,
        request: ProvisionRequest,
        output: &mut ProvisionOutput<'_>,
    ) -> PluginDiagnostics;

    /// Asks for an orderly end of what is in flight; calls still answer. The error says
    /// why it could not be asked for.
    async fn stop(&self) -> Result<(), String>;
}

/// Hears what a provisioner shows: a line or several, each with or without its break.
pub type ProvisionOutput<'a> = dyn FnMut(&str) + Send + 'a;

/// See [`Provisioner::provision`].
#[derive(Clone, Debug)]
pub struct ProvisionRequest {
    /// Wholly known.
    pub config: Value,
    /// How the object is reached: what its connection blocks say, wholly known; null where
    /// there are none.
    pub connection: Value,
}
