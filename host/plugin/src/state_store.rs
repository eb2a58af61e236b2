//! The traits for the calls of state stores: services of a provider in which states are stored.
//!
//! A provider with state stores is a [`StateStorePlugin`]. Configuring it with a [`StateStoreConfig`]
//! returns a [`StateStore`], so a state cannot be read before the provider and its state store are
//! configured. Errors are diagnostics that name the plugin and the call, as for all other calls.

mod assembly;
mod chunks;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use wardian_value::{Str, Value};

use crate::call_context::CallContext;
use crate::diagnostic::{PluginDiagnostic, PluginDiagnostics, has_errors};
use crate::schema::ProviderSchema;
use crate::schema_table::SchemaTable;

pub use assembly::StateAssembly;
pub use chunks::{StateChunk, state_chunks};

/// The size of a chunk that the host proposes, in bytes.
pub const PROPOSED_CHUNK_BYTES: u64 = 8 << 20;

/// Maximum size of a state in a state store, in bytes.
pub const MAX_STORED_STATE_BYTES: u64 = 1 << 30;

/// Maximum number of states that a state store may list.
pub const MAX_LISTED_STATES: usize = 100_000;

/// A provider's state stores, before one of them is configured.
#[async_trait]
pub trait StateStorePlugin: Send + Sync {
    /// Returns the provider's schema, and the schemas of its state stores, which are empty if the
    /// provider has none.
    async fn schemas(&self, context: &CallContext) -> Result<StateStoreSchemas, PluginDiagnostics>;

    /// Validates the configurations of the provider and of the state store.
    async fn validate(&self, context: &CallContext, config: &StateStoreConfig) -> PluginDiagnostics;

    /// Configures the provider and the state store.
    async fn configure(
        &self,
        context: &CallContext,
        config: StateStoreConfig,
    ) -> Result<Reported<Arc<dyn StateStore>>, PluginDiagnostics>;
}

/// A configured state store. Calls may be made concurrently. Dropping a call cancels it.
#[async_trait]
pub trait StateStore: Send + Sync {
    /// Reads a state; empty if it does not exist.
    async fn read(&self, context: &CallContext, state_id: &str) -> StoreResult<Vec<u8>>;

    /// Replaces a state, whose bytes are the concatenation of the parts.
    async fn write(&self, context: &CallContext, state_id: &str, parts: &[Bytes]) -> StoreResult<()>;

    /// Attempts to lock a state once.
    async fn lock(
        &self,
        context: &CallContext,
        state_id: &str,
        request: StateLockInfo,
    ) -> StoreResult<LockOutcome>;

    /// Releases a lock, which another client may hold.
    async fn unlock(
        &self,
        context: &CallContext,
        state_id: &str,
        lock_id: &str,
    ) -> StoreResult<UnlockOutcome>;

    /// Returns the names of the states.
    async fn states(&self, context: &CallContext) -> StoreResult<Vec<String>>;

    /// Deletes a state.
    async fn delete(&self, context: &CallContext, state_id: &str) -> StoreResult<()>;

    /// Releases the resources of the state store. Later calls fail.
    async fn close(&self);
}

/// The response to a successful call, or the diagnostics of a failed call.
pub type StoreResult<T> = Result<Reported<T>, PluginDiagnostics>;

/// A response with the plugin's warnings.
#[derive(Clone, Debug)]
pub struct Reported<T> {
    /// The response.
    pub value: T,
    /// Warnings. There are no errors.
    pub warnings: PluginDiagnostics,
}

impl<T> Reported<T> {
    /// Returns the response, or the diagnostics if they contain an error.
    ///
    /// # Errors
    /// Returns the diagnostics if they contain an error.
    pub fn from_diagnostics(value: T, diagnostics: PluginDiagnostics) -> StoreResult<T> {
        if has_errors(&diagnostics) { Err(diagnostics) } else { Ok(Self { value, warnings: diagnostics }) }
    }
}

/// The schemas of a provider with state stores.
#[derive(Clone)]
pub struct StateStoreSchemas {
    /// The provider's schema.
    pub provider: Arc<ProviderSchema>,
    /// The schemas of state stores by type.
    pub stores: SchemaTable,
}

/// The configurations of a provider and its state store. Values have the types that the schemas imply.
#[derive(Clone, Debug)]
pub struct StateStoreConfig {
    /// The Terraform version with which the host is compatible.
    pub terraform_version: Str,
    /// The provider's configuration.
    pub provider: Value,
    /// The type of the state store.
    pub type_name: Str,
    /// The configuration of the state store.
    pub store: Value,
}

/// The holder of a lock. Members that the state store does not report are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateLockInfo {
    /// The ID with which the lock can be released.
    pub id: String,
    /// The operation that holds the lock.
    pub operation: String,
    /// Free text.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The version of the program that holds the lock.
    pub version: String,
    /// The time of the lock.
    pub created: String,
}

/// The result of an attempt to lock a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockOutcome {
    /// The state is locked, with this ID.
    Locked(String),
    /// Another client holds the lock.
    Held(Option<StateLockInfo>),
    /// The state store has no locks.
    Unsupported,
}

/// The result of releasing a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnlockOutcome {
    /// The lock is released.
    Unlocked,
    /// There is no lock with the ID. Contains the lock that is held instead.
    OtherLock(Option<StateLockInfo>),
}

/// Checks the chunk size that a state store has chosen.
///
/// # Errors
/// Returns a description of the problem if it is outside the proposed range.
pub fn check_chunk_size(chosen: u64) -> Result<u64, String> {
    if (1..=PROPOSED_CHUNK_BYTES).contains(&chosen) {
        return Ok(chosen);
    }
    Err(format!(
        "the state store chose chunks of {chosen} bytes, but a chunk has between 1 and {PROPOSED_CHUNK_BYTES} \
         bytes"
    ))
}

/// Returns the error for a provider without state stores.
pub fn no_state_stores(plugin: &str) -> PluginDiagnostics {
    let detail = format!(
        "{plugin} has no state stores. Use a version of the provider that has the state store, or a `backend` \
         block."
    );
    vec![PluginDiagnostic::error("Provider without state stores", detail)]
}
