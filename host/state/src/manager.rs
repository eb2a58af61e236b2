//! Reads and writes a state in a storage, and recovers interrupted runs.
//!
//! The storage (a local file or a backend's service) keeps the bytes and the lock. Everything else
//! is the same for every storage: the state manager decodes and encodes states, assigns serials and
//! lineages, and keeps the journal until the storage has confirmed a write. For a local file, the
//! journal is next to the file; for any other storage, the caller chooses its path.
//!
//! # Recovery of an interrupted run
//!
//! | journal | stored state | action |
//! |---|---|---|
//! | the first record is incomplete | any | no change was recorded: the journal is removed |
//! | changes | unchanged since the run started, or a state that the run stored in between | the changes are merged, and the serial is incremented by one |
//! | changes | another state | rejected: the state was changed by another run |
//! | changes and the new state | the new state, or one with the same lineage and content | the journal is removed |
//! | changes and the new state | unchanged, stored in between, or unreadable | the new state is written |
//! | changes and the new state | another state | rejected |
//!
//! A truncated last record is ignored. Recovery writes to the storage only if the state is locked
//! or a write is requested; other readers receive the state that recovery would produce.
//!
//! # A write whose response is lost
//!
//! If the storage may have stored the new state although the write failed, the state is read again.
//! If it is the new state, the write has succeeded. Otherwise the journal is retained.
//!
//! # Encryption
//!
//! With a [`StateEncryption`], everything that is stored is encrypted: the state, its backup, the
//! journal and `errored.tfstate`. States are compared in their decrypted form, because each encryption
//! of a text differs. A state that is stored in an outdated form is written again by the next run,
//! even if its content is the same. A state without objects is accepted in any form: a storage that
//! could replace the state by it could also remove the state.
//!
//! # Rows
//!
//! The module `rows` handles storages that keep the rows of a state separately.

mod load;
mod rows;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::encryption::{StateEncryption, StateIdentity};
use crate::error::{StateError, StateProblem};
use crate::format::{CompactState, encode_compact, encode_state};
use crate::held_locks;
use crate::interim::{InterimState, encrypted_content};
use crate::journal::{self, Intent, Journal};
use crate::local::{self, BackupRule, LocalStorage};
use crate::lock::{LockError, LockInfo, LockRequest};
use crate::model::{State, new_lineage};
use crate::row_run::RowRun;
use crate::row_storage::RunId;
use crate::sidecar::Sidecars;
use crate::storage::{StateContent, StateStorage, StorageEffect, StorageVersion};
use load::{PendingRecovery, Snapshot};

#[derive(Clone, Debug)]
pub struct StateManagerOptions {
    /// The program version that is written to the state. Terraform must accept it.
    pub terraform_version: String,
    /// The journal's path.
    pub journal: PathBuf,
    /// The file from which the state is read first, if it is not the storage itself.
    pub read_from: Option<PathBuf>,
}

/// The options for a state in a local file.
#[derive(Clone, Debug)]
pub struct StateFileOptions {
    /// The program version that is written to the state file. Terraform must accept it.
    pub terraform_version: String,
    /// Whether the previous state is backed up, and the file of the backup.
    pub backup: BackupRule,
    /// The file from which the state is read first, if it is not the state file itself.
    pub read_from: Option<PathBuf>,
}

/// The recovery of an interrupted run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    pub journal: PathBuf,
    /// The number of recorded changes.
    pub changes: usize,
    /// Intents without a recorded change. These objects may differ from the state. If an object was
    /// being created, it may exist although the state does not contain it.
    pub incomplete: Vec<Intent>,
    /// The number of unreadable bytes at the end of the journal.
    pub ignored_bytes: usize,
    /// Whether the changes are in the state file. If not, the changes are only in the state that
    /// was read.
    pub folded: bool,
}

