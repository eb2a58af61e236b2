//! The locks that this process holds in storages on other machines. Nothing releases them if the
//! process ends without doing so.

use std::sync::{Arc, Mutex, PoisonError};

use crate::lock::LockError;
use crate::storage::StateStorage;

static HELD: Mutex<Vec<Arc<dyn StateStorage>>> = Mutex::new(Vec::new());

pub(crate) fn add(storage: &Arc<dyn StateStorage>) {
    if storage.path().is_none() {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(storage));
    }
}

pub(crate) fn remove(storage: &Arc<dyn StateStorage>) {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).retain(|held| !Arc::ptr_eq(held, storage));
}

/// Releases all locks that this process still holds in storages on other machines. To be called
/// before the process ends. Returns the error of each lock that may still be held.
pub async fn release_locks() -> Vec<LockError> {
    let held = std::mem::take(&mut *HELD.lock().unwrap_or_else(PoisonError::into_inner));
    let mut errors = Vec::new();
    for storage in held {
        errors.extend(storage.unlock().await.err());
    }
    errors
}
