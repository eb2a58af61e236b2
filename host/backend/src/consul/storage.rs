//! One state in the key/value store.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::client::{ConsulClient, Transaction};
use super::lock::{Attempt, HeldLock, LockKeys, lost};
use crate::gzip::{compress, decompress, is_compressed};
use crate::service::MAX_STATE_BYTES;

/// The size of a chunk, and by default the maximum size of a request to Consul.
const CHUNK_BYTES: usize = 512 << 10;

#[derive(Debug)]
pub(super) struct ConsulStorage {
    client: Arc<ConsulClient>,
    key: String,
    lock_keys: LockKeys,
    lock: tokio::sync::Mutex<Option<HeldLock>>,
    /// The version that was read or written last, and the hash of its chunks.
    known: Mutex<Option<(StorageVersion, Option<String>)>>,
}

/// The value of a state's key if the state is stored in chunks.
#[derive(Deserialize, Serialize)]
struct ChunkList {
    chunks: Vec<String>,
    /// The MD5 digest of the state.
    #[serde(rename = "current-hash")]
    hash: String,
}

impl ChunkList {
    fn parse(value: &[u8]) -> Option<Self> {
        // A state is an object, too, but has neither member.
        (!is_compressed(value)).then(|| serde_json::from_slice(value).ok()).flatten()
    }
}

impl ConsulStorage {
    pub(super) fn new(client: Arc<ConsulClient>, key: String) -> Self {
        let lock_keys = LockKeys::new(&key);
        Self { client, key, lock_keys, lock: tokio::sync::Mutex::default(), known: Mutex::default() }
    }

    fn set_known(&self, version: &StorageVersion, hash: Option<String>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((version.clone(), hash));
    }

    /// Returns the hash of the chunks of a version.
    async fn chunk_hash(&self, version: &StorageVersion) -> Result<Option<String>, StorageError> {
        if let Some((known, hash)) = &*self.known.lock().unwrap_or_else(PoisonError::into_inner)
            && known == version
        {
            return Ok(hash.clone());
        }
        let entry = self.client.get_value(&self.key, "read the state").await?;
        Ok(entry.and_then(|value| ChunkList::parse(&value)).map(|list| list.hash))
    }

    fn chunk_directory(&self, hash: &str) -> String {
        format!("{}/tfstate.{hash}/", self.key.trim_end_matches('/'))
    }

    async fn stored(&self) -> Result<StoredState, StorageError> {
        const OPERATION: &str = "read the state";
        let Some(entry) = self.client.get(&self.key, OPERATION).await? else {
            self.set_known(&StorageVersion::Absent, None);
            return Ok(StoredState { bytes: Vec::new(), version: StorageVersion::Absent });
        };
        let version = StorageVersion::Tag(entry.modify_index.to_string());
        let Some(list) = ChunkList::parse(&entry.value) else {
            self.set_known(&version, None);
            return Ok(StoredState { bytes: expanded(entry.value)?, version });
        };
        let mut joined = Vec::new();
        for key in &list.chunks {
            let chunk = self.client.get_value(key, OPERATION).await?.ok_or_else(|| {
                StorageError::new(format!(
                    "failed to {OPERATION}: the key \"{key}\" with a part of it is missing"
                ))
                .with_advice("another process may have just replaced the state; run the command again")
            })?;
            if (joined.len() + chunk.len()) as u64 > MAX_STATE_BYTES {
                return Err(StorageError::new(format!("failed to {OPERATION}: it is too large")));
            }
            joined.extend_from_slice(&chunk);
        }
        let bytes = expanded(joined)?;
        if hex_md5(&bytes) != list.hash {
            return Err(StorageError::new(format!(
                "failed to {OPERATION}: the chunks of the key \"{}\" do not have the digest {}",
                self.key, list.hash
            ))
            .with_advice("another process may have just replaced the state; run the command again"));
        }
        self.set_known(&version, Some(list.hash));
        Ok(StoredState { bytes, version })
    }

