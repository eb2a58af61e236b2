//! Access checks for files: each access is submitted to the monitor under every name that a policy
//! may use for the file.
//!
//! An access is allowed if one of the names is granted and none is denied. Opened files, listed
//! directories and all changes are recorded. Metadata lookups (such as a file's existence or size)
//! are also checked, but recorded only if they are denied.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use wardian_access::{AccessExtent, AccessRequest, Denied, FileAccess, FileOperation, ProtectedClasses};
use wardian_monitor::{Capability, Monitor, Use};
use wardian_plugin::PluginCall;
use wardian_policy::{Decision, Denial, DenialReason};

use super::granted::GrantedFiles;
use super::protected_content::classes_of_links;
use crate::cpu_budget::{CpuClock, HAND_OVER};
use crate::current_call::{CallNumber, CurrentCall};
use crate::limits::{Bound, WroteTooMuch};

/// Checks an instance's file accesses. Clones share their state.
#[derive(Clone)]
pub(crate) struct FileGuard(Arc<GuardState>);

struct GuardState {
    files: Arc<GrantedFiles>,
    call: CurrentCall,
    clock: Arc<CpuClock>,
    limit: Option<Bound<u64>>,
    /// Number of bytes that the call may still write.
    left: AtomicU64,
}

#[derive(Debug)]
pub(crate) enum FileError {
    /// Policy does not allow the access.
    Denied(Denied),
    System(io::Error),
    /// The call has exhausted its limit of written bytes.
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

impl FileGuard {
    pub(crate) fn new(
        files: Arc<GrantedFiles>,
        call: CurrentCall,
        clock: Arc<CpuClock>,
        limit: Option<Bound<u64>>,
    ) -> Self {
        let left = AtomicU64::new(limit.as_ref().map_or(u64::MAX, |limit| limit.value));
        Self(Arc::new(GuardState { files, call, clock, limit, left }))
    }

    /// Resets the limit for a new call.
    pub(crate) fn restart(&self) {
        let most = self.0.limit.as_ref().map_or(u64::MAX, |limit| limit.value);
        self.0.left.store(most, Ordering::Relaxed);
    }

    /// Returns the clock that measures the CPU time of the call.
    pub(crate) fn clock(&self) -> &CpuClock {
        &self.0.clock
    }

    pub(crate) fn monitor(&self) -> &Monitor {
        self.0.call.monitor()
    }

    pub(crate) fn call(&self) -> PluginCall {
        self.0.call.get()
    }

    pub(crate) fn files(&self) -> &GrantedFiles {
        &self.0.files
    }

    /// Begins an access if it is allowed. `path` contains no symbolic links.
    pub(crate) fn begin(
        &self,
        path: &Path,
        access: FileOperation,
        extent: AccessExtent,
    ) -> Result<Use, FileError> {
        self.begin_as(path, &[], access, extent, ProtectedClasses::NONE)
    }

    /// If the file, or a file below it, belongs to other classes of protected files, replaces the
    /// access that has begun.
    pub(crate) fn classify(
        &self,
        begun: Use,
        path: &Path,
        access: FileOperation,
        extent: AccessExtent,
        classes: ProtectedClasses,
    ) -> Result<Use, FileError> {
        if classes.is_empty() {
            return Ok(begun);
        }
        begun.discard();
        self.begin_as(path, &[], access, extent, classes)
    }

    /// Like [`FileGuard::begin`], for a file with additional names or classes.
    fn begin_as(
        &self,
        path: &Path,
        further: &[&Path],
        access: FileOperation,
        extent: AccessExtent,
        classes: ProtectedClasses,
    ) -> Result<Use, FileError> {
        let request = self.deciding(path, further, access, extent, classes)?;
        Ok(self.monitor().begin(&self.call(), request)?)
    }

    /// Returns a granted request if there is one, or else the request whose denial is reported.
    fn deciding(
        &self,
        path: &Path,
        further: &[&Path],
        access: FileOperation,
        extent: AccessExtent,
        classes: ProtectedClasses,
    ) -> Result<AccessRequest, FileError> {
        let names = self.0.files.names();
        let mut others = names.others(path).chain(further.iter().map(|path| path.to_path_buf())).peekable();
        let below = (extent == AccessExtent::Tree).then(|| names.others_below(path)).into_iter().flatten();
        let mut below = below.peekable();
        let own = request(path, access, extent, classes)?;
        if others.peek().is_none() && below.peek().is_none() {
            return Ok(own);
        }
        let policy = self.monitor().policy();
        let forbids = |denial: &Denial| {
            matches!(
                denial.reason,
                DenialReason::Rule { .. } | DenialReason::ReadOnly(_) | DenialReason::ProtectedClass { .. }
            )
        };
        let mut granted = None;
        let others = others.map(|name| request(&name, access, extent, classes));
        for candidate in std::iter::once(Ok(own.clone())).chain(others) {
            let candidate = candidate?;
            match policy.decide(&candidate) {
                Decision::Allowed(_) => granted = granted.or(Some(candidate)),
                Decision::Denied(denial) if forbids(&denial) => return Ok(candidate),
                Decision::Denied(_) => {}
            }
        }
        for name in below {
            let candidate = request(&name, access, AccessExtent::Path, classes)?;
            if matches!(policy.decide(&candidate), Decision::Denied(denial) if forbids(&denial)) {
                return Ok(candidate);
            }
        }
        Ok(granted.unwrap_or(own))
    }

    /// Whether access to a path is allowed. Does not begin the access.
    pub(crate) fn is_allowed(&self, path: &Path, access: FileOperation, extent: AccessExtent) -> bool {
        self.deciding(path, &[], access, extent, ProtectedClasses::NONE)
            .is_ok_and(|request| self.monitor().policy().decide(&request).is_allowed())
    }

