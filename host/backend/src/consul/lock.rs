//! The lock of a state: a key that a session holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use wardian_state::{LockInfo, LockRequest, StorageEffect, StorageError};

use super::client::{ConsulClient, Transaction};

/// The flags of a key that is a lock. Terraform refuses a lock with other flags.
const LOCK_FLAGS: u64 = 0x2ddc_cbc0_58a5_0c18;
const TTL: Duration = Duration::from_secs(15);
const TTL_TEXT: &str = "15s";
/// How long Consul refuses the lock to others after its session has ended without releasing it.
const DELAY_TEXT: &str = "5000ms";

/// The keys of a lock.
#[derive(Clone, Debug)]
pub(super) struct LockKeys {
    pub(super) lock: String,
    pub(super) info: String,
}

/// A lock that this process holds. Its session is renewed until this value is dropped.
#[derive(Debug)]
pub(super) struct HeldLock {
    pub(super) info: LockInfo,
    is_lost: Arc<AtomicBool>,
    renewal: JoinHandle<()>,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

impl HeldLock {
    pub(super) fn session(&self) -> &str {
        &self.info.id
    }

    /// Whether the session is known to have ended.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

/// The result of an attempt to lock.
pub(super) enum Attempt {
    Acquired(HeldLock),
    Held(Option<LockInfo>),
}

impl LockKeys {
    pub(super) fn new(key: &str) -> Self {
        let base = key.trim_end_matches('/');
        Self { lock: format!("{base}/.lock"), info: format!("{base}/.lockinfo") }
    }

    /// Attempts to lock once.
    pub(super) async fn acquire(
        &self,
        client: &Arc<ConsulClient>,
        request: &LockRequest,
        path: &str,
    ) -> Result<Attempt, StorageError> {
        let session = client.create_session(TTL_TEXT, DELAY_TEXT).await?;
        let acquired = self.acquire_in(client, request, path, &session).await;
        if !matches!(acquired, Ok(Attempt::Acquired(_))) {
            // This also releases the lock if the response to the request was lost.
            let _ = client.destroy_session(&session).await;
        }
        acquired
    }

    async fn acquire_in(
        &self,
        client: &Arc<ConsulClient>,
        request: &LockRequest,
        path: &str,
        session: &str,
    ) -> Result<Attempt, StorageError> {
        const OPERATION: &str = "lock the state";
        let flags = LOCK_FLAGS.to_string();
        let query = [("acquire", session), ("flags", &*flags)];
        if !client.put(&self.lock, &query, Bytes::new(), OPERATION).await? {
            return Ok(Attempt::Held(self.holder(client).await?));
        }
        let mut info = LockInfo::new(request, path);
        info.id = session.to_owned();
        info.info = format!("consul session: {session}");
        client.put(&self.info, &[], info.to_json().into(), OPERATION).await?;
        let is_lost = Arc::new(AtomicBool::new(false));
        let renewal = tokio::spawn(renew(Arc::clone(client), session.to_owned(), Arc::clone(&is_lost)));
        Ok(Attempt::Acquired(HeldLock { info, is_lost, renewal }))
    }

    /// Returns the holder of the lock; [`None`] if there is none, or if it stored no information.
    pub(super) async fn holder(&self, client: &ConsulClient) -> Result<Option<LockInfo>, StorageError> {
        let found = client.get_value(&self.info, "read the lock of the state").await?;
        Ok(found.and_then(|bytes| LockInfo::from_json(&bytes)))
    }

    /// Returns the operation of a transaction that fails unless a session holds the lock.
    pub(super) fn check(&self, session: &str) -> serde_json::Value {
        json!({ "KV": { "Verb": "check-session", "Key": self.lock, "Session": session } })
    }

    /// Releases the lock of a session. Returns `false` if the session does not hold it.
    pub(super) async fn release(&self, client: &ConsulClient, session: &str) -> Result<bool, StorageError> {
        const OPERATION: &str = "unlock the state";
        let operations = json!([
            self.check(session),
            { "KV": { "Verb": "delete", "Key": self.info } },
            { "KV": { "Verb": "delete", "Key": self.lock } },
        ]);
        let (result, is_repeated) = client.transaction(operations.to_string().into(), OPERATION).await?;
        let is_released = match result {
            Transaction::Done(_) => true,
            // An earlier attempt of this request may have released the lock.
            Transaction::Failed { .. } => is_repeated && client.get(&self.lock, OPERATION).await?.is_none(),
            Transaction::TooLarge(error) => return Err(error),
        };
        // The lock is released, and the session would expire.
        let _ = client.destroy_session(session).await;
        Ok(is_released)
    }

    /// Returns the session that holds the lock.
    pub(super) async fn session(&self, client: &ConsulClient) -> Result<Option<String>, StorageError> {
        let entry = client.get(&self.lock, "read the lock of the state").await?;
        Ok(entry.and_then(|entry| entry.session))
    }

    /// Removes the keys of a lock whose session has ended.
    pub(super) async fn remove(&self, client: &ConsulClient) -> Result<(), StorageError> {
        const OPERATION: &str = "unlock the state";
        let operations = json!([
            { "KV": { "Verb": "check-not-exists", "Key": self.lock } },
            { "KV": { "Verb": "delete", "Key": self.info } },
        ]);
        client.delete(&self.lock, &[], OPERATION).await?;
        match client.transaction(operations.to_string().into(), OPERATION).await?.0 {
            // Another process has locked the state in the meantime.
            Transaction::Done(_) | Transaction::Failed { .. } => Ok(()),
            Transaction::TooLarge(error) => Err(error),
        }
    }
}

/// Renews a session until it has expired.
async fn renew(client: Arc<ConsulClient>, session: String, is_lost: Arc<AtomicBool>) {
    let mut renewed = Instant::now();
    loop {
        sleep(TTL / 2).await;
        match client.renew_session(&session).await {
            Ok(true) => renewed = Instant::now(),
            Ok(false) => break,
            // Consul keeps a session for up to twice its time to live.
            Err(_) if renewed.elapsed() < 2 * TTL => {}
            Err(_) => break,
        }
    }
    tracing::warn!(session, "the session that holds the lock of the state has ended");
    is_lost.store(true, Ordering::Relaxed);
}

/// Returns the error for a write without the lock.
pub(super) fn lost(operation: &str) -> StorageError {
    StorageError::new(format!(
        "failed to {operation}: the session of Consul that held the lock has ended, so nothing was written"
    ))
    .with_effect(StorageEffect::Conflict)
    .with_advice(
        "Consul ends a session that is not renewed for 15 seconds, and another run may have locked the state \
         since then; check the connection to Consul, and run the command again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_flags_are_those_of_terraform() {
        assert_eq!(LOCK_FLAGS, 3_304_740_253_564_472_344);
        assert_eq!(LockKeys::new("a/b").lock, "a/b/.lock");
        assert_eq!(LockKeys::new("a/b/").info, "a/b/.lockinfo");
    }
}