/// A state in a storage, with its lock and its journal.
#[derive(Debug)]
pub struct StateManager {
    storage: Arc<dyn StateStorage>,
    options: StateManagerOptions,
    encryption: Option<Arc<dyn StateEncryption>>,
    lock: Option<LockInfo>,
    read: Option<Snapshot>,
    recovery: Option<Recovery>,
    /// The unfinished state of the run that [`StateManager::finish`] completes.
    interim: Option<InterimState>,
    /// The store of the run that [`StateManager::finish`] completes.
    row_run: Option<RowRun>,
    /// The file that is locked while this process has a journal for a run.
    alive: Option<(RunId, File)>,
}

impl StateManager {
    /// Opens the state in a storage. The state does not have to exist, and is not read yet.
    pub fn new(storage: Arc<dyn StateStorage>, options: StateManagerOptions) -> Self {
        Self {
            storage,
            options,
            encryption: None,
            lock: None,
            read: None,
            recovery: None,
            interim: None,
            row_run: None,
            alive: None,
        }
    }

    /// Sets the encryption of the state, its backup and its journal.
    #[must_use]
    pub fn with_encryption(mut self, encryption: Option<Arc<dyn StateEncryption>>) -> Self {
        self.encryption = encryption;
        self
    }

    /// Returns the encryption, if new content is encrypted.
    fn encrypting(&self) -> Option<&Arc<dyn StateEncryption>> {
        self.encryption.as_ref().filter(|encryption| encryption.encrypts())
    }

    /// Opens the state in a local file. The file does not have to exist, and is not read yet.
    pub fn open_file(path: impl Into<PathBuf>, options: StateFileOptions) -> Self {
        let path = path.into();
        let options_of_manager = StateManagerOptions {
            terraform_version: options.terraform_version,
            journal: Sidecars::for_state(&path).journal,
            read_from: options.read_from,
        };
        Self::new(Arc::new(LocalStorage::new(path, options.backup)), options_of_manager)
    }

    pub fn storage(&self) -> &Arc<dyn StateStorage> {
        &self.storage
    }

    /// Locks the state until [`StateManager::unlock`]. The lock on a local file is also released when
    /// this value is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if another process holds the lock.
    pub async fn lock(&mut self, request: &LockRequest) -> Result<&LockInfo, LockError> {
        let info = match self.lock.take() {
            Some(info) => info,
            None => {
                let info = self.storage.lock(request).await?;
                held_locks::add(&self.storage);
                self.read = None;
                self.recovery = None;
                info
            }
        };
        Ok(self.lock.insert(info))
    }

    /// Releases the lock, if it is held.
    ///
    /// # Errors
    ///
    /// Returns an error if the storage has not confirmed that the lock is released.
    pub async fn unlock(&mut self) -> Result<(), LockError> {
        if self.lock.take().is_none() {
            return Ok(());
        }
        held_locks::remove(&self.storage);
        self.storage.unlock().await
    }

    /// Returns the serial of the state that was last read or written.
    pub fn stored_serial(&self) -> u64 {
        self.read.as_ref().map_or(0, |read| read.state.serial)
    }

    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns the state. It is read once, and again after locking. If it does not exist, it
    /// is empty and has no lineage.
    ///
    /// # Errors
    ///
    /// Returns an error if the storage does not contain a readable state, or an interrupted run left
    /// a journal for a different state. In these cases, nothing is changed.
    pub async fn read(&mut self) -> Result<Arc<State>, StateError> {
        if let Some(read) = &self.read {
            return Ok(Arc::clone(&read.state));
        }
        let snapshot = self.load_with_retries().await?;
        self.read = Some(snapshot.clone());
        if self.is_locked() {
            self.complete_recovery().await?;
        }
        Ok(self.read.as_ref().map_or(snapshot.state, |read| Arc::clone(&read.state)))
    }

    /// Returns whether a state is stored: a file or an object that is not empty.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`StateManager::read`].
    pub async fn exists(&mut self) -> Result<bool, StateError> {
        self.read().await?;
        Ok(self.read.as_ref().is_some_and(|read| read.exists))
    }

