//! Deciding on files: every access is put to the monitor under every name that a policy
//! has for what is accessed.
//!
//! An access is allowed if one of the names is granted and none is denied. Uses are
//! recorded for files that are opened, directories that are listed, and everything that
//! changes something. That something was looked at (whether it is there, how large it
//! is) is decided, and recorded only where it is denied.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use wardian_access::{AccessRequest, Denied, FileAccess, FileOperation};
use wardian_monitor::{Capability, Monitor, Use};
use wardian_plugin::PluginCall;
use wardian_policy::{Decision, DenialReason};

use super::granted::GrantedFiles;
use crate::current_call::{CallNumber, CurrentCall};
use crate::limits::{Bound, WroteTooMuch};

/// Who decides for an instance. Clones are the same.
#[derive(Clone)]
pub(crate) struct FileGuard(Arc<GuardState>);

struct GuardState {
    files: Arc<GrantedFiles>,
    call: CurrentCall,
    limit: Option<Bound<u64>>,
    /// Bytes that the call may still write.
    left: AtomicU64,
}

/// Why something was not done to a file.
#[derive(Debug)]
pub(crate) enum FileError {
    /// It may not be.
    Denied(Denied),
    /// The system says so.
    System(io::Error),
    /// The call has written all that it may.
    TooMuch(WroteTooMuch),
}

impl From<Denied> for FileError {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// What is decided on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessScope {
    /// What is at a path.
    Path,
    /// That and all below it.
    Tree,
}

impl FileGuard {
    pub(crate) fn new(files: Arc<GrantedFiles>, call: CurrentCall, limit: Option<Bound<u64>>) -> Self {
        let left = AtomicU64::new(limit.as_ref().map_or(u64::MAX, |limit| limit.value));
        Self(Arc::new(GuardState { files, call, limit, left }))
    }

    /// A call begins.
    pub(crate) fn restart(&self) {
        let most = self.0.limit.as_ref().map_or(u64::MAX, |limit| limit.value);
        self.0.left.store(most, Ordering::Relaxed);
    }

    /// Decides on what the plugin does.
    pub(crate) fn monitor(&self) -> &Monitor {
        self.0.call.monitor()
    }

    /// The call as it is now.
    pub(crate) fn call(&self) -> PluginCall {
        self.0.call.get()
    }

    pub(crate) fn files(&self) -> &GrantedFiles {
        &self.0.files
    }

    /// A use begins, if it may. `path` has no links in it.
    pub(crate) fn begin(
        &self,
        path: &Path,
        access: FileOperation,
        extent: AccessScope,
    ) -> Result<Use, FileError> {
        self.begin_as(path, &[], access, extent)
    }

    /// As [`FileGuard::begin`], of a file that has these names beside its own.
    fn begin_as(
        &self,
        path: &Path,
        further: &[&Path],
        access: FileOperation,
        extent: AccessScope,
    ) -> Result<Use, FileError> {
        let request = self.deciding(path, further, access, extent)?;
        Ok(self.0.call.monitor().begin(&self.0.call.get(), request)?)
    }

    /// The request that is granted, or else the one whose denial counts.
    fn deciding(
        &self,
        path: &Path,
        further: &[&Path],
        access: FileOperation,
        extent: AccessScope,
    ) -> Result<AccessRequest, FileError> {
        let names = self.0.files.names();
        let mut others = names.others(path).chain(further.iter().map(|path| path.to_path_buf())).peekable();
        let below = (extent == AccessScope::Tree).then(|| names.others_below(path)).into_iter().flatten();
        let mut below = below.peekable();
        let own = request(path, access, extent)?;
        if others.peek().is_none() && below.peek().is_none() {
            return Ok(own);
        }
        let policy = self.0.call.monitor().policy();
        let is_granted = |request: &AccessRequest| policy.decide(request).is_allowed();
        let is_forbidden = |request: &AccessRequest| match policy.decide(request) {
            Decision::Allowed(_) => false,
            Decision::Denied(denial) => {
                matches!(denial.reason, DenialReason::Rule { .. } | DenialReason::Protected(_))
            }
        };
        if is_forbidden(&own) {
            return Ok(own);
        }
        let mut granted = is_granted(&own).then(|| own.clone());
        for name in others {
            let other = request(&name, access, extent)?;
            if is_forbidden(&other) {
                return Ok(other);
            }
            if granted.is_none() && is_granted(&other) {
                granted = Some(other);
            }
        }
        for name in below {
            let other = request(&name, access, AccessScope::Path)?;
            if is_forbidden(&other) {
                return Ok(other);
            }
        }
        Ok(granted.unwrap_or(own))
    }

    /// Whether a path may be accessed, without any use of it.
    pub(crate) fn is_allowed(&self, path: &Path, access: FileOperation, extent: AccessScope) -> bool {
        self.deciding(path, &[], access, extent)
            .is_ok_and(|request| self.0.call.monitor().policy().decide(&request).is_allowed())
    }