    async fn store(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StorageError> {
        const OPERATION: &str = "write the state";
        let session = match &*self.lock.lock().await {
            Some(held) if held.is_lost() => return Err(lost(OPERATION)),
            held => held.as_ref().map(|held| held.session().to_owned()),
        };
        let old_hash = self.chunk_hash(expected).await?;
        let state = content.to_bytes();
        let hash = hex_md5(&state);
        let uses_gzip = self.client.settings().uses_gzip;
        let payload = if uses_gzip { Bytes::from(compress(&state)?) } else { state };
        let request = self.replacement(&payload, expected, session.as_deref())?;
        let mut sent = None;
        if request.len() <= CHUNK_BYTES {
            sent = Some(self.client.transaction(request, OPERATION).await?);
        }
        if let Some((Transaction::Done(_) | Transaction::Failed { .. }, _)) = &sent {
            let version = finish(sent, expected, session.is_some())?;
            self.set_known(&version, None);
            self.remove_chunks(old_hash.as_deref()).await;
            return Ok(version);
        }
        let chunks = self.write_chunks(&payload, &hash).await?;
        let list = ChunkList { chunks, hash: hash.clone() };
        let value = serde_json::to_vec(&list).map_err(|error| StorageError::new(error.to_string()))?;
        let request = self.replacement(&value, expected, session.as_deref())?;
        let sent = self.client.transaction(request, OPERATION).await?;
        let version = finish(Some(sent), expected, session.is_some())?;
        self.set_known(&version, Some(hash.clone()));
        if old_hash.as_ref() != Some(&hash) {
            self.remove_chunks(old_hash.as_deref()).await;
        }
        Ok(version)
    }

    /// Returns the transaction that replaces the value of the state's key.
    fn replacement(
        &self,
        value: &[u8],
        expected: &StorageVersion,
        session: Option<&str>,
    ) -> Result<Bytes, StorageError> {
        let index = match expected {
            StorageVersion::Unknown => None,
            StorageVersion::Absent => Some(0),
            StorageVersion::Tag(tag) => Some(tag.parse::<u64>().map_err(|_| {
                StorageError::new(format!("the version \"{tag}\" of the state is not valid"))
            })?),
        };
        let (verb, index) = index.map_or(("set", 0), |index| ("cas", index));
        let write = json!({ "KV": { "Verb": verb, "Key": self.key, "Value": STANDARD.encode(value), "Index": index } });
        let mut operations: Vec<_> =
            session.map(|session| self.lock_keys.check(session)).into_iter().collect();
        operations.push(write);
        Ok(Bytes::from(serde_json::Value::Array(operations).to_string()))
    }

    /// Stores the chunks of a state, and returns their keys.
    async fn write_chunks(&self, payload: &Bytes, hash: &str) -> Result<Vec<String>, StorageError> {
        let directory = self.chunk_directory(hash);
        let mut keys = Vec::new();
        let mut start = 0;
        while start < payload.len() {
            let end = payload.len().min(start + CHUNK_BYTES);
            let key = format!("{directory}{}", keys.len());
            let stored =
                self.client.put(&key, &[], payload.slice(start..end), "write a part of the state").await;
            // The state still has its old chunks.
            stored.map_err(|error| StorageError { effect: StorageEffect::None, ..error })?;
            keys.push(key);
            start = end;
        }
        Ok(keys)
    }

    /// Removes the chunks of a state that was replaced. They would only occupy space.
    async fn remove_chunks(&self, hash: Option<&str>) {
        let Some(hash) = hash else { return };
        let directory = self.chunk_directory(hash);
        if let Err(error) =
            self.client.delete(&directory, &[("recurse", "")], "remove the parts of the old state").await
        {
            tracing::warn!(%error, directory, "the parts of the old state remain");
        }
    }

    /// Deletes the state and its chunks.
    pub(super) async fn delete(&self) -> Result<(), StorageError> {
        let hash = self.chunk_hash(&StorageVersion::Unknown).await?;
        self.client.delete(&self.key, &[], "delete the state").await?;
        self.remove_chunks(hash.as_deref()).await;
        Ok(())
    }

    fn failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }
}

