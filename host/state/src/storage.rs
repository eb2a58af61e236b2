//! The storage of one state: the interface between the state manager and a backend.
//!
//! A storage keeps the bytes of one state, and its lock. It does not interpret the state: formats,
//! serials, the journal and recovery are the state manager's tasks, and are the same for every
//! storage.

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use bytes::Bytes;

use crate::error::{StateError, StateProblem};
use crate::format::encode_state;
use crate::lock::{LockError, LockInfo, LockRequest};
use crate::model::{State, new_lineage};
use crate::row_storage::RowStorage;

/// Stores one state and its lock.
#[async_trait]
pub trait StateStorage: fmt::Debug + Send + Sync {
    /// Describes the location of the state for messages. It contains no secret.
    fn location(&self) -> String;

    /// Returns the file of a state that is stored as a file on this machine.
    fn path(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the interface to the rows of the state, if the storage keeps them separately.
    fn rows(&self) -> Option<&dyn RowStorage> {
        None
    }

    /// Returns the stored bytes, which are empty if there is no state.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read completely.
    async fn read(&self) -> Result<StoredState, StateError>;

    /// Prepares a write, before the new state is recorded in the journal. `backup` contains the bytes
    /// to back up if they are not the stored bytes.
    ///
    /// # Errors
    /// Returns an error if the state cannot be written.
    async fn prepare_write(&self, backup: Option<&[u8]>) -> Result<(), StateError> {
        let _ = backup;
        Ok(())
    }

    /// Replaces the stored state. If the storage supports it, the state is replaced only if its
    /// version is still the expected version, in one atomic step. Returns the new version.
    ///
    /// # Errors
    /// Returns an error if the storage has not confirmed the write.
    async fn write(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError>;

    /// Whether [`Self::lock`] excludes other processes. Otherwise, the state manager compares the
    /// stored state with the one that it has read before it writes.
    fn has_locks(&self) -> bool {
        true
    }

    /// Whether [`Self::write`] rejects a write if the stored version is not the expected one, or no lock
    /// can be lost. Otherwise, the state manager compares the stored state with the one that it has read
    /// before it writes, also under a lock.
    fn rejects_stale_writes(&self) -> bool {
        true
    }

    /// Attempts to lock the state once.
    ///
    /// # Errors
    /// Returns an error that names the holder if the lock is held.
    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError>;

    /// Releases the lock that this value holds.
    ///
    /// # Errors
    /// Returns an error if the lock may still be held.
    async fn unlock(&self) -> Result<(), LockError>;

    /// Releases a lock that another process holds.
    ///
    /// # Errors
    /// Returns an error if there is no lock with that ID, or if locks cannot be released.
    async fn force_unlock(&self, id: &str) -> Result<(), LockError>;
}

/// A state as it is stored.
#[derive(Clone, Debug, Default)]
pub struct StoredState {
    /// Empty if there is no state.
    pub bytes: Vec<u8>,
    pub version: StorageVersion,
}

/// Identifies the content of a storage at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StorageVersion {
    /// The storage has no versions, or the version is not known.
    #[default]
    Unknown,
    /// The storage contains no state.
    Absent,
    /// A tag that the storage assigned, such as an ETag.
    Tag(String),
}

/// The text of a state, in parts.
#[derive(Clone, Debug)]
pub struct StateContent {
    parts: Vec<Bytes>,
    lineage: String,
    serial: u64,
}

impl StateContent {
    pub(crate) fn new(parts: Vec<String>, lineage: &str, serial: u64) -> Self {
        let parts = parts.into_iter().map(Bytes::from).collect();
        Self { parts, lineage: lineage.to_owned(), serial }
    }

    /// Joins the parts for a storage that sends them in one request. Each part is freed when it has been
    /// copied, so the text is never in memory twice.
    pub(crate) fn joined_for(self, storage: &dyn StateStorage) -> Self {
        if storage.path().is_some() || self.parts.len() == 1 {
            return self;
        }
        let mut text = Vec::with_capacity(self.len());
        self.parts.into_iter().for_each(|part| text.extend_from_slice(&part));
        Self { parts: vec![Bytes::from(text)], ..self }
    }

    /// Returns an empty state with a new lineage, as Terraform stores it for a new workspace.
    ///
    /// # Errors
    /// Returns an error if the state cannot be encoded.
    pub fn new_state(terraform_version: &str) -> Result<Self, StateProblem> {
        Self::from_state(&State {
            lineage: new_lineage(),
            serial: 1,
            terraform_version: terraform_version.to_owned(),
            ..State::default()
        })
    }

    /// Returns a state with the lineage and serial that it contains.
    ///
    /// # Errors
    /// Returns an error if the state cannot be encoded.
    pub fn from_state(state: &State) -> Result<Self, StateProblem> {
        Ok(Self::new(vec![encode_state(state)?], &state.lineage, state.serial))
    }

    pub fn parts(&self) -> &[Bytes] {
        &self.parts
    }

    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn lineage(&self) -> &str {
        &self.lineage
    }

    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Returns the text as one sequence of bytes, without a copy if it has one part.
    pub fn to_bytes(&self) -> Bytes {
        match &*self.parts {
            [whole] => whole.clone(),
            parts => Bytes::from(parts.concat()),
        }
    }
}

/// A failed request to a storage.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StorageError {
    /// The failure and its reason.
    pub message: String,
    /// A suggestion for the user.
    pub advice: Option<String>,
    pub effect: StorageEffect,
}

/// Whether a failed write may have taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageEffect {
    /// The storage rejected the request, or did not receive it.
    None,
    /// The response was lost, so the storage may have changed.
    Unknown,
    /// The version in the storage differs from the expected version.
    Conflict,
}

impl StorageError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), advice: None, effect: StorageEffect::None }
    }

    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    #[must_use]
    pub fn with_effect(mut self, effect: StorageEffect) -> Self {
        self.effect = effect;
        self
    }

    /// Returns the message and the advice as sentences.
    pub fn sentences(&self) -> String {
        let mut text = String::new();
        for part in std::iter::once(&self.message).chain(&self.advice) {
            let mut characters = part.trim_end_matches('.').chars();
            let Some(first) = characters.next() else { continue };
            if !text.is_empty() {
                text.push(' ');
            }
            text.extend(first.to_uppercase());
            text.push_str(characters.as_str());
            text.push('.');
        }
        text
    }

    /// Returns the error for the state at a location.
    pub fn at(self, location: impl Into<String>) -> StateError {
        StateError { location: location.into(), problem: StateProblem::Storage(self) }
    }
}
