//! State stores of plugins as a backend.
//!
//! The plugin is configured when an operation first needs it. The state store keeps the bytes of each
//! state under the name of its workspace. The protocol has no versions, so a write replaces any state;
//! only the lock excludes other processes. A failed write may have taken effect, since the protocol
//! does not distinguish that.

mod storage;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use wardian_plugin::{
    CallContext, PluginDiagnostic, PluginDiagnostics, Reported, StateStore, StateStoreConfig,
    StateStorePlugin, StoreResult,
};
use wardian_state::{LockRequest, StateStorage};

use crate::backend::{Backend, BackendError};
use crate::initial::store_initial_state;
use crate::types::DEFAULT_WORKSPACE;
use storage::StateStoreStorage;

/// Receives the warnings of a state store.
pub type StoreWarnings = Arc<dyn Fn(PluginDiagnostics) + Send + Sync>;

/// The plugin and the configuration of a state store.
pub struct StateStoreOptions {
    pub plugin: Arc<dyn StateStorePlugin>,
    pub config: StateStoreConfig,
    /// The context of all calls. Its sensitive values include those of the configuration.
    pub context: CallContext,
    /// Identifies the configuration in the locations of states. It contains no secret.
    pub identity: String,
    pub warnings: StoreWarnings,
}

/// A backend whose states are in the state store of a plugin.
#[derive(Debug)]
pub struct StateStoreBackend(Arc<Connection>);

/// The connection that all states share.
struct Connection {
    options: StateStoreOptions,
    store: OnceCell<Arc<dyn StateStore>>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StateStore")
            .field("type_name", &self.options.config.type_name)
            .finish_non_exhaustive()
    }
}

impl StateStoreBackend {
    /// Returns the backend. No call is made.
    pub fn new(options: StateStoreOptions) -> Self {
        Self(Arc::new(Connection { options, store: OnceCell::new() }))
    }

    /// Releases the resources of the plugin.
    pub async fn close(&self) {
        if let Some(store) = self.0.store.get() {
            store.close().await;
        }
    }

    fn storage(&self, workspace: &str) -> Arc<dyn StateStorage> {
        Arc::new(StateStoreStorage::new(Arc::clone(&self.0), workspace))
    }
}

impl Connection {
    /// Returns the configured state store.
    async fn store(&self) -> Result<&Arc<dyn StateStore>, PluginDiagnostics> {
        let StateStoreOptions { plugin, config, context, .. } = &self.options;
        let configuring = async || {
            let configured = plugin.configure(context, config.clone()).await;
            self.reported(configured)
        };
        self.store.get_or_try_init(configuring).await
    }

    fn context(&self) -> &CallContext {
        &self.options.context
    }

    /// Shows the warnings of a response, and returns the response. The text of an error is redacted.
    fn reported<T>(&self, response: StoreResult<T>) -> Result<T, PluginDiagnostics> {
        match response {
            Ok(Reported { value, warnings }) => {
                if !warnings.is_empty() {
                    (self.options.warnings)(self.redacted(warnings));
                }
                Ok(value)
            }
            Err(diagnostics) => Err(self.redacted(diagnostics)),
        }
    }

    fn redacted(&self, mut diagnostics: PluginDiagnostics) -> PluginDiagnostics {
        let secrets = self.context().sensitive_values();
        for PluginDiagnostic { summary, detail, .. } in &mut diagnostics {
            secrets.redact_in_place(summary);
            secrets.redact_in_place(detail);
        }
        diagnostics
    }

    fn error(&self, operation: &str, diagnostics: &[PluginDiagnostic]) -> BackendError {
        let name = &self.options.config.type_name;
        BackendError::new(
            "State store cannot be used",
            format!("The state store \"{name}\" failed to {operation}: {}", sentences(diagnostics)),
        )
    }
}

/// Returns the errors of a call as sentences.
fn sentences(diagnostics: &[PluginDiagnostic]) -> String {
    let errors = diagnostics.iter().filter(|one| one.is_error());
    let texts = errors.map(|PluginDiagnostic { summary, detail, .. }| {
        let (summary, detail) = (summary.trim_end_matches('.'), detail.trim_end());
        if detail.is_empty() { format!("{summary}.") } else { format!("{summary}. {detail}") }
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[async_trait]
impl Backend for StateStoreBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(self.storage(workspace))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let listed = async {
            let store = self.0.store().await?;
            self.0.reported(store.states(self.0.context()).await)
        };
        let listed = listed.await.map_err(|problem| self.0.error("list its states", &problem))?;
        let others: BTreeSet<String> = listed.into_iter().filter(|name| name != DEFAULT_WORKSPACE).collect();
        Ok(std::iter::once(DEFAULT_WORKSPACE.to_owned()).chain(others).collect())
    }

    async fn create_workspace(&self, name: &str, lock: Option<&LockRequest>) -> Result<(), BackendError> {
        let version = &self.0.options.config.terraform_version;
        store_initial_state(self.storage(name), lock, version).await.map_err(|problem| {
            BackendError::new("Workspace cannot be created", format!("The workspace \"{name}\": {problem}."))
        })
    }

    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError> {
        let deleted = async {
            let store = self.0.store().await?;
            self.0.reported(store.delete(self.0.context(), name).await)
        };
        deleted.await.map_err(|problem| self.0.error("delete the state", &problem))
    }
}

#[cfg(test)]
mod tests;