/// Returns the version after a transaction.
fn finish(
    sent: Option<(Transaction, bool)>,
    expected: &StorageVersion,
    is_locked: bool,
) -> Result<StorageVersion, StorageError> {
    const OPERATION: &str = "write the state";
    match sent {
        Some((Transaction::Done(indexes), _)) => {
            Ok(indexes.last().map_or(StorageVersion::Unknown, |index| StorageVersion::Tag(index.to_string())))
        }
        Some((Transaction::Failed { operation: 0, .. }, _)) if is_locked => Err(lost(OPERATION)),
        Some((Transaction::Failed { reason, .. }, _)) => {
            let error = StorageError::new(format!("failed to {OPERATION}: {reason}"));
            Err(if *expected == StorageVersion::Unknown {
                error
            } else {
                error.with_effect(StorageEffect::Conflict).with_advice(
                    "another process has changed the state since it was read, so it was not replaced; another \
                     run may have removed the lock of this run",
                )
            })
        }
        Some((Transaction::TooLarge(error), _)) => Err(error),
        None => Err(StorageError::new(format!("failed to {OPERATION}: no request was sent"))),
    }
}

/// Returns the state in a value, which may be compressed.
fn expanded(value: Vec<u8>) -> Result<Vec<u8>, StorageError> {
    if is_compressed(&value) { decompress(&value) } else { Ok(value) }
}

fn hex_md5(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Md5::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[async_trait]
impl StateStorage for ConsulStorage {
    fn location(&self) -> String {
        format!("{} at {}", self.key, wardian_download::printable_url(&self.client.settings().address))
    }

    fn has_locks(&self) -> bool {
        self.client.settings().has_lock
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        self.stored().await.map_err(|error| error.at(self.location()))
    }

    async fn write(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        self.store(content, expected).await.map_err(|error| error.at(self.location()))
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        if !self.has_locks() {
            return Ok(LockInfo::new(request, &*self.key));
        }
        let attempt = self.lock_keys.acquire(&self.client, request, &self.key).await;
        match attempt.map_err(|error| self.failed(error))? {
            Attempt::Acquired(held) => {
                let info = held.info.clone();
                *self.lock.lock().await = Some(held);
                Ok(info)
            }
            Attempt::Held(holder) => Err(LockError::Held {
                location: self.location(),
                holder: holder.map(Box::new),
                ends_with_process: true,
            }),
        }
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let Some(held) = self.lock.lock().await.take() else { return Ok(()) };
        let released = self.lock_keys.release(&self.client, held.session()).await;
        if released.map_err(|error| self.failed(error))? {
            return Ok(());
        }
        let found = self.lock_keys.holder(&self.client).await.ok().flatten();
        let found = found.filter(|found| found.id != held.info.id).map(Box::new);
        Err(LockError::OtherLock { location: self.location(), id: held.info.id.clone(), found })
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        if !self.has_locks() {
            let reason = "the backend has the argument lock = false".to_owned();
            return Err(LockError::Unsupported { location: self.location(), reason });
        }
        let holder = self.lock_keys.holder(&self.client).await.map_err(|error| self.failed(error))?;
        let session = self.lock_keys.session(&self.client).await.map_err(|error| self.failed(error))?;
        if session.as_deref() == Some(id) {
            let released = self.lock_keys.release(&self.client, id).await;
            if released.map_err(|error| self.failed(error))? {
                return Ok(());
            }
        } else if session.is_none() && holder.as_ref().is_some_and(|holder| holder.id == id) {
            return self.lock_keys.remove(&self.client).await.map_err(|error| self.failed(error));
        }
        let found = holder.filter(|holder| holder.id != id).map(Box::new);
        Err(LockError::OtherLock { location: self.location(), id: id.to_owned(), found })
    }
}
