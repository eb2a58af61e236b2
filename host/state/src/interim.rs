//! Stores the unfinished state of a long run in a storage on another machine.
//!
//! The journal alone preserves the changes of an interrupted run, but only on this machine. Storing
//! the unfinished state from time to time lets other machines see most of the changes, too. The
//! fingerprint of each such state is in the journal before the state is stored, so that recovery
//! recognizes it.

use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};

use crate::encryption::{StateEncryption, StateIdentity};
use crate::error::{StateError, StateProblem};
use crate::format::encode_compact;
use crate::journal::{self, Journal};
use crate::model::{Instance, State};
use crate::storage::{StateContent, StateStorage, StorageVersion};

/// The unfinished state of a run.
#[derive(Debug)]
pub struct InterimState {
    storage: Arc<dyn StateStorage>,
    encryption: Option<Arc<dyn StateEncryption>>,
    state: State,
    /// The fingerprints of the state before the run, and of all states that were stored or may have
    /// been stored.
    pub(crate) fingerprints: Vec<String>,
    /// The version of the last stored state; `None` if a write has failed, so that the storage may
    /// contain any of the states.
    pub(crate) version: Option<StorageVersion>,
}

/// A write of an unfinished state, which can run concurrently with the run.
#[derive(Debug)]
pub struct InterimWrite {
    storage: Arc<dyn StateStorage>,
    encryption: Option<Arc<dyn StateEncryption>>,
    content: StateContent,
    expected: StorageVersion,
}

impl InterimState {
    pub(crate) fn new(
        storage: Arc<dyn StateStorage>,
        encryption: Option<Arc<dyn StateEncryption>>,
        state: State,
        fingerprint: String,
        version: StorageVersion,
    ) -> Self {
        Self { storage, encryption, state, fingerprints: vec![fingerprint], version: Some(version) }
    }

    /// Changes an instance, or removes it.
    pub fn set_instance(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) {
        self.state.set_instance(address, provider, instance.cloned().unwrap_or_default());
    }

    /// Returns the write of the current state, with the next serial. The journal contains its
    /// fingerprint. Returns `None` after a failed write, because the storage's version is unknown.
    ///
    /// # Errors
    /// Returns an error if the state cannot be encoded, or the journal cannot be written.
    pub fn begin_write(&mut self, journal: &mut Journal) -> Result<Option<InterimWrite>, StateError> {
        let Some(expected) = self.version.clone() else { return Ok(None) };
        self.state.serial = self.state.serial.saturating_add(1);
        let failed = |problem| StateError { location: self.storage.location(), problem };
        let compact = encode_compact(&self.state).map_err(failed)?;
        let text = compact.indented();
        drop(compact);
        let fingerprint = journal::fingerprint(text.iter().map(String::as_bytes));
        journal.record_stored(&fingerprint);
        journal.commit()?;
        self.fingerprints.push(fingerprint);
        let content = StateContent::new(text, &self.state.lineage, self.state.serial);
        let content = content.joined_for(&*self.storage);
        let encryption = self.encryption.clone();
        Ok(Some(InterimWrite { storage: Arc::clone(&self.storage), encryption, content, expected }))
    }

    /// Notes the result of a write.
    pub fn end_write(&mut self, result: Result<StorageVersion, StateError>) {
        self.version = result
            .inspect_err(|error| tracing::warn!(%error, "the unfinished state could not be stored"))
            .ok();
    }

    /// Notes that the storage may contain any of the states, because a write did not end.
    pub fn forget_version(&mut self) {
        self.version = None;
    }

    pub(crate) fn serial(&self) -> u64 {
        self.state.serial
    }

    /// Whether a state was stored or may have been stored.
    pub(crate) fn has_written(&self) -> bool {
        self.fingerprints.len() > 1
    }
}

/// Returns the content to be stored for a state.
pub(crate) async fn encrypted_content(
    encryption: Option<&dyn StateEncryption>,
    content: StateContent,
) -> Result<StateContent, StateProblem> {
    let Some(encryption) = encryption.filter(|encryption| encryption.encrypts()) else { return Ok(content) };
    let identity = StateIdentity { lineage: content.lineage(), serial: content.serial() };
    let encrypted = encryption.encrypt(&content.to_bytes(), Some(identity)).await?;
    Ok(StateContent::new(vec![encrypted], content.lineage(), content.serial()))
}

impl InterimWrite {
    /// Stores the state.
    ///
    /// # Errors
    /// Returns an error if the storage has not confirmed the write.
    pub async fn run(self) -> Result<StorageVersion, StateError> {
        let failed = |problem| StateError { location: self.storage.location(), problem };
        let content = encrypted_content(self.encryption.as_deref(), self.content).await.map_err(failed)?;
        self.storage.write(&content, &self.expected).await
    }
}
