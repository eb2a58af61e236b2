//! The lock on a state file, which Wardian and Terraform respect alike.
//!
//! Two parts: a lock of the operating system on the whole state file, which ends
//! with the process whatever happens, and a file beside it that tells others who
//! holds it: `.terraform.tfstate.lock.info`, one line of JSON.
//!
//! On Linux the lock is one of the open file description: it conflicts with the
//! process-wide lock that Terraform takes, but unlike that is not lost when some
//! other part of this process opens and closes the same file. Elsewhere it is
//! process-wide, and nothing but this crate may open a locked state file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::beside::{beside, open_itself, read_itself};

/// Why a lock is wanted and by whom.
#[derive(Clone, Debug)]
pub struct LockRequest {
    /// `OperationTypePlan`, `OperationTypeApply`, ...
    pub operation: String,
    /// Free text.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The version of this program.
    pub version: String,
    /// How long to try; zero for once.
    pub timeout: Duration,
}

/// What the file beside a locked state says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LockInfo {
    /// Names this lock.
    #[serde(rename = "ID")]
    pub id: String,
    /// What it is held for.
    pub operation: String,
    /// Free text.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The holder's version.
    pub version: String,
    /// Since when, RFC 3339.
    pub created: String,
    /// The state file.
    pub path: String,
}

/// A lock could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody else has it.
    #[error("{}", held_by(path, holder.as_deref()))]
    Held {
        /// The state file.
        path: PathBuf,
        /// Who, where they say so.
        holder: Option<Box<LockInfo>>,
    },
    /// The system refused.
    #[error("failed to {doing} {}: {error}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        error: io::Error,
    },
}

fn held_by(path: &Path, holder: Option<&LockInfo>) -> String {
    let path = path.display();
    match holder {
        None => format!("the state {path} is locked by another process, which left no note about itself"),
        Some(LockInfo { id, operation, who, version, created, .. }) => format!(
            "the state {path} is locked by {who} since {created} for {operation} (version {version}, lock ID {id})"
        ),
    }
}

/// A lock that is held. Dropping it releases it.
#[derive(Debug)]
pub(crate) struct Lock {
    file: Option<File>,
    path: PathBuf,
    info: LockInfo,
    info_path: PathBuf,
    created_file: bool,
}

impl Lock {
    /// Tries once, and again after one second, two, four and so on up to
    /// sixteen, until the time is up.
    pub(crate) fn acquire(path: &Path, request: &LockRequest) -> Result<Self, LockError> {
        let deadline = Instant::now() + request.timeout;
        let mut pause = Duration::from_secs(1);
        loop {
            let refused = match Self::try_acquire(path, request) {
                Err(refused @ LockError::Held { .. }) => refused,
                done => return done,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(refused);
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_secs(16));
        }
    }

    fn try_acquire(path: &Path, request: &LockRequest) -> Result<Self, LockError> {
        let failed = |doing: &'static str| {
            let path = path.to_owned();
            move |error: io::Error| LockError::Io { doing, path, error }
        };
        let info_path = beside(path, ".lock.info");
        loop {
            let created_file = !path.exists();
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(failed("open the state"))?;
            match system::try_lock(&file) {
                Ok(true) => {}
                Ok(false) => {
                    let holder = read_info(&info_path).map(Box::new);
                    return Err(LockError::Held { path: path.to_owned(), holder });
                }
                Err(error) => return Err(failed("lock the state")(error)),
            }
            // Whoever held it before may have removed the file between our
            // opening and locking it; then the lock is on a file without a name.
            if !is_same_file(&file, path) {
                continue;
            }
            let info = LockInfo {
                id: uuid::Uuid::new_v4().to_string(),
                operation: request.operation.clone(),
                info: request.info.clone(),
                who: request.who.clone(),
                version: request.version.clone(),
                created: format!("{:.9}", jiff::Timestamp::now()),
                path: path.display().to_string(),
            };
            let lock = Self { file: Some(file), path: path.to_owned(), info, info_path, created_file };
            lock.write_info().map_err(|error| LockError::Io {
                doing: "write the note about the lock",
                path: lock.info_path.clone(),
                error,
            })?;
            return Ok(lock);
        }
    }

    fn write_info(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let text = serde_json::to_string(&self.info)?;
        open_itself(&self.info_path, &options)?.write_all(text.as_bytes())
    }

    pub(crate) fn info(&self) -> &LockInfo {
        &self.info
    }

    /// The state file, open for reading and writing.
    pub(crate) fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::Error::other("the lock is released"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else {
            return;
        };
        if read_info(&self.info_path).is_some_and(|info| info.id == self.info.id) {
            let _ = fs::remove_file(&self.info_path);
        }
        let untouched = file.metadata().is_ok_and(|metadata| metadata.len() == 0);
        if self.created_file && untouched && is_same_file(&file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn read_info(path: &Path) -> Option<LockInfo> {
    serde_json::from_slice(&read_itself(path).ok()?).ok()
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => open.dev() == named.dev() && open.ino() == named.ino(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::fs::File;
    use std::io;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    /// Whether the lock was to be had.
    pub(super) fn try_lock(file: &File) -> io::Result<bool> {
        #[allow(clippy::cast_possible_truncation, reason = "small constants; their types differ by system")]
        let whole_file = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        match fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file)) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod system {
    use std::fs::File;
    use std::io;

    use rustix::fs::{FlockOperation, fcntl_lock};
    use rustix::io::Errno;

    /// Whether the lock was to be had.
    pub(super) fn try_lock(file: &File) -> io::Result<bool> {
        match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{File, TryLockError};
    use std::io;

    /// Whether the lock was to be had.
    pub(super) fn try_lock(file: &File) -> io::Result<bool> {
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