    /// Checks a metadata lookup, which is allowed if the file may be read or written.
    pub(crate) fn look(&self, path: &Path) -> Result<(), FileError> {
        if self.is_allowed(path, FileOperation::Read, AccessExtent::Metadata)
            || self.is_allowed(path, FileOperation::Write, AccessExtent::Metadata)
        {
            return Ok(());
        }
        self.begin(path, FileOperation::Read, AccessExtent::Metadata).map(drop)
    }

    /// Returns the denial of a path that leads out of the directory at which it begins. The path is
    /// denied even if its target is granted, since the guest can reach the target under the name of
    /// the target's own directory.
    pub(crate) fn refuse_outside(&self, path: &Path, access: FileOperation) -> FileError {
        self.refuse(path, access, "the path points outside the directory in which it starts")
    }

    /// Returns the denial of a path that does not begin with the name of a granted directory. Every
    /// directory that a policy grants has a name here.
    pub(crate) fn refuse_unnamed(&self, path: &Path, access: FileOperation) -> FileError {
        self.refuse(path, access, "the path does not begin with the name of a granted directory")
    }

    /// Rejects an operation that moves, removes or replaces a file or directory if a policy rule
    /// contains its path or a path below it, since the rule would then apply to a different file.
    pub(crate) fn check_fixed(&self, path: &Path) -> Result<(), FileError> {
        let Some(fixed) = self.0.files.names().fixed_at_or_below(path) else { return Ok(()) };
        let reason = format!("a policy rule names {}, which must not be moved or replaced", fixed.display());
        Err(self.reject(path, reason))
    }

    /// Rejects an access that no rule can allow.
    pub(crate) fn refuse(&self, path: &Path, access: FileOperation, reason: impl fmt::Display) -> FileError {
        if let Ok(request) = request(path, access, AccessExtent::Path, ProtectedClasses::NONE)
            && !self.monitor().policy().decide(&request).is_allowed()
            && let Err(denied) = self.monitor().begin(&self.call(), request)
        {
            return denied.into();
        }
        self.reject(path, reason)
    }

    fn reject(&self, path: &Path, reason: impl fmt::Display) -> FileError {
        let target = path.to_string_lossy().into_owned();
        self.monitor().reject(&self.call(), Capability::Filesystem, target, reason).into()
    }

    /// Checks a file with several hard links. If a policy contains other paths of the same file,
    /// access to its content is also checked under those paths.
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
        let protected = self.monitor().policy().protected_paths();
        let named = self.0.files.names().named().iter().chain(protected);
        let same: Vec<&Path> = named.filter(is_same).map(PathBuf::as_path).collect();
        // Files that are protected against reading because of their names, such as states and
        // plans, are also recognized by their content.
        let classes = match access {
            FileOperation::Write => classes_of_links(self.0.files.root_module(), about)?,
            FileOperation::Read | FileOperation::Connect => ProtectedClasses::NONE,
        };
        if same.is_empty() && classes.is_empty() {
            return Ok(());
        }
        let deciding = self.deciding(path, &same, access, AccessExtent::Path, classes)?;
        if self.monitor().policy().decide(&deciding).is_allowed() {
            return Ok(());
        }
        self.begin_as(path, &same, access, AccessExtent::Path, classes).map(drop)
    }

    /// Deducts the number of bytes of a write from the limit.
    fn take(&self, bytes: u64) -> Result<(), WroteTooMuch> {
        let Some(limit) = &self.0.limit else { return Ok(()) };
        let taken =
            self.0.left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|_| WroteTooMuch(limit.clone()))
    }
}

fn request(
    path: &Path,
    access: FileOperation,
    extent: AccessExtent,
    classes: ProtectedClasses,
) -> Result<AccessRequest, FileError> {
    let access = FileAccess::new(Path::new("/"), path, access).map_err(|_| Errno::INVAL)?;
    Ok(AccessRequest::File(access.with_extent(extent).with_classes(classes)))
}

/// A file that a guest has opened. Its accesses end, and are recorded, when the guest has dropped
/// the file and its streams.
///
/// If the file is still open when the next call begins, accesses in that call are checked and
/// recorded for that call.
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

    /// Checks that the current call may access the file.
    pub(crate) fn check(&self) -> Result<(), FileError> {
        self.current().map(drop)
    }

    /// Checks, before a write, whether this many bytes may be written.
    pub(crate) fn check_write(&self, bytes: u64) -> Result<(), FileError> {
        self.check()?;
        self.guard.take(bytes).map_err(FileError::TooMuch)
    }

    pub(crate) fn has_read(&self, bytes: usize) {
        self.charge_transfer(bytes as u64);
        if let Some(read) = &mut self.lock().read {
            read.add_received(bytes as u64);
        }
    }

    /// Charges a read or write that wasmtime performs on its own threads. The charge is an estimate
    /// below the real cost.
    fn charge_transfer(&self, bytes: u64) {
        self.guard.clock().charge(HAND_OVER + Duration::from_nanos(bytes / 8));
    }

    pub(crate) fn has_written(&self, bytes: u64) {
        self.charge_transfer(bytes);
        if let Some(write) = &mut self.lock().write {
            write.add_sent(bytes);
        }
    }

    fn current(&self) -> Result<MutexGuard<'_, OpenFileUses>, FileError> {
        let mut uses = self.lock();
        let call = self.guard.0.call.number();
        if uses.call != call {
            let again = |before: &Option<Use>, access| match before {
                Some(_) => self.guard.begin(&self.path, access, AccessExtent::Path).map(Some),
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