    /// Returns the recovery of an interrupted run, if a journal was found when the state was read.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Starts a journal for changes to the state that was read. The journal's file is created with
    /// the first record.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`StateManager::read`].
    pub async fn begin(&mut self) -> Result<Journal, StateError> {
        let state = self.read().await?;
        self.complete_recovery().await?;
        if self.has_rows() {
            return self.begin_rows(&state);
        }
        let lineage = if state.lineage.is_empty() { new_lineage() } else { state.lineage.clone() };
        let fingerprint = self.read.as_ref().map(|read| read.fingerprint.clone()).unwrap_or_default();
        let cipher = match self.encrypting() {
            None => None,
            Some(encryption) => {
                encryption.prepare().await.map_err(|failure| self.failed(failure.into()))?;
                let cipher = encryption.new_record_cipher().await;
                Some(cipher.map_err(|failure| self.failed(failure.into()))?)
            }
        };
        Ok(Journal::new(self.options.journal.clone(), &lineage, state.serial, &fingerprint, cipher))
    }

    /// Returns whether the stored state must be written again although its content is the same,
    /// because its encryption has changed.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`StateManager::read`].
    pub async fn is_outdated(&mut self) -> Result<bool, StateError> {
        self.read().await?;
        Ok(self.read.as_ref().is_some_and(|read| read.is_outdated))
    }

    /// Returns the unfinished state of a run whose journal was started, so that it can be stored
    /// while the run continues. Returns `None` for a local file, whose journal suffices, and if the
    /// state is not locked.
    pub fn interim(&self, journal: &Journal) -> Option<InterimState> {
        let is_exclusive = self.is_locked() && self.storage.has_locks() && !self.has_rows();
        let read = self.read.as_ref().filter(|_| is_exclusive && self.storage.path().is_none())?;
        let state = State {
            lineage: journal.lineage().to_owned(),
            terraform_version: self.options.terraform_version.clone(),
            ..(*read.state).clone()
        };
        let storage = Arc::clone(&self.storage);
        let (fingerprint, version) = (read.fingerprint.clone(), read.version.clone());
        Some(InterimState::new(storage, self.encryption.clone(), state, fingerprint, version))
    }

    /// Continues with the unfinished state of a run. Its last write must have ended.
    pub fn set_interim(&mut self, interim: InterimState) {
        self.interim = interim.has_written().then_some(interim);
    }

    /// Replaces the state that was read with `state`, increments the serial, and ends the journal.
    /// `refreshed` is the state that the run found before it changed anything. If the new state
    /// equals both the refreshed state and the state that was read, the file is not changed. If an
    /// object was created again with the same content, the serial is still incremented, because the
    /// plan must not be applied twice. Returns the state that is now on disk.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written. The journal is then retained, with every
    /// recorded change.
    pub async fn finish(
        &mut self,
        mut journal: Journal,
        refreshed: &State,
        state: &State,
    ) -> Result<Arc<State>, StateError> {
        let before = self.read().await?;
        if self.has_rows() {
            return self.finish_rows(journal, &before, state).await;
        }
        let exists = self.read.as_ref().is_some_and(|read| read.exists && !read.is_outdated);
        let stored_serial = match self.interim.take() {
            None => None,
            Some(interim) => Some(self.continue_from(interim).await?),
        };
        let is_same =
            exists && stored_serial.is_none() && state.same_content(&before) && state.same_objects(refreshed);
        if is_same && self.options.read_from.is_none() {
            journal.discard()?;
            return Ok(before);
        }
        let is_exclusive = self.is_locked() && self.storage.has_locks();
        let is_compared = !is_exclusive || !self.storage.rejects_stale_writes();
        if is_compared && stored_serial.is_none() {
            self.check_unchanged().await?;
        }
        // If the state is identical to the one that was read, its serial is not incremented.
        let next = State {
            lineage: journal.lineage().to_owned(),
            serial: stored_serial.unwrap_or(before.serial).saturating_add(u64::from(!is_same)),
            terraform_version: self.options.terraform_version.clone(),
            ..state.clone()
        };
        self.replace(&mut journal, next).await
    }

