//! The lock on a state file. Both Wardian and Terraform respect it.
//!
//! The lock consists of an operating system lock on the complete state file and of a sidecar file.
//! The system always releases its lock when the process ends. The sidecar file,
//! `.terraform.tfstate.lock.info`, is one line of JSON that identifies the holder of the lock.
//!
//! On Linux, the lock belongs to the open file description: it conflicts with the process-wide lock
//! that Terraform acquires, but is not lost when other code of this process opens and closes the
//! same file. On other systems, the lock is process-wide, so only this crate may open a locked
//! state file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::sidecar::{Sidecars, open_no_follow, open_regular, read_no_follow};
use crate::storage::StorageError;

/// The reason for a lock, and its requester.
#[derive(Clone, Debug)]
pub struct LockRequest {
    /// `OperationTypePlan`, `OperationTypeApply`, ...
    pub operation: String,
    /// Free text.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The version of Wardian.
    pub version: String,
}

/// The content of the lock information file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LockInfo {
    /// The ID of the lock.
    #[serde(rename = "ID")]
    pub id: String,
    /// The operation that holds the lock.
    pub operation: String,
    /// Free text.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The version of Wardian or Terraform that holds the lock.
    pub version: String,
    /// The time at which the lock was acquired, in RFC 3339 format.
    pub created: String,
    /// The path of the state file.
    pub path: String,
}

impl LockInfo {
    /// Returns the information of a new lock, with a random ID and the current time.
    pub fn new(request: &LockRequest, path: impl Into<String>) -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            operation: request.operation.clone(),
            info: request.info.clone(),
            who: request.who.clone(),
            version: request.version.clone(),
            created: format!("{:.9}", jiff::Timestamp::now()),
            path: path.into(),
        }
    }

    /// Reads lock information that another program has stored. Members that are missing are empty.
    pub fn from_json(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Returns the information as Terraform stores it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A lock that could not be acquired or released.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process holds the lock.
    #[error("{}", held_by(location, holder.as_deref()))]
    Held {
        /// The path of the state file, or the location in a storage.
        location: String,
        /// The holder, if the lock information can be read.
        holder: Option<Box<LockInfo>>,
        /// Whether the lock ends with the process that holds it.
        ends_with_process: bool,
    },
    /// A system call failed.
    #[error("failed to {doing} {}: {error}", path.display())]
    Io {
        /// The attempted operation, as shown in the message.
        doing: &'static str,
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The operating system releases the lock, so it cannot be released otherwise.
    #[error("the lock on {} belongs to the operating system", path.display())]
    SystemLock {
        path: PathBuf,
        /// The ID of the lock to be released.
        id: String,
        /// Whether a process holds the lock.
        is_held: bool,
    },
    /// The storage does not support locks.
    #[error("the state {location} cannot be locked: {reason}")]
    Unsupported { location: String, reason: String },
    /// There is no lock with the ID.
    #[error("{}", other_lock(location, id, found.as_deref()))]
    OtherLock {
        location: String,
        /// The ID of the lock to be released.
        id: String,
        /// The lock that is held instead.
        found: Option<Box<LockInfo>>,
    },
    /// The storage could not be reached, or rejected a request.
    #[error("{location}: {error}")]
    Storage {
        location: String,
        #[source]
        error: StorageError,
    },
}

fn other_lock(location: &str, id: &str, found: Option<&LockInfo>) -> String {
    match found {
        None => format!("the state {location} is not locked, so there is no lock {id} to release"),
        Some(found) => format!(
            "lock ID \"{id}\" does not match the existing lock ID \"{}\" on the state {location}, which {} has \
             held since {}",
            found.id, found.who, found.created
        ),
    }
}

fn held_by(path: &str, holder: Option<&LockInfo>) -> String {
    match holder {
        None => format!("the state {path} is locked by another process, which left no lock information"),
        Some(LockInfo { id, operation, who, version, created, .. }) => format!(
            "the state {path} is locked by {who} since {created} for {operation} (version {version}, lock ID {id})"
        ),
    }
}

/// The files of the locks that this process holds. [`remove_lock_information`] removes them if the
/// process ends without dropping its locks.
static HELD: Mutex<Vec<LockFiles>> = Mutex::new(Vec::new());

/// The files that are removed together with a lock.
#[derive(Clone, Debug)]
struct LockFiles {
    id: String,
    info_path: PathBuf,
    /// The state file, if the lock created it.
    created_state: Option<PathBuf>,
}

impl LockFiles {
    /// Removes the lock information unless another lock has replaced it, and a created state file
    /// if it is unused.
    fn remove(&self, is_unused: impl FnOnce(&Path) -> bool) {
        if read_info(&self.info_path).is_some_and(|info| info.id == self.id) {
            let _ = fs::remove_file(&self.info_path);
        }
        if let Some(state) = self.created_state.as_deref().filter(|state| is_unused(state)) {
            let _ = fs::remove_file(state);
        }
    }
}

/// Removes the lock information of all locks that this process holds. The system releases the locks
/// themselves when the process ends, so the caller must end the process immediately.
pub fn remove_lock_information() {
    let held = std::mem::take(&mut *HELD.lock().unwrap_or_else(PoisonError::into_inner));
    for files in held {
        files.remove(|state| fs::metadata(state).is_ok_and(|metadata| metadata.len() == 0));
    }
}

/// An acquired lock. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Lock {
    file: Option<File>,
    info: LockInfo,
    files: LockFiles,
}

