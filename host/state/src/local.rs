//! A state in a local file.
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

mod backup;
mod rewrite;

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::error::{StateError, StateProblem};
use crate::lock::{Lock, LockError, LockInfo, LockRequest};
use crate::sidecar::open_regular;
use crate::storage::{StateContent, StateStorage, StorageVersion, StoredState};

pub(crate) use backup::write_file;

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

/// A state in a local file. Dropping it releases its lock.
#[derive(Debug)]
pub struct LocalStorage {
    path: PathBuf,
    backup: BackupRule,
    access: Mutex<FileAccess>,
}

#[derive(Debug, Default)]
struct FileAccess {
    lock: Option<Lock>,
    is_backed_up: bool,
}

impl LocalStorage {
    /// Returns the storage in a file, which does not have to exist.
    pub fn new(path: impl Into<PathBuf>, backup: BackupRule) -> Self {
        Self { path: path.into(), backup, access: Mutex::default() }
    }

    fn access(&self) -> MutexGuard<'_, FileAccess> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self, access: &FileAccess) -> Result<Vec<u8>, StateError> {
        let Some(lock) = &access.lock else {
            return read_file(&self.path);
        };
        let read = || {
            let mut file = lock.file()?;
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(0))?;
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error| StateError::new(&self.path, StateProblem::io("read the state")(error)))
    }
}

#[async_trait]
impl StateStorage for LocalStorage {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.path.clone())
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        Ok(StoredState { bytes: self.bytes(&self.access())?, version: StorageVersion::Unknown })
    }

    async fn prepare_write(&self, backup: Option<&[u8]>) -> Result<(), StateError> {
        self.back_up(&mut self.access(), backup)
    }

    async fn write(
        &self,
        content: &StateContent,
        _expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        self.rewrite(&self.access(), content.parts())?;
        Ok(StorageVersion::Unknown)
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        let lock = Lock::acquire(&self.path, request)?;
        let info = lock.info().clone();
        self.access().lock = Some(lock);
        Ok(info)
    }

    async fn unlock(&self) -> Result<(), LockError> {
        self.access().lock = None;
        Ok(())
    }

    /// Always fails: the lock belongs to the operating system, which releases it when the process
    /// that holds it ends, even after a crash.
    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        Err(LockError::SystemLock {
            path: self.path.clone(),
            id: id.to_owned(),
            is_held: Lock::is_held(&self.path),
        })
    }
}

/// Returns the bytes of a file; empty if the file does not exist.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, StateError> {
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
