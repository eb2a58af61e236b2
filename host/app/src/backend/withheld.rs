//! A backend of an untrusted configuration, which is not opened.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_backend::{Backend, BackendError, DEFAULT_WORKSPACE};
use wardian_diagnostic::Diagnostic;
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageError, StorageVersion,
    StoredState,
};

use crate::context::AppContext;

/// Returns a backend without states, and warns about it.
pub(super) fn backend(context: &AppContext, type_name: &str, reason: &str) -> Arc<dyn Backend> {
    let detail = format!(
        "The configuration stores its state in the backend \"{type_name}\". With -untrusted, a backend is opened \
         only if the organisation's policy names it, because the configuration determines the server to which your \
         credentials would be sent: {reason}. The command works without a state: a plan shows every object as new."
    );
    context.warn_once("untrusted-backend", &Diagnostic::warning("State not read", detail));
    Arc::new(WithheldBackend { type_name: Arc::from(type_name) })
}

#[derive(Debug)]
struct WithheldBackend {
    type_name: Arc<str>,
}

#[derive(Debug)]
struct WithheldStorage {
    type_name: Arc<str>,
}

impl WithheldBackend {
    fn refused(&self) -> BackendError {
        BackendError::new(
            "Backend not permitted",
            format!("With -untrusted, the backend \"{}\" is not opened.", self.type_name),
        )
    }
}

#[async_trait]
impl Backend for WithheldBackend {
    fn state(&self, _workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        Ok(Arc::new(WithheldStorage { type_name: Arc::clone(&self.type_name) }))
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        Ok(vec![DEFAULT_WORKSPACE.to_owned()])
    }

    async fn create_workspace(&self, _name: &str, _lock: Option<&LockRequest>) -> Result<(), BackendError> {
        Err(self.refused())
    }

    async fn delete_workspace(&self, _name: &str) -> Result<(), BackendError> {
        Err(self.refused())
    }
}

#[async_trait]
impl StateStorage for WithheldStorage {
    fn location(&self) -> String {
        format!("in the backend \"{}\"", self.type_name)
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        Ok(StoredState { bytes: Vec::new(), version: StorageVersion::Absent })
    }

    async fn write(
        &self,
        _content: &StateContent,
        _expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        Err(StorageError::new("with -untrusted, the backend is not opened").at(self.location()))
    }

    /// Locks nothing: the state is neither read nor written.
    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        Ok(LockInfo::new(request, ""))
    }

    async fn unlock(&self) -> Result<(), LockError> {
        Ok(())
    }

    async fn force_unlock(&self, _id: &str) -> Result<(), LockError> {
        let reason = "with -untrusted, the backend is not opened".to_owned();
        Err(LockError::Unsupported { location: self.location(), reason })
    }
}
