//! A backend whose states can only be read. It sends no request that locks or changes anything.

use std::sync::Arc;

use async_trait::async_trait;
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageError, StorageVersion,
    StoredState,
};

use crate::backend::{Backend, BackendError};

/// Makes another backend read-only. The other backend must have been configured with
/// [`BackendAccess::ReadOnly`](crate::BackendAccess::ReadOnly).
#[derive(Debug)]
pub struct ReadOnlyBackend {
    inner: Arc<dyn Backend>,
    /// The reason why nothing may be changed: a clause.
    reason: &'static str,
}

#[derive(Debug)]
struct ReadOnlyStorage {
    inner: Arc<dyn StateStorage>,
    reason: &'static str,
}

impl ReadOnlyBackend {
    pub fn new(inner: Arc<dyn Backend>, reason: &'static str) -> Self {
        Self { inner, reason }
    }

    fn refused(&self) -> BackendError {
        BackendError::new("Backend is read-only", format!("The backend is not changed: {}.", self.reason))
    }
}

#[async_trait]
impl Backend for ReadOnlyBackend {
    fn state(&self, workspace: &str) -> Result<Arc<dyn StateStorage>, BackendError> {
        let inner = self.inner.state(workspace)?;
        Ok(Arc::new(ReadOnlyStorage { inner, reason: self.reason }))
    }

    fn has_workspaces(&self) -> bool {
        self.inner.has_workspaces()
    }

    fn default_workspace(&self) -> Option<&str> {
        self.inner.default_workspace()
    }

    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        self.inner.workspaces().await
    }

    async fn create_workspace(&self, _name: &str, _lock: Option<&LockRequest>) -> Result<(), BackendError> {
        Err(self.refused())
    }

    async fn delete_workspace(&self, _name: &str) -> Result<(), BackendError> {
        Err(self.refused())
    }
}

#[async_trait]
impl StateStorage for ReadOnlyStorage {
    fn location(&self) -> String {
        self.inner.location()
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        self.inner.read().await
    }

    async fn prepare_write(&self, _backup: Option<&[u8]>) -> Result<(), StateError> {
        Err(StorageError::new(self.reason).at(self.location()))
    }

    async fn write(
        &self,
        _content: &StateContent,
        _expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        Err(StorageError::new(self.reason).at(self.location()))
    }

    /// Locks nothing, because nothing is written.
    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        Ok(LockInfo::new(request, ""))
    }

    async fn unlock(&self) -> Result<(), LockError> {
        Ok(())
    }

    async fn force_unlock(&self, _id: &str) -> Result<(), LockError> {
        Err(LockError::Unsupported { location: self.location(), reason: self.reason.to_owned() })
    }
}
