//! Reads, writes and backs up a state in a local file, and recovers interrupted runs.
//!
//! # How the file is replaced
//!
//! The lock is on the file itself, and a Terraform process that waits for the lock keeps the file
//! open. If a new file were renamed to the state's path, that process would lock, read and write
//! the unlinked file. Therefore the file is rewritten in place. The journal makes this safe: before
//! the first byte of the file changes, the journal on disk contains the complete new state.
//!
//! While the file is rewritten, its first byte is a byte with which JSON documents cannot begin;
//! the correct first byte is written last. Any program that reads the partially written file,
//! including Terraform, therefore detects that it is damaged, and never reads an empty or truncated
//! state.
//!
//! # Recovery of an interrupted run
//!
//! | journal | state file | action |
//! |---|---|---|
//! | the first record is incomplete | any | no change was recorded: the journal is removed |
//! | changes | unchanged since the run started | the changes are merged, and the serial is incremented by one |
//! | changes | another state | rejected: the state was changed by another run |
//! | changes and the new state | the new state | the journal is removed |
//! | changes and the new state | unchanged, or unreadable | the new state is written |
//! | changes and the new state | another state | rejected |
//!
//! A truncated last record is ignored. Recovery writes to the file only if the state is locked or a
//! write is requested; other readers receive the state that recovery would produce.

mod backup;
mod rewrite;

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::error::{StateError, StateProblem};
use crate::format::{CompactState, decode_state, encode_compact, encode_state};
use crate::journal::{self, Intent, Journal, JournalContent};
use crate::lock::{Lock, LockError, LockInfo, LockRequest};
use crate::model::{State, new_lineage};
use crate::sidecar::{Sidecars, open_regular};

#[derive(Clone, Debug)]
pub struct StateFileOptions {
    /// The program version that is written to the state file. Terraform must accept it.
    pub terraform_version: String,
    /// Whether the previous state is backed up, and the file of the backup.
    pub backup: BackupRule,
    /// The file from which the state is read first, if it is not the state file itself.
    pub read_from: Option<PathBuf>,
}

/// Whether the state before the first change is backed up, and the file of the backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BackupRule {
    /// Next to the state, with `.backup` appended to its name.
    #[default]
    DefaultPath,
    /// The backup is written to this file.
    At(PathBuf),
    /// No backup.
    Off,
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

#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    options: StateFileOptions,
    lock: Option<Lock>,
    read: Option<Snapshot>,
    recovery: Option<Recovery>,
    backed_up: bool,
}

/// The state as it was last read or written.
#[derive(Debug, Clone)]
struct Snapshot {
    state: Arc<State>,
    /// The fingerprint of the bytes from which the state was read. It is stored in the journal.
    fingerprint: String,
    exists: bool,
    /// The recovery that must be completed before the next write.
    pending: Option<PendingRecovery>,
}

#[derive(Debug, Clone)]
enum PendingRecovery {
    Write,
    RemoveJournal,
}

