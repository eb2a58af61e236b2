//! One state in a state store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use wardian_plugin::{LockOutcome, MAX_STORED_STATE_BYTES, PluginDiagnostic, StateLockInfo, UnlockOutcome};
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::{Connection, sentences};

#[derive(Debug)]
pub(super) struct StateStoreStorage {
    connection: Arc<Connection>,
    workspace: String,
    /// The ID of the lock that this value holds.
    held: Mutex<Option<String>>,
    /// Whether the state store has reported that it has no locks.
    is_without_locks: AtomicBool,
}

impl StateStoreStorage {
    pub(super) fn new(connection: Arc<Connection>, workspace: &str) -> Self {
        Self {
            connection,
            workspace: workspace.to_owned(),
            held: Mutex::default(),
            is_without_locks: AtomicBool::new(false),
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(operation: &str, diagnostics: &[PluginDiagnostic]) -> StorageError {
        let reason = sentences(diagnostics);
        StorageError::new(format!("failed to {operation}: {}", reason.trim_end_matches('.')))
    }

    fn lock_failed(&self, operation: &str, diagnostics: &[PluginDiagnostic]) -> LockError {
        LockError::Storage { location: self.location(), error: Self::failed(operation, diagnostics) }
    }

    fn holder(&self, info: Option<StateLockInfo>) -> Option<Box<LockInfo>> {
        let StateLockInfo { id, operation, info, who, version, created } = info?;
        let path = self.workspace.clone();
        Some(Box::new(LockInfo { id, operation, info, who, version, created, path }))
    }

    async fn release(&self, id: &str) -> Result<(), LockError> {
        const OPERATION: &str = "release the lock";
        let connection = &self.connection;
        let store = connection.store().await.map_err(|problem| self.lock_failed(OPERATION, &problem))?;
        let released = store.unlock(connection.context(), &self.workspace, id).await;
        match connection.reported(released).map_err(|problem| self.lock_failed(OPERATION, &problem))? {
            UnlockOutcome::Unlocked => Ok(()),
            UnlockOutcome::OtherLock(found) => Err(LockError::OtherLock {
                location: self.location(),
                id: id.to_owned(),
                found: self.holder(found),
            }),
        }
    }
}

#[async_trait]
impl StateStorage for StateStoreStorage {
    fn location(&self) -> String {
        let options = &self.connection.options;
        format!(
            "\"{}\" in the state store \"{}\" ({})",
            self.workspace, options.config.type_name, options.identity
        )
    }

    fn has_locks(&self) -> bool {
        !self.is_without_locks.load(Ordering::Relaxed)
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        const OPERATION: &str = "read the state";
        let connection = &self.connection;
        let read = async {
            let store = connection.store().await?;
            connection.reported(store.read(connection.context(), &self.workspace).await)
        };
        let bytes = read.await.map_err(|problem| Self::failed(OPERATION, &problem).at(self.location()))?;
        let version = if bytes.is_empty() { StorageVersion::Absent } else { StorageVersion::Unknown };
        Ok(StoredState { bytes, version })
    }

    async fn write(
        &self,
        content: &StateContent,
        _expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        const OPERATION: &str = "write the state";
        let length = content.len() as u64;
        if length > MAX_STORED_STATE_BYTES {
            let error = StorageError::new(format!(
                "failed to {OPERATION}: it has {length} bytes, but a state in a state store has at most \
                 {MAX_STORED_STATE_BYTES} bytes"
            ));
            let advice = "divide the configuration, or use a backend without this limit";
            return Err(error.with_advice(advice).at(self.location()));
        }
        let connection = &self.connection;
        let store = connection
            .store()
            .await
            .map_err(|problem| Self::failed(OPERATION, &problem).at(self.location()))?;
        let written = store.write(connection.context(), &self.workspace, content.parts()).await;
        connection.reported(written).map_err(|problem| {
            Self::failed(OPERATION, &problem).with_effect(StorageEffect::Unknown).at(self.location())
        })?;
        Ok(StorageVersion::Unknown)
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        const OPERATION: &str = "lock the state";
        let connection = &self.connection;
        let mut info = LockInfo::new(request, &*self.workspace);
        let wanted = StateLockInfo {
            id: info.id.clone(),
            operation: info.operation.clone(),
            info: info.info.clone(),
            who: info.who.clone(),
            version: info.version.clone(),
            created: info.created.clone(),
        };
        let store = connection.store().await.map_err(|problem| self.lock_failed(OPERATION, &problem))?;
        let outcome = store.lock(connection.context(), &self.workspace, wanted).await;
        match connection.reported(outcome).map_err(|problem| self.lock_failed(OPERATION, &problem))? {
            LockOutcome::Locked(id) => {
                *self.held() = Some(id.clone());
                info.id = id;
                Ok(info)
            }
            LockOutcome::Held(holder) => Err(LockError::Held {
                location: self.location(),
                holder: self.holder(holder),
                ends_with_process: false,
            }),
            LockOutcome::Unsupported => {
                self.is_without_locks.store(true, Ordering::Relaxed);
                Ok(info)
            }
        }
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let Some(id) = self.held().clone() else { return Ok(()) };
        self.release(&id).await?;
        *self.held() = None;
        Ok(())
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        self.release(id).await
    }
}
