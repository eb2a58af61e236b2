//! The initial state of a workspace, for backends in which a workspace exists only with a state.

use std::sync::Arc;

use wardian_state::{LockRequest, StateContent, StateStorage};

/// Stores an empty state, under the lock if it is requested. An existing state is preserved.
///
/// # Errors
/// Returns a description of the problem if the state cannot be locked or written.
pub(crate) async fn store_initial_state(
    storage: Arc<dyn StateStorage>,
    lock: Option<&LockRequest>,
    terraform_version: &str,
) -> Result<(), String> {
    if let Some(request) = lock {
        storage.lock(request).await.map_err(|error| error.to_string())?;
    }
    let stored = async {
        let before = storage.read().await.map_err(|error| error.to_string())?;
        if !before.bytes.is_empty() {
            return Ok(());
        }
        let content = StateContent::new_state(terraform_version).map_err(|error| error.to_string())?;
        storage.write(&content, &before.version).await.map(drop).map_err(|error| error.to_string())
    };
    let stored = stored.await;
    let unlocked = match lock {
        Some(_) => storage.unlock().await.map_err(|error| error.to_string()),
        None => Ok(()),
    };
    stored.and(unlocked)
}
