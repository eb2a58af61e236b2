//! Locks of entries, and temporary directories that are locked while they are used.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wardian_cache::temporary_path;
use wardian_digest::Sha256Digest;

use super::{ModuleCache, ModuleCacheError};

/// The interval between two attempts to lock an entry.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(20);
/// The time after which a waiting process reports that it waits.
const REPORT_AFTER: Duration = Duration::from_secs(5);

/// A locked entry. Dropping it releases the lock.
pub(crate) struct EntryLock {
    _file: File,
}

impl ModuleCache {
    /// Locks an entry. Waits while another process, or another task of this process, holds the
    /// lock. If the wait is long, `waiting` is called once.
    pub(crate) async fn lock(
        &self,
        entry: &str,
        waiting: impl FnOnce(),
    ) -> Result<EntryLock, ModuleCacheError> {
        let path = self.lock_path(entry);
        lock_file(&path, waiting).await.map_err(|error| ModuleCacheError::new(&path, error))
    }

    /// Locks an entry, unless it is already locked.
    pub(super) fn try_lock(&self, entry: &str) -> Option<EntryLock> {
        let file =
            File::options().create(true).truncate(false).write(true).open(self.lock_path(entry)).ok()?;
        file.try_lock().ok().map(|()| EntryLock { _file: file })
    }

    fn lock_path(&self, entry: &str) -> PathBuf {
        self.root.join("locks").join(format!("{}.lock", Sha256Digest::hash(entry.as_bytes())))
    }
}

/// Locks a file, which is created if necessary, or an existing directory.
pub(crate) async fn lock_file(path: &Path, waiting: impl FnOnce()) -> io::Result<EntryLock> {
    let file = if path.is_dir() {
        File::open(path)?
    } else {
        File::options().create(true).truncate(false).write(true).open(path)?
    };
    let start = Instant::now();
    let mut waiting = Some(waiting);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(EntryLock { _file: file }),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(ATTEMPT_INTERVAL).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if start.elapsed() >= REPORT_AFTER
            && let Some(waiting) = waiting.take()
        {
            waiting();
        }
    }
}

/// A directory that is removed when this value is dropped, or by a later process if this process is
/// killed.
pub(crate) struct TemporaryDirectory {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl TemporaryDirectory {
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        loop {
            let path = temporary_path(&parent.join("package"))?;
            let lock_path = path.with_extension("lock");
            let lock = File::options().create_new(true).write(true).open(&lock_path)?;
            let is_locked = match lock.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(error),
            };
            // Another process may have considered the file abandoned before it was locked.
            if is_locked && lock_path.exists() {
                fs::create_dir(&path)?;
                return Ok(Self { path, lock_path, _lock: lock });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove a temporary directory");
        }
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// Removes the temporary directories of processes that were killed.
pub(super) fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let lock_path = entry.path();
        if lock_path.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        let Ok(lock) = File::options().write(true).open(&lock_path) else { continue };
        if lock.try_lock().is_ok() {
            let removed = fs::remove_dir_all(lock_path.with_extension("tmp"));
            if removed.is_ok() || removed.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                let _ = fs::remove_file(&lock_path);
            }
        }
    }
}