impl Lock {
    /// Attempts to acquire the lock once.
    pub(crate) fn acquire(path: &Path, request: &LockRequest) -> Result<Self, LockError> {
        let failed = |doing: &'static str| {
            let path = path.to_owned();
            move |error: io::Error| LockError::Io { doing, path, error }
        };
        let info_path = Sidecars::for_state(path).lock_info;
        loop {
            let created_file = !path.exists();
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let file = open_regular(path, &options).map_err(failed("open the state"))?;
            match system::try_lock(&file) {
                Ok(true) => {}
                Ok(false) => {
                    let holder = read_info(&info_path).map(Box::new);
                    return Err(LockError::Held {
                        location: path.display().to_string(),
                        holder,
                        ends_with_process: true,
                    });
                }
                Err(error) => return Err(failed("lock the state")(error)),
            }
            // The previous holder may have removed the file after this process opened it and before
            // this process locked it; the lock is then held on an unlinked file.
            if !is_same_file(&file, path) {
                continue;
            }
            let info = LockInfo::new(request, path.display().to_string());
            let created_state = created_file.then(|| path.to_owned());
            let files = LockFiles { id: info.id.clone(), info_path, created_state };
            let lock = Self { file: Some(file), info, files };
            lock.write_info().map_err(|error| LockError::Io {
                doing: "write the lock information",
                path: lock.files.info_path.clone(),
                error,
            })?;
            HELD.lock().unwrap_or_else(PoisonError::into_inner).push(lock.files.clone());
            return Ok(lock);
        }
    }

    /// Returns whether a process holds the lock. A state that does not exist is not locked.
    pub(crate) fn is_held(path: &Path) -> bool {
        let file = open_regular(path, OpenOptions::new().read(true).write(true));
        file.and_then(|file| system::try_lock(&file)).is_ok_and(|is_free| !is_free)
    }

    fn write_info(&self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        open_no_follow(&self.files.info_path, &options)?.write_all(self.info.to_json().as_bytes())
    }

    pub(crate) fn info(&self) -> &LockInfo {
        &self.info
    }

    /// Returns the state file. It is open for reading and writing.
    pub(crate) fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::Error::other("the lock is released"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else {
            return;
        };
        HELD.lock().unwrap_or_else(PoisonError::into_inner).retain(|held| held.id != self.info.id);
        let is_empty = file.metadata().is_ok_and(|metadata| metadata.len() == 0);
        self.files.remove(|state| is_empty && is_same_file(&file, state));
    }
}

fn read_info(path: &Path) -> Option<LockInfo> {
    serde_json::from_slice(&read_no_follow(path).ok()?).ok()
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

    /// Attempts to lock the file. Returns `false` if another process has locked it.
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

    /// Attempts to lock the file. Returns `false` if another process has locked it.
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

    /// Attempts to lock the file. Returns `false` if another process has locked it.
    pub(super) fn try_lock(file: &File) -> io::Result<bool> {
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
