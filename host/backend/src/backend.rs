//! The traits that a backend implements.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_plugin::Block;
use wardian_state::{LockRequest, StateStorage};

use crate::config::BackendConfig;
use crate::host::BackendHost;
use crate::local::LocalBackend;
use crate::types::DEFAULT_WORKSPACE;

/// A kind of backend, such as `http`.
pub trait BackendType: fmt::Debug + Sync {
    fn name(&self) -> &'static str;

    /// Returns the schema of the `backend` block.
    fn schema(&self) -> &'static Block;

    /// Whether the backend finds its service with [`ServiceHosts`](crate::ServiceHosts).
    fn needs_service_hosts(&self) -> bool {
        false
    }

    /// Returns the backend for a configuration that matches the schema. No request is sent.
    ///
    /// # Errors
    /// Returns an error if an argument is missing or has an invalid value.
    fn configure(&self, config: &BackendConfig, host: &BackendHost)
    -> Result<Arc<dyn Backend>, BackendError>;
}

/// A configured backend.
#[async_trait]
pub trait Backend: fmt::Debug + Send + Sync {
    /// Returns the storage of a workspace's state. No request is sent.
    ///
    /// # Errors
    /// Returns an error if the backend does not support the workspace.
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError>;

    /// Whether the backend stores several states.
    fn has_workspaces(&self) -> bool {
        true
    }

    /// Returns the workspace that a directory uses in which none is selected; [`None`] if there is no
    /// such workspace.
    fn default_workspace(&self) -> Option<&str> {
        Some(DEFAULT_WORKSPACE)
    }

    /// Returns the names of all workspaces: the default workspace if there is one, then the others in
    /// alphabetical order.
    ///
    /// # Errors
    /// Returns an error if the workspaces cannot be listed.
    async fn workspaces(&self) -> Result<Vec<String>, BackendError>;

    /// Creates a workspace that does not exist. If that requires a write, it is made under the lock.
    ///
    /// # Errors
    /// Returns an error if the workspace cannot be created.
    async fn create_workspace(&self, name: &str, lock: Option<&LockRequest>) -> Result<(), BackendError>;

    /// Deletes a workspace with its state.
    ///
    /// # Errors
    /// Returns an error if the workspace cannot be deleted.
    async fn delete_workspace(&self, name: &str) -> Result<(), BackendError>;

    /// Returns the backend that stores states in local files.
    fn as_local(&self) -> Option<&LocalBackend> {
        None
    }
}

/// A backend that cannot be configured, or a failed request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{summary}: {detail}")]
pub struct BackendError {
    pub summary: String,
    /// The reason and a suggestion, as sentences.
    pub detail: String,
    /// The argument that has to be changed.
    pub argument: Option<&'static str>,
}

impl BackendError {
    pub fn new(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { summary: summary.into(), detail: detail.into(), argument: None }
    }

    /// Returns the error for an argument.
    pub fn for_argument(
        argument: &'static str,
        summary: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self { summary: summary.into(), detail: detail.into(), argument: Some(argument) }
    }

    /// Returns the error for a required argument that is set neither in the block nor in the
    /// environment.
    pub(crate) fn missing(argument: &'static str, backend: &str, variables: &[&str]) -> Self {
        let variable = match variables {
            [] => String::new(),
            variables => format!(", or the environment variable {}", variables.join(" or ")),
        };
        Self::for_argument(
            argument,
            "Missing required argument",
            format!(
                "The backend \"{backend}\" requires the argument \"{argument}\". Set it in the backend block or \
                 with -backend-config{variable}."
            ),
        )
    }

    /// Returns the error for a backend that stores only one state.
    pub(crate) fn no_workspaces(backend: &str) -> Self {
        Self::new(
            "Workspaces not supported",
            format!(
                "The backend \"{backend}\" stores one state and does not support workspaces other than \
                 \"default\". Give each state a separate configuration of the backend, for example with \
                 -backend-config."
            ),
        )
    }
}
