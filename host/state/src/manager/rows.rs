//! States in storages that keep rows separately.
//!
//! Each run on this machine has its own journal, whose name ends with the run's ID, and a file that
//! is locked while the process runs. A journal whose file is not locked belongs to an interrupted
//! run. The next run takes the locks of the interrupted run, and stores the changes in its journal that
//! the storage does not contain.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::load::{PendingRecovery, Snapshot};
use super::{Recovery, StateManager};
use crate::error::{StateError, StateProblem};
use crate::journal::{self, Journal, JournalContent};
use crate::model::{State, new_lineage};
use crate::row_run::{RowRun, no_rows};
use crate::row_storage::{RowBatch, RowLockError, RowLocks, RowStorage, RunId, StateVersion};
use crate::rows::{RowChanges, RowKey, StateRow};
use crate::sidecar::open_no_follow;
use crate::storage::{StorageError, StorageVersion};

/// The suffix of the file that is locked while a run's process exists.
const ALIVE_SUFFIX: &str = "alive";

/// The time after which a file that is locked while a process exists is locked.
const UNLOCKED_TIME: Duration = Duration::from_mins(1);

/// The journal of an interrupted run.
#[derive(Debug, Clone)]
pub(super) struct InterruptedRun {
    run: RunId,
    journal: PathBuf,
    content: Arc<JournalContent>,
    /// Locked until the journal is removed.
    _alive: Arc<File>,
}

impl StateManager {
    /// Returns whether the storage keeps rows separately, so that runs lock rows.
    pub fn has_rows(&self) -> bool {
        self.storage.rows().is_some()
    }

    /// Locks the rows that a run writes and reads, if none of them has changed after `base`, the serial
    /// of the state on which the run is based. Has no effect if the storage does not keep rows.
    ///
    /// # Errors
    /// Returns the conflicts with other runs.
    pub async fn lock_rows(&self, locks: &RowLocks, base: u64) -> Result<(), RowLockError> {
        match self.storage.rows() {
            Some(rows) => rows.lock_rows(locks, base).await,
            None => Ok(()),
        }
    }

    /// Reads the state again, because another run has changed it.
    ///
    /// # Errors
    /// Returns the same errors as [`StateManager::read`].
    pub async fn read_again(&mut self) -> Result<Arc<State>, StateError> {
        self.read = None;
        self.read().await
    }

    /// Returns the store for the changes of a run that is based on a state, if the storage keeps rows.
    pub fn row_run(&self, journal: &Journal, base: &State) -> Option<RowRun> {
        self.storage.rows()?;
        let storage = Arc::clone(&self.storage);
        Some(RowRun::new(storage, base.clone(), journal.lineage(), &self.options.terraform_version))
    }

    /// Continues with the store of a run that has ended, for [`StateManager::finish`].
    pub fn set_row_run(&mut self, run: RowRun) {
        self.row_run = Some(run);
    }

    /// Returns the versions of the state, the newest first.
    ///
    /// # Errors
    /// Returns an error if the storage does not keep versions, or they cannot be read.
    pub async fn versions(&self, limit: usize) -> Result<Vec<StateVersion>, StateError> {
        self.rows()?.versions(limit).await
    }

    /// Returns the state with a serial; [`None`] if there was none.
    ///
    /// # Errors
    /// Returns an error if the storage does not keep versions, or the version cannot be read.
    pub async fn read_version(&self, serial: u64) -> Result<Option<State>, StateError> {
        let rows = self.rows()?.read_rows(Some(serial)).await?;
        rows.map(|rows| rows.into_state().map_err(|problem| self.failed(problem))).transpose()
    }

    fn rows(&self) -> Result<&dyn RowStorage, StateError> {
        self.storage.rows().ok_or_else(|| self.failed(no_rows()))
    }

    pub(super) async fn load_rows(&mut self) -> Result<Snapshot, StateError> {
        self.recovery = None;
        if self.encryption.is_some() {
            return Err(self.failed(encryption_not_supported()));
        }
        let stored = self.rows()?.read_rows(None).await?;
        let exists = stored.is_some();
        let state = stored.map(crate::rows::StateRows::into_state).transpose();
        let mut state = state.map_err(|problem| self.failed(problem))?.unwrap_or_default();
        let interrupted = self.interrupted_runs().await?;
        for run in &interrupted {
            for change in &run.content.changes {
                state.set_instance(&change.address, &change.provider, change.instance.clone());
            }
        }
        let version = StorageVersion::Tag(state.serial.to_string());
        let pending = (!interrupted.is_empty()).then(|| {
            self.recovery = Some(Recovery {
                journal: interrupted.iter().map(|run| run.journal.clone()).next().unwrap_or_default(),
                changes: interrupted.iter().map(|run| run.content.changes.len()).sum(),
                incomplete: interrupted.iter().flat_map(|run| run.content.incomplete.clone()).collect(),
                ignored_bytes: interrupted.iter().map(|run| run.content.ignored_bytes).sum(),
                folded: false,
            });
            PendingRecovery::Rows(interrupted)
        });
        Ok(Snapshot {
            state: Arc::new(state),
            fingerprint: String::new(),
            version,
            exists,
            pending,
            is_outdated: false,
            plain_target: None,
        })
    }

