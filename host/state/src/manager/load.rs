//! Reads the stored state, decrypts it, and applies the journal of an interrupted run to it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::rows::InterruptedRun;
use super::{Recovery, StateManager};
use crate::encryption::{Decrypted, EncryptionFailure, RecordCipher, StateIdentity};
use crate::error::{StateError, StateProblem};
use crate::format::{decode_state, encode_state};
use crate::journal::{self, JournalContent};
use crate::local;
use crate::model::State;
use crate::storage::StorageVersion;

/// The state as it was last read or written.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) state: Arc<State>,
    /// The fingerprint of the bytes from which the state was read. It is stored in the journal.
    pub(super) fingerprint: String,
    pub(super) version: StorageVersion,
    pub(super) exists: bool,
    /// The recovery that must be completed before the next write.
    pub(super) pending: Option<PendingRecovery>,
    /// Whether the state must be written again although its content is the same.
    pub(super) is_outdated: bool,
    /// The stored bytes if they are not encrypted and a backup of them must be.
    pub(super) plain_target: Option<Arc<[u8]>>,
}

#[derive(Debug, Clone)]
pub(super) enum PendingRecovery {
    /// The state must be written. The cipher encrypts the journal.
    Write(Option<Arc<dyn RecordCipher>>),
    RemoveJournal,
    /// The changes in the journals of interrupted runs must be stored.
    Rows(Vec<InterruptedRun>),
}

/// The decrypted bytes of a storage and of the file from which the state is read.
struct Loaded {
    /// The bytes of the state.
    source: PlainBytes,
    /// The bytes of the storage, if they are not the bytes of the state.
    target: Option<PlainBytes>,
    pub(super) version: StorageVersion,
}

/// Bytes after decryption.
pub(super) struct PlainBytes {
    pub(super) bytes: Vec<u8>,
    /// Whether the encryption for new states would encrypt these bytes in another way.
    pub(super) is_outdated: bool,
    /// Whether the stored bytes were encrypted.
    pub(super) was_encrypted: bool,
}

impl Loaded {
    fn target(&self) -> &[u8] {
        &self.target.as_ref().unwrap_or(&self.source).bytes
    }

    /// Returns the state without a journal.
    fn snapshot(&self, state: State, encrypts: bool) -> Snapshot {
        let target = self.target.as_ref().unwrap_or(&self.source);
        let is_plain = encrypts && !target.was_encrypted && !target.bytes.is_empty();
        Snapshot {
            state: Arc::new(state),
            fingerprint: journal::fingerprint([&*self.source.bytes]),
            version: self.version.clone(),
            exists: !self.source.bytes.is_empty(),
            pending: None,
            is_outdated: self.source.is_outdated,
            plain_target: is_plain.then(|| Arc::from(&*target.bytes)),
        }
    }
}

impl StateManager {
    /// Loads the state. A local file is read again if its content is damaged, because another process
    /// may be rewriting it. Rewriting takes no longer than a few retry intervals.
    pub(super) async fn load_with_retries(&mut self) -> Result<Snapshot, StateError> {
        let mut tries = 0;
        loop {
            match self.load().await {
                Err(error)
                    if tries < 4
                        && !self.is_locked()
                        && self.storage.path().is_some()
                        && matches!(error.problem, StateProblem::NotJson(_) | StateProblem::NotUtf8(_)) =>
                {
                    tries += 1;
                    thread::sleep(Duration::from_millis(5 << tries));
                }
                done => return done,
            }
        }
    }

    async fn load(&mut self) -> Result<Snapshot, StateError> {
        if self.has_rows() {
            return self.load_rows().await;
        }
        self.recovery = None;
        let stored = self.storage.read().await?;
        let read_from = self.options.read_from.clone();
        let in_source = |problem| match &read_from {
            Some(path) => StateError::new(path, problem),
            None => self.failed(problem),
        };
        let loaded = match &read_from {
            None => {
                let source = self.decrypted(stored.bytes).await.map_err(in_source)?;
                Loaded { source, target: None, version: stored.version }
            }
            Some(path) => {
                let source = self.decrypted(local::read_file(path)?).await.map_err(in_source)?;
                let target = self.decrypted_target(stored.bytes).await;
                Loaded { source, target: Some(target), version: stored.version }
            }
        };
        let decoded = self.decoded(&loaded.source).map_err(in_source);
        let Some(content) = journal::read(&self.options.journal, self.encryption.as_deref()).await? else {
            return Ok(loaded.snapshot(decoded?.unwrap_or_default(), self.encrypting().is_some()));
        };
        self.apply_journal(content, &loaded, decoded)
    }

    /// Decrypts bytes of the storage. Bytes that cannot be decrypted belong to another state.
    async fn decrypted_target(&self, bytes: Vec<u8>) -> PlainBytes {
        match self.decrypted(bytes.clone()).await {
            Ok(plain) => plain,
            Err(_) => PlainBytes { bytes, is_outdated: true, was_encrypted: true },
        }
    }