    /// Something is looked at: allowed where it may be read or written.
    pub(crate) fn look(&self, path: &Path) -> Result<(), FileError> {
        if self.is_allowed(path, FileOperation::Read, AccessScope::Path)
            || self.is_allowed(path, FileOperation::Write, AccessScope::Path)
        {
            return Ok(());
        }
        self.begin(path, FileOperation::Read, AccessScope::Path).map(drop)
    }

    /// A path leads out of the directory that it begins at. Whether what is there is
    /// granted makes no difference: it has a name of its own then.
    pub(crate) fn refuse_outside(&self, path: &Path, access: FileOperation) -> FileError {
        self.refuse(path, access, "the path leads out of the directory that it begins at")
    }

    /// A path begins with the name of no directory that is granted. What a policy grants
    /// has a name here too.
    pub(crate) fn refuse_unnamed(&self, path: &Path, access: FileOperation) -> FileError {
        self.refuse(path, access, "the path does not begin with the name of a directory that is granted")
    }

    fn refuse(&self, path: &Path, access: FileOperation, reason: &'static str) -> FileError {
        if let Ok(request) = request(path, access, AccessScope::Path)
            && !self.0.call.monitor().policy().decide(&request).is_allowed()
            && let Err(denied) = self.0.call.monitor().begin(&self.0.call.get(), request)
        {
            return denied.into();
        }
        let target = path.to_string_lossy().into_owned();
        self.0.call.monitor().reject(&self.0.call.get(), Capability::Filesystem, target, reason).into()
    }

    /// A file with several hard links is all of the files that policies name and that
    /// are the same. Its content is decided on under those names too.
    pub(crate) fn check_hard_links(
        &self,
        path: &Path,
        about: &std::fs::Metadata,
        access: FileOperation,
    ) -> Result<(), FileError> {
        if about.nlink() < 2 {
            return Ok(());
        }
        let is_same = |named: &&PathBuf| {
            std::fs::metadata(named)
                .is_ok_and(|other| (other.dev(), other.ino()) == (about.dev(), about.ino()))
        };
        let named = self.0.files.names().named().iter();
        let same: Vec<&Path> = named.filter(is_same).map(PathBuf::as_path).collect();
        if same.is_empty() {
            return Ok(());
        }
        let deciding = self.deciding(path, &same, access, AccessScope::Path)?;
        if self.0.call.monitor().policy().decide(&deciding).is_allowed() {
            return Ok(());
        }
        self.begin_as(path, &same, access, AccessScope::Path).map(drop)
    }

    /// Bytes are about to be written.
    fn take(&self, bytes: u64) -> Result<(), WroteTooMuch> {
        let Some(limit) = &self.0.limit else { return Ok(()) };
        let taken =
            self.0.left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|_| WroteTooMuch(limit.clone()))
    }
}

fn request(path: &Path, access: FileOperation, extent: AccessScope) -> Result<AccessRequest, FileError> {
    let access = FileAccess::new(Path::new("/"), path, access).map_err(|_| Errno::INVAL)?;
    Ok(AccessRequest::File(match extent {
        AccessScope::Path => access,
        AccessScope::Tree => access.with_descendants(),
    }))
}

/// A file that a guest has opened. Its uses end, and are recorded, when the guest has
/// dropped it and its streams.
///
/// One that is still open when the next call begins is used anew then: what that call
/// does with it is decided, and recorded, as its own.
pub(crate) struct OpenFile {
    guard: FileGuard,
    path: PathBuf,
    uses: Mutex<OpenFileUses>,
}

struct OpenFileUses {
    call: CallNumber,
    read: Option<Use>,
    write: Option<Use>,
}

impl OpenFile {
    pub(crate) fn new(guard: &FileGuard, path: PathBuf, read: Option<Use>, write: Option<Use>) -> Self {
        let uses = OpenFileUses { call: guard.0.call.number(), read, write };
        Self { guard: guard.clone(), path, uses: Mutex::new(uses) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It is about to be used.
    pub(crate) fn check(&self) -> Result<(), FileError> {
        self.current().map(drop)
    }

    /// That many bytes are about to be written.
    pub(crate) fn check_write(&self, bytes: u64) -> Result<(), FileError> {
        self.check()?;
        self.guard.take(bytes).map_err(FileError::TooMuch)
    }

    pub(crate) fn has_read(&self, bytes: usize) {
        if let Some(read) = &mut self.lock().read {
            read.add_received(bytes as u64);
        }
    }

    pub(crate) fn has_written(&self, bytes: u64) {
        if let Some(write) = &mut self.lock().write {
            write.add_sent(bytes);
        }
    }

    fn current(&self) -> Result<MutexGuard<'_, OpenFileUses>, FileError> {
        let mut uses = self.lock();
        let call = self.guard.0.call.number();
        if uses.call != call {
            let again = |before: &Option<Use>, access| match before {
                Some(_) => self.guard.begin(&self.path, access, AccessScope::Path).map(Some),
                None => Ok(None),
            };
            let (read, write) =
                (again(&uses.read, FileOperation::Read)?, again(&uses.write, FileOperation::Write)?);
            *uses = OpenFileUses { call, read, write };
        }
        Ok(uses)
    }

    fn lock(&self) -> MutexGuard<'_, OpenFileUses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