    /// Returns the journals of interrupted runs on this machine. A journal without changes and
    /// intents is removed.
    async fn interrupted_runs(&self) -> Result<Vec<InterruptedRun>, StateError> {
        let base = &self.options.journal;
        let (Some(directory), Some(name)) = (base.parent(), base.file_name()) else { return Ok(Vec::new()) };
        let failed = |error| StateError::new(directory, StateProblem::io("list the journals")(error));
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let prefix = format!("{}.", name.to_string_lossy());
        let mut runs: Vec<RunId> = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(suffix) = name.to_str().and_then(|name| name.strip_prefix(&prefix)) else { continue };
            match suffix.strip_suffix(ALIVE_SUFFIX).and_then(|run| run.strip_suffix('.')) {
                None => runs.extend(suffix.parse::<RunId>()),
                // A process may have just created the file, and not locked it yet.
                Some(run) if is_old(&entry) => runs.extend(run.parse::<RunId>()),
                Some(_) => {}
            }
        }
        runs.sort_unstable();
        runs.dedup();
        let mut interrupted = Vec::new();
        for run in runs.into_iter().filter(|run| self.alive.as_ref().is_none_or(|(own, _)| own != run)) {
            let Some(alive) = self.lock_alive_file(run)? else { continue };
            let journal = self.journal_of(run);
            match journal::read(&journal, None).await? {
                Some(content) if !content.changes.is_empty() || !content.incomplete.is_empty() => {
                    let (content, alive) = (Arc::new(content), Arc::new(alive));
                    interrupted.push(InterruptedRun { run, journal, content, _alive: alive });
                }
                _ => self.remove_files(run)?,
            }
        }
        Ok(interrupted)
    }

    fn journal_of(&self, run: RunId) -> PathBuf {
        with_suffix(&self.options.journal, &run.to_string())
    }

    /// Locks the file of a run; `None` if its process exists.
    fn lock_alive_file(&self, run: RunId) -> Result<Option<File>, StateError> {
        let path = with_suffix(&self.journal_of(run), ALIVE_SUFFIX);
        let open = || {
            let file = open_no_follow(&path, OpenOptions::new().write(true).create(true))?;
            match file.try_lock() {
                Ok(()) => Ok(Some(file)),
                Err(fs::TryLockError::WouldBlock) => Ok(None),
                Err(fs::TryLockError::Error(error)) => Err(error),
            }
        };
        open().map_err(|error| StateError::new(&path, StateProblem::io("lock the file")(error)))
    }

    fn remove_files(&self, run: RunId) -> Result<(), StateError> {
        let journal = self.journal_of(run);
        journal::remove(&journal)?;
        journal::remove(&with_suffix(&journal, ALIVE_SUFFIX))
    }

    /// Stores the changes of interrupted runs, and removes their journals.
    pub(super) async fn recover_rows(&mut self, interrupted: Vec<InterruptedRun>) -> Result<(), StateError> {
        let rows = self.rows()?;
        let stored = rows.read_rows(None).await?.unwrap_or_default();
        let mut lineage = stored.lineage;
        let mut current: BTreeMap<RowKey, StateRow> =
            stored.rows.into_iter().map(|row| (row.key.clone(), row)).collect();
        for interrupted in &interrupted {
            let taken = rows.take_over(interrupted.run).await?;
            if let ("", Some(header)) = (&*lineage, &interrupted.content.header) {
                lineage.clone_from(&header.lineage);
            }
            let mut batch = RowBatch {
                lineage: lineage.clone(),
                terraform_version: self.options.terraform_version.clone(),
                ..RowBatch::default()
            };
            for (key, row) in last_changes(&interrupted.content) {
                if current.get(&key) == row.as_ref() {
                    continue;
                }
                if !taken.rows.contains(&key) {
                    // No request was sent for a row that the run had not locked when it was interrupted.
                    if !taken.was_ended {
                        continue;
                    }
                    let path = interrupted.journal.clone();
                    let journal = format!("run {}", interrupted.run);
                    let state = format!("the locks of the run were released, and {key} is different");
                    return Err(self.failed(StateProblem::ForeignJournal { path, journal, state }));
                }
                match row {
                    Some(row) => {
                        current.insert(key, row.clone());
                        batch.set.push(row);
                    }
                    None => {
                        current.remove(&key);
                        batch.removed.push(key);
                    }
                }
            }
            rows.store_rows(&batch).await?;
        }
        rows.end_recovery().await?;
        let runs: Vec<RunId> = interrupted.iter().map(|run| run.run).collect();
        drop(interrupted);
        for run in runs {
            self.remove_files(run)?;
        }
        let recovery = self.recovery.take();
        self.read = Some(self.load_rows().await?);
        self.recovery = recovery;
        Ok(())
    }

    /// Starts the journal of the run that holds the lock.
    pub(super) fn begin_rows(&mut self, state: &State) -> Result<Journal, StateError> {
        let run = self.rows()?.run().ok_or_else(|| self.failed(not_locked()))?;
        if self.alive.as_ref().is_none_or(|(own, _)| *own != run) {
            let file = self.lock_alive_file(run)?;
            let file =
                file.ok_or_else(|| StateError::new(&self.journal_of(run), StateProblem::ChangedMeanwhile))?;
            self.alive = Some((run, file));
        }
        let lineage = if state.lineage.is_empty() { new_lineage() } else { state.lineage.clone() };
        Ok(Journal::new(self.journal_of(run), &lineage, state.serial, &format!("run {run}"), None))
    }

    /// Stores the final state of a run, and removes the journal.
    pub(super) async fn finish_rows(
        &mut self,
        mut journal: Journal,
        before: &State,
        state: &State,
    ) -> Result<Arc<State>, StateError> {
        let mut run = match self.row_run.take() {
            Some(run) => run,
            None => self.row_run(&journal, before).ok_or_else(|| self.failed(no_rows()))?,
        };
        let serial = run.finish(state).await?;
        journal.discard()?;
        if let Some((run, file)) = self.alive.take() {
            drop(file);
            self.remove_files(run)?;
        }
        let lineage = if serial == 0 { String::new() } else { journal.lineage().to_owned() };
        let terraform_version = self.options.terraform_version.clone();
        let stored = Arc::new(State { lineage, serial, terraform_version, ..state.clone() });
        let version = StorageVersion::Tag(serial.to_string());
        let state = Arc::clone(&stored);
        self.read = Some(Snapshot {
            state,
            fingerprint: String::new(),
            version,
            exists: serial > 0,
            pending: None,
            is_outdated: false,
            plain_target: None,
        });
        Ok(stored)
    }

    /// Stores a state with its lineage, as the next version.
    pub(super) async fn replace_rows(&mut self, next: &State) -> Result<Arc<State>, StateError> {
        let before = self.read().await?;
        let changes = RowChanges::between(&before, next).map_err(|problem| self.failed(problem))?;
        let is_same = changes.is_empty() && before.lineage == next.lineage && next.serial <= before.serial;
        if is_same && self.read.as_ref().is_some_and(|read| read.exists) {
            return Ok(before);
        }
        let locks = RowLocks { write: changes.keys().cloned().collect(), ..RowLocks::default() };
        let rows = self.rows()?;
        rows.lock_rows(&locks, before.serial).await.map_err(|error| self.lock_failed(error))?;
        let batch = RowBatch {
            set: changes.set,
            removed: changes.removed,
            lineage: next.lineage.clone(),
            terraform_version: next.terraform_version.clone(),
            least_serial: next.serial.max(1),
            begun: Vec::new(),
        };
        let serial = rows.store_rows(&batch).await?;
        let stored = Arc::new(State { serial, ..next.clone() });
        let version = StorageVersion::Tag(serial.to_string());
        let state = Arc::clone(&stored);
        self.read = Some(Snapshot {
            state,
            fingerprint: String::new(),
            version,
            exists: true,
            pending: None,
            is_outdated: false,
            plain_target: None,
        });
        Ok(stored)
    }

    fn lock_failed(&self, error: RowLockError) -> StateError {
        match error {
            RowLockError::Storage(error) => error,
            RowLockError::Conflicts { .. } => self.failed(StorageError::new(error.to_string()).into()),
        }
    }
}

/// Returns the last change of each instance in a journal; `None` if the instance was removed.
fn last_changes(content: &JournalContent) -> BTreeMap<RowKey, Option<StateRow>> {
    let changes = content.changes.iter().map(|change| {
        let row = (!change.instance.is_empty())
            .then(|| StateRow::for_instance(&change.address, &change.provider.to_string(), &change.instance));
        (RowKey::for_instance(&change.address), row)
    });
    changes.collect()
}

/// Returns whether a file was created so long ago that its process has locked it or does not exist.
fn is_old(entry: &fs::DirEntry) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > UNLOCKED_TIME))
}

fn encryption_not_supported() -> StateProblem {
    StorageError::new(
        "the backend stores each object separately, and does not support encryption of the state",
    )
    .with_advice("remove the state's encryption, or use another backend")
    .into()
}

fn not_locked() -> StateProblem {
    StorageError::new("the state is not locked, so nothing can be written").into()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(".");
    name.push(suffix);
    name.into()
}