    /// Decrypts stored bytes.
    pub(super) async fn decrypted(&self, stored: Vec<u8>) -> Result<PlainBytes, StateProblem> {
        let plain = |bytes, is_outdated| PlainBytes { bytes, is_outdated, was_encrypted: false };
        let Some(encryption) = self.encryption.as_ref().filter(|_| !stored.is_empty()) else {
            return Ok(plain(stored, false));
        };
        Ok(match encryption.decrypt(&stored).await? {
            Decrypted::Plain => plain(stored, encryption.encrypts()),
            Decrypted::Text { plain: bytes, is_outdated } => {
                PlainBytes { bytes, is_outdated, was_encrypted: true }
            }
        })
    }

    /// Decodes a state, and checks that it was encrypted if it had to be.
    fn decoded(&self, source: &PlainBytes) -> Result<Option<State>, StateProblem> {
        let state = decode_state(&source.bytes)?;
        let must_be_encrypted =
            self.encryption.as_ref().is_some_and(|encryption| !encryption.accepts_plain());
        let has_content = state.as_ref().is_some_and(|state| !state.is_empty());
        if must_be_encrypted && !source.was_encrypted && has_content {
            return Err(StateProblem::NotEncrypted);
        }
        Ok(state)
    }

    /// Returns the content of the backup if the stored state is not encrypted and new states are.
    pub(super) async fn encrypted_backup(&self) -> Result<Option<String>, StateError> {
        let plain = self.read.as_ref().and_then(|read| read.plain_target.clone());
        let (Some(plain), Some(encryption)) = (plain, self.encrypting()) else { return Ok(None) };
        let failed = |failure: EncryptionFailure| self.failed(failure.into());
        let stored = decode_state(&plain).ok().flatten().unwrap_or_default();
        let identity = StateIdentity { lineage: &stored.lineage, serial: stored.serial };
        encryption.encrypt(&plain, Some(identity)).await.map(Some).map_err(failed)
    }

    /// Applies the rules in the table in the module documentation.
    fn apply_journal(
        &mut self,
        content: JournalContent,
        loaded: &Loaded,
        decoded: Result<Option<State>, StateError>,
    ) -> Result<Snapshot, StateError> {
        let encrypts = self.encrypting().is_some();
        let fingerprint = journal::fingerprint([&*loaded.source.bytes]);
        let target = loaded.target();
        let Some(header) = &content.header else {
            let pending = Some(PendingRecovery::RemoveJournal);
            return Ok(Snapshot { pending, ..loaded.snapshot(decoded?.unwrap_or_default(), encrypts) });
        };
        let at_base = header.state == fingerprint || content.stored.contains(&fingerprint);
        let state = if let Some(finished) = &content.finished {
            let text = encode_state(finished).map_err(|problem| self.failed(problem))?;
            if text.as_bytes() == target {
                return Ok(Snapshot {
                    fingerprint: journal::fingerprint([target]),
                    exists: true,
                    pending: Some(PendingRecovery::RemoveJournal),
                    ..loaded.snapshot(finished.clone(), encrypts)
                });
            }
            if !at_base && let Ok(Some(stored)) = decode_state(target) {
                if stored.lineage != finished.lineage
                    || stored.serial < finished.serial
                    || !stored.same_content(finished)
                {
                    return Err(self.foreign_journal(header, decoded));
                }
                // For example, the user has pushed the state that was saved elsewhere.
                return Ok(Snapshot {
                    fingerprint: journal::fingerprint([target]),
                    exists: true,
                    pending: Some(PendingRecovery::RemoveJournal),
                    ..loaded.snapshot(stored, encrypts)
                });
            }
            finished.clone()
        } else {
            if !at_base {
                return Err(self.foreign_journal(header, decoded));
            }
            let mut state = decoded?.unwrap_or_default();
            for change in &content.changes {
                state.set_instance(&change.address, &change.provider, change.instance.clone());
            }
            state.lineage.clone_from(&header.lineage);
            state.serial = state.serial.max(header.serial).saturating_add(1);
            state.terraform_version.clone_from(&self.options.terraform_version);
            state
        };
        self.recovery = Some(Recovery {
            journal: self.options.journal.clone(),
            changes: content.changes.len(),
            incomplete: content.incomplete.clone(),
            ignored_bytes: content.ignored_bytes,
            folded: false,
        });
        Ok(Snapshot {
            exists: true,
            pending: Some(PendingRecovery::Write(content.cipher)),
            ..loaded.snapshot(state, encrypts)
        })
    }

    fn foreign_journal(
        &self,
        header: &journal::Header,
        decoded: Result<Option<State>, StateError>,
    ) -> StateError {
        let state = match decoded {
            Ok(Some(state)) => format!("lineage \"{}\", serial {}", state.lineage, state.serial),
            Ok(None) => "no state".to_owned(),
            Err(_) => "a file that cannot be read".to_owned(),
        };
        let journal = format!("lineage \"{}\", serial {}", header.lineage, header.serial);
        self.failed(StateProblem::ForeignJournal { path: self.options.journal.clone(), journal, state })
    }
}