impl StateFile {
    /// Opens the state in the file `path`. The file does not have to exist, and is not read yet.
    pub fn open(path: impl Into<PathBuf>, options: StateFileOptions) -> Self {
        Self { path: path.into(), options, lock: None, read: None, recovery: None, backed_up: false }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the state until [`StateFile::unlock`], or until this value is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if another process holds the lock for longer than the request waits.
    pub fn lock(&mut self, request: &LockRequest) -> Result<&LockInfo, LockError> {
        if self.lock.is_none() {
            self.lock = Some(Lock::acquire(&self.path, request)?);
            self.read = None;
        }
        match &self.lock {
            Some(lock) => Ok(lock.info()),
            None => Err(LockError::Held { path: self.path.clone(), holder: None }),
        }
    }

    /// Returns whether a process holds the lock of the state at a path.
    pub fn is_locked_at(path: &Path) -> bool {
        Lock::is_held(path)
    }

    pub fn unlock(&mut self) {
        self.lock = None;
    }

    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns the state. It is read once, and again after locking. If the file does not exist, the
    /// state is empty and has no lineage.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is not a readable state, or an interrupted run left a journal
    /// for a different state. In these cases, no file is changed.
    pub fn read(&mut self) -> Result<Arc<State>, StateError> {
        if let Some(read) = &self.read {
            return Ok(Arc::clone(&read.state));
        }
        let snapshot = self.load_with_retries()?;
        self.read = Some(snapshot.clone());
        if self.is_locked() {
            self.complete_recovery()?;
        }
        Ok(self.read.as_ref().map_or(snapshot.state, |read| Arc::clone(&read.state)))
    }

    /// Returns whether a state is on disk: a file that is not empty.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`StateFile::read`].
    pub fn exists(&mut self) -> Result<bool, StateError> {
        self.read()?;
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
    /// Returns the same errors as [`StateFile::read`].
    pub fn begin(&mut self) -> Result<Journal, StateError> {
        let state = self.read()?;
        self.complete_recovery()?;
        let lineage = if state.lineage.is_empty() { new_lineage() } else { state.lineage.clone() };
        let fingerprint = self.read.as_ref().map(|read| read.fingerprint.clone()).unwrap_or_default();
        Ok(Journal::new(self.journal_path(), &lineage, state.serial, &fingerprint))
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
    pub fn finish(
        &mut self,
        mut journal: Journal,
        refreshed: &State,
        state: &State,
    ) -> Result<Arc<State>, StateError> {
        let before = self.read()?;
        let exists = self.read.as_ref().is_some_and(|read| read.exists);
        let is_same = exists && state.same_content(&before) && state.same_objects(refreshed);
        if is_same && self.options.read_from.is_none() {
            journal.discard()?;
            return Ok(before);
        }
        if !self.is_locked() {
            self.check_unchanged()?;
        }
        // If the state is identical to the one that was read, its serial is not incremented.
        let next = State {
            lineage: journal.lineage().to_owned(),
            serial: before.serial.saturating_add(u64::from(!is_same)),
            terraform_version: self.options.terraform_version.clone(),
            ..state.clone()
        };
        self.replace(&mut journal, next)
    }

    /// Writes a state whose changes were not recorded individually.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`StateFile::finish`].
    pub fn write(&mut self, state: &State) -> Result<Arc<State>, StateError> {
        let (before, journal) = (self.read()?, self.begin()?);
        self.finish(journal, &before, state)
    }

    /// Writes a state with the lineage and serial that it contains, for `state push`. The caller
    /// must have checked that they may replace the stored lineage and serial.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`StateFile::finish`].
    pub fn write_verbatim(&mut self, state: &State) -> Result<Arc<State>, StateError> {
        let mut journal = self.begin()?;
        self.replace(&mut journal, state.clone())
    }

    /// Writes a state that could not be stored in its own file to `errored.tfstate` in a directory.
    /// An existing file with that name is replaced.
    ///
    /// # Errors
    ///
    /// Returns an error if that file also cannot be written.
    pub fn write_errored(directory: &Path, state: &State) -> Result<PathBuf, StateError> {
        let path = directory.join("errored.tfstate");
        let text = encode_state(state).map_err(|problem| StateError::new(&path, problem))?;
        backup::write_file(&path, text.as_bytes())?;
        Ok(path)
    }

    fn replace(&mut self, journal: &mut Journal, next: State) -> Result<Arc<State>, StateError> {
        let failed = |problem| StateError::new(&self.path, problem);
        let compact = encode_compact(&next).map_err(failed)?;
        let span = tracing::info_span!(
            target: "wardian::state",
            "write state",
            path = %self.path.display(),
            serial = next.serial,
            compact_bytes = compact.parts().map(str::len).sum::<usize>(),
        );
        let _writing = span.enter();
        let fingerprint = self.record_and_rewrite(journal, &compact)?;
        let state = Arc::new(next);
        self.read = Some(Snapshot { state: Arc::clone(&state), fingerprint, exists: true, pending: None });
        Ok(state)
    }

    /// Records a state in the journal, and then writes it to the file and removes the journal.
    /// Returns the fingerprint of the file.
    fn record_and_rewrite(
        &mut self,
        journal: &mut Journal,
        compact: &CompactState,
    ) -> Result<String, StateError> {
        self.back_up()?;
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
        self.rewrite(&text)?;
        journal.discard()?;
        self.options.read_from = None;
        Ok(fingerprint)
    }

    /// Completes a pending recovery.
    fn complete_recovery(&mut self) -> Result<(), StateError> {
        let Some(snapshot) = self.read.clone() else {
            return Ok(());
        };
        match snapshot.pending {
            None => return Ok(()),
            Some(PendingRecovery::RemoveJournal) => {
                journal::remove(&self.journal_path())?;
                self.read = Some(Snapshot { pending: None, ..snapshot });
            }
            Some(PendingRecovery::Write) => {
                let compact = encode_compact(&snapshot.state)
                    .map_err(|problem| StateError::new(&self.path, problem))?;
                let mut journal = Journal::reopen(self.journal_path())?;
                let fingerprint = self.record_and_rewrite(&mut journal, &compact)?;
                self.read = Some(Snapshot { fingerprint, exists: true, pending: None, ..snapshot });
            }
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.folded = true;
        }
        Ok(())
    }

    /// Loads the state, with retries, because another process may be rewriting the file. Rewriting
    /// takes no longer than a few retry intervals.
    fn load_with_retries(&mut self) -> Result<Snapshot, StateError> {
        let mut tries = 0;
        loop {
            match self.load() {
                Err(error)
                    if tries < 4
                        && !self.is_locked()
                        && matches!(error.problem, StateProblem::NotJson(_) | StateProblem::NotUtf8(_)) =>
                {
                    tries += 1;
                    thread::sleep(Duration::from_millis(5 << tries));
                }
                done => return done,
            }
        }
    }

    fn load(&mut self) -> Result<Snapshot, StateError> {
        self.recovery = None;
        let target = self.target_bytes()?;
        let source = match &self.options.read_from {
            None => target.clone(),
            Some(path) => Arc::from(read_file(path)?),
        };
        let decoded = decode_state(&source).map_err(|problem| {
            StateError::new(self.options.read_from.as_deref().unwrap_or(&self.path), problem)
        });
        let path = self.journal_path();
        let Some(content) = journal::read(&path)? else {
            let state = decoded?.unwrap_or_default();
            return Ok(Snapshot {
                state: Arc::new(state),
                fingerprint: journal::fingerprint([&*source]),
                exists: !source.is_empty(),
                pending: None,
            });
        };
        self.apply_journal(content, &source, &target, decoded)
    }

    /// Applies the rules in the table in the module documentation.
    fn apply_journal(
        &mut self,
        content: JournalContent,
        source: &[u8],
        target: &[u8],
        decoded: Result<Option<State>, StateError>,
    ) -> Result<Snapshot, StateError> {
        let fingerprint = journal::fingerprint([source]);
        let exists = !source.is_empty();
        let Some(header) = &content.header else {
            return Ok(Snapshot {
                state: Arc::new(decoded?.unwrap_or_default()),
                fingerprint,
                exists,
                pending: Some(PendingRecovery::RemoveJournal),
            });
        };
        let at_base = header.state == fingerprint;
        let state = if let Some(finished) = &content.finished {
            let text = encode_state(finished).map_err(|problem| StateError::new(&self.path, problem))?;
            if text.as_bytes() == target {
                return Ok(Snapshot {
                    state: Arc::new(finished.clone()),
                    fingerprint: journal::fingerprint([target]),
                    exists: true,
                    pending: Some(PendingRecovery::RemoveJournal),
                });
            }
            if !at_base && decode_state(target).is_ok_and(|state| state.is_some()) {
                return Err(self.foreign_journal(header, decoded));
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
            state.serial = header.serial.saturating_add(1);
            state.terraform_version.clone_from(&self.options.terraform_version);
            state
        };
        self.recovery = Some(Recovery {
            journal: self.journal_path(),
            changes: content.changes.len(),
            incomplete: content.incomplete.clone(),
            ignored_bytes: content.ignored_bytes,
            folded: false,
        });
        Ok(Snapshot {
            state: Arc::new(state),
            fingerprint,
            exists: true,
            pending: Some(PendingRecovery::Write),
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
        StateError::new(
            &self.path,
            StateProblem::ForeignJournal { path: self.journal_path(), journal, state },
        )
    }

    fn check_unchanged(&self) -> Result<(), StateError> {
        let now = match &self.options.read_from {
            None => self.target_bytes()?,
            Some(path) => read_file(path)?.into(),
        };
        match &self.read {
            Some(read) if read.fingerprint != journal::fingerprint([&*now]) => {
                Err(StateError::new(&self.path, StateProblem::ChangedMeanwhile))
            }
            _ => Ok(()),
        }
    }

    fn target_bytes(&self) -> Result<Arc<[u8]>, StateError> {
        let Some(lock) = &self.lock else {
            return read_file(&self.path).map(Into::into);
        };
        let read = || {
            let mut file = lock.file()?;
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(0))?;
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read()
            .map(Into::into)
            .map_err(|error| StateError::new(&self.path, StateProblem::io("read the state")(error)))
    }

    fn journal_path(&self) -> PathBuf {
        Sidecars::for_state(&self.path).journal
    }
}

/// Returns the bytes of a file; empty if the file does not exist.
fn read_file(path: &Path) -> Result<Vec<u8>, StateError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_regular(path, OpenOptions::new().read(true))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StateError::new(path, StateProblem::io("read the state")(error))),
    }
}