    /// Writes a state whose changes were not recorded individually.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`StateManager::finish`].
    pub async fn write(&mut self, state: &State) -> Result<Arc<State>, StateError> {
        if self.has_rows() {
            let before = self.read().await?;
            let lineage = if before.lineage.is_empty() { new_lineage() } else { before.lineage.clone() };
            let terraform_version = self.options.terraform_version.clone();
            return self
                .replace_rows(&State { lineage, serial: 0, terraform_version, ..state.clone() })
                .await;
        }
        let (before, journal) = (self.read().await?, self.begin().await?);
        self.finish(journal, &before, state).await
    }

    /// Writes a state with the lineage and serial that it contains, for `state push`. The caller
    /// must have checked that they may replace the stored lineage and serial.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`StateManager::finish`].
    pub async fn write_verbatim(&mut self, state: &State) -> Result<Arc<State>, StateError> {
        if self.has_rows() {
            return self.replace_rows(state).await;
        }
        let mut journal = self.begin().await?;
        self.replace(&mut journal, state.clone()).await
    }

    /// Writes a state that could not be stored in its storage to `errored.tfstate` in a directory.
    /// An existing file with that name is replaced.
    ///
    /// # Errors
    ///
    /// Returns an error if that file also cannot be written.
    pub async fn write_errored(&self, directory: &Path, state: &State) -> Result<PathBuf, StateError> {
        let path = directory.join("errored.tfstate");
        let text = self.stored_text(state).await.map_err(|problem| StateError::new(&path, problem))?;
        local::write_file(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Returns the text that is stored for a state: the state file, encrypted if new states are
    /// encrypted.
    ///
    /// # Errors
    ///
    /// Returns an error if the state cannot be encoded or encrypted.
    pub async fn stored_text(&self, state: &State) -> Result<String, StateProblem> {
        let text = encode_state(state)?;
        match self.encrypting() {
            None => Ok(text),
            Some(encryption) => {
                let identity = StateIdentity { lineage: &state.lineage, serial: state.serial };
                Ok(encryption.encrypt(text.as_bytes(), Some(identity)).await?)
            }
        }
    }

    async fn replace(&mut self, journal: &mut Journal, next: State) -> Result<Arc<State>, StateError> {
        let compact = encode_compact(&next).map_err(|problem| self.failed(problem))?;
        let span = tracing::info_span!(
            target: "wardian::state",
            "write state",
            location = %self.storage.location(),
            serial = next.serial,
            compact_bytes = compact.parts().map(str::len).sum::<usize>(),
        );
        let writing = self.record_and_write(journal, compact, &next);
        let (fingerprint, version) = tracing::Instrument::instrument(writing, span).await?;
        let state = Arc::new(next);
        self.read = Some(Snapshot {
            state: Arc::clone(&state),
            fingerprint,
            version,
            exists: true,
            pending: None,
            is_outdated: false,
            plain_target: None,
        });
        Ok(state)
    }

    /// Records a state in the journal, and then writes it to the storage and removes the journal.
    /// Returns the fingerprint of the stored bytes, and their version.
    async fn record_and_write(
        &mut self,
        journal: &mut Journal,
        compact: CompactState,
        state: &State,
    ) -> Result<(String, StorageVersion), StateError> {
        let backup = self.encrypted_backup().await?;
        self.storage.prepare_write(backup.as_deref().map(str::as_bytes)).await?;
        let mut record = || journal.record_final(compact.parts());
        let encode = || {
            let text = compact.indented();
            let fingerprint = journal::fingerprint(text.iter().map(String::as_bytes));
            (text, fingerprint)
        };
        // Writing the record mostly waits for the disk, so the state is encoded at the same time.
        let (recorded, (text, fingerprint)) =
            if compact.is_large() { rayon::join(record, encode) } else { (record(), encode()) };
        recorded?;
        // The text is the largest part of the memory of a run, so there is only one copy of it from here on.
        drop(compact);
        let content = StateContent::new(text, &state.lineage, state.serial).joined_for(&*self.storage);
        let content = encrypted_content(self.encryption.as_deref(), content).await;
        let content = content.map_err(|problem| self.failed(problem))?;
        let expected = self.read.as_ref().map(|read| read.version.clone()).unwrap_or_default();
        let version = match self.storage.write(&content, &expected).await {
            Ok(version) => version,
            Err(error) => self.version_after(error, &fingerprint).await?,
        };
        journal.discard()?;
        self.options.read_from = None;
        Ok((fingerprint, version))
    }

    /// Returns the version of the storage if it contains the new state although the write failed;
    /// otherwise, returns the error of the write.
    async fn version_after(
        &self,
        error: StateError,
        fingerprint: &str,
    ) -> Result<StorageVersion, StateError> {
        let may_be_stored = matches!(
            &error.problem,
            StateProblem::Storage(problem) if problem.effect != StorageEffect::None
        );
        if may_be_stored
            && let Ok(stored) = self.storage.read().await
            && let Ok(plain) = self.decrypted(stored.bytes).await
            && journal::fingerprint([&*plain.bytes]) == fingerprint
        {
            return Ok(stored.version);
        }
        Err(error)
    }

    /// Completes a pending recovery.
    async fn complete_recovery(&mut self) -> Result<(), StateError> {
        let Some(snapshot) = self.read.clone() else {
            return Ok(());
        };
        match snapshot.pending {
            None => return Ok(()),
            Some(PendingRecovery::RemoveJournal) => {
                journal::remove(&self.options.journal)?;
                self.read = Some(Snapshot { pending: None, ..snapshot });
            }
            Some(PendingRecovery::Write(cipher)) => {
                let compact = encode_compact(&snapshot.state).map_err(|problem| self.failed(problem))?;
                let mut journal = Journal::reopen(self.options.journal.clone(), cipher)?;
                let (fingerprint, version) =
                    self.record_and_write(&mut journal, compact, &snapshot.state).await?;
                self.read = Some(Snapshot {
                    state: snapshot.state,
                    fingerprint,
                    version,
                    exists: true,
                    pending: None,
                    is_outdated: false,
                    plain_target: None,
                });
            }
            Some(PendingRecovery::Rows(interrupted)) => self.recover_rows(interrupted).await?,
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.folded = true;
        }
        Ok(())
    }

    /// Checks that the state was not changed since it was read without a lock.
    async fn check_unchanged(&self) -> Result<(), StateError> {
        let now = match &self.options.read_from {
            None => self.storage.read().await?.bytes,
            Some(path) => local::read_file(path)?,
        };
        let now = self.decrypted(now).await.map_err(|problem| self.failed(problem))?.bytes;
        match &self.read {
            Some(read) if read.fingerprint != journal::fingerprint([&*now]) => {
                Err(self.failed(StateProblem::ChangedMeanwhile))
            }
            _ => Ok(()),
        }
    }

    /// Expects that the storage contains the unfinished state. Returns the serial of that state.
    async fn continue_from(&mut self, interim: InterimState) -> Result<u64, StateError> {
        let serial = interim.serial();
        let version = match interim.version {
            Some(version) => version,
            None => {
                let stored = self.storage.read().await?;
                let plain = self.decrypted(stored.bytes).await.map_err(|problem| self.failed(problem))?;
                if !interim.fingerprints.contains(&journal::fingerprint([&*plain.bytes])) {
                    return Err(self.failed(StateProblem::ChangedMeanwhile));
                }
                stored.version
            }
        };
        if let Some(read) = &mut self.read {
            read.version = version;
        }
        Ok(serial)
    }

    fn failed(&self, problem: StateProblem) -> StateError {
        StateError { location: self.storage.location(), problem }
    }
}
