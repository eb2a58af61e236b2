//! File operations. Each is performed only after it was allowed, and blocks the thread.
//!
//! A decision still holds when the operation is performed because the system receives a name in a
//! directory that is held open, and does not follow links there. A plugin cannot move a directory
//! that contains, or is contained in, anything denied, and cannot link or rename a denied file, no
//! matter which of its calls run concurrently. So whatever a name refers to after the decision was
//! covered by that decision. Programs outside the sandbox can move files at any time; in that case,
//! the decision concerned the file that had the name a moment earlier.

use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, Timestamps, linkat, mkdirat, openat, readlinkat, renameat, statat,
    symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;
use wardian_access::FileOperation;

use super::file_guard::{AccessScope, FileError, FileGuard, OpenFile};
use super::granted::Root;
use super::resolution::{Base, LastLink, ResolutionError, ResolvedPath, resolve};

/// Maximum number of missing parents of a new directory.
const MAX_PARENTS: usize = 256;

/// A directory for which a guest has a handle.
#[derive(Clone)]
pub(crate) enum Directory {
    /// A granted directory.
    Granted(Arc<Root>),
    /// A directory that was opened below a granted one.
    Opened { base: Base, is_writable: bool },
}

impl Directory {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Granted(root) => root.path(),
            Self::Opened { base, .. } => &base.path,
        }
    }

    /// Whether the directory's handle allows writing. This is a second protection, independent of
    /// the monitor's decision.
    pub(crate) fn is_writable(&self) -> bool {
        match self {
            Self::Granted(root) => root.is_writable(),
            Self::Opened { is_writable, .. } => *is_writable,
        }
    }

    pub(crate) fn base(&self) -> Result<Base, FileError> {
        match self {
            Self::Granted(root) => Ok(root.base()?),
            Self::Opened { base, .. } => Ok(base.clone()),
        }
    }

    /// The same as [`Directory::base`], but creates a missing granted directory.
    fn base_to_write(&self, guard: &FileGuard) -> Result<Base, FileError> {
        match self.base() {
            Err(FileError::System(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                let making = guard.begin(self.path(), FileOperation::Write, AccessScope::Path)?;
                std::fs::create_dir_all(self.path())?;
                drop(making);
                self.base()
            }
            base => base,
        }
    }

    fn find(
        &self,
        guard: &FileGuard,
        path: &str,
        last: LastLink,
        access: FileOperation,
    ) -> Result<ResolvedPath, FileError> {
        find(guard, &self.base()?, path, last, access)
    }

    /// Resolves the path of a new file, directory or link.
    fn find_new(&self, guard: &FileGuard, path: &str, last: LastLink) -> Result<ResolvedPath, FileError> {
        find(guard, &self.base_to_write(guard)?, path, last, FileOperation::Write)
    }

    fn check_writable(&self) -> Result<(), FileError> {
        if self.is_writable() { Ok(()) } else { Err(Errno::PERM.into()) }
    }
}

/// The options for opening a file or directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub(crate) last: LastLink,
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) directory: bool,
    /// The mode of a new file.
    pub(crate) mode: u32,
}

impl Opening {
    /// Whether opening with these options can change the file.
    pub(crate) fn writes(self) -> bool {
        self.write || self.create || self.truncate
    }
}

/// An opened file or directory.
pub(crate) enum Opened {
    File(File, Arc<OpenFile>),
    Directory(Base),
}

/// Resolves a path. The paths that the result reveals must be readable as well: the existence of
/// a directory or link in a denied directory is not revealed either.
fn find(
    guard: &FileGuard,
    base: &Base,
    path: &str,
    last: LastLink,
    access: FileOperation,
) -> Result<ResolvedPath, FileError> {
    let mut passed = Vec::new();
    let found = resolve(base, path, last, &mut passed);
    passed.iter().try_for_each(|passed| guard.look(passed))?;
    found.map_err(|error| match error {
        ResolutionError::System(error) => FileError::System(error),
        ResolutionError::Outside(beyond) => guard.refuse_outside(&base.path.join(beyond), access),
    })
}

/// Opens a file or a directory.
pub(crate) fn open(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    how: Opening,
) -> Result<Opened, FileError> {
    let writes = how.writes();
    let reads = how.read || !writes;
    let place = match (how.create, writes) {
        (true, _) => directory.find_new(guard, path, how.last)?,
        (false, true) => directory.find(guard, path, how.last, FileOperation::Write)?,
        (false, false) => directory.find(guard, path, how.last, FileOperation::Read)?,
    };
    let is_directory = how.directory || place.is_directory;
    if is_directory && how.create {
        return Err(Errno::ISDIR.into());
    }
    let path = place.path();
    let write = writes.then(|| guard.begin(&path, FileOperation::Write, AccessScope::Path)).transpose()?;
    if writes {
        directory.check_writable()?;
    }
    let read = match (is_directory, reads) {
        // Reading a directory means listing it, which is decided separately.
        (true, _) => guard.look(&path).map(|()| None)?,
        (false, true) => Some(guard.begin(&path, FileOperation::Read, AccessScope::Path)?),
        (false, false) => None,
    };
    // Opening a pipe without a peer, or a device, must not block the thread.
    let mut flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    flags |= match (reads, writes) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        (_, false) => OFlags::RDONLY,
    };
    flags.set(OFlags::CREATE, how.create);
    flags.set(OFlags::EXCL, how.create && how.exclusive);
    flags.set(OFlags::DIRECTORY, is_directory);
    let file = File::from(openat(&place.parent.handle, place.name(), flags, Mode::from_raw_mode(how.mode))?);
    let about = file.metadata()?;
    if about.is_dir() {
        return Ok(Opened::Directory(Base { handle: Arc::new(file), path: path.into() }));
    }
    if !about.is_file() {
        return Err(Errno::PERM.into());
    }
    if reads {
        guard.check_hard_links(&path, &about, FileOperation::Read)?;
    }
    if writes {
        guard.check_hard_links(&path, &about, FileOperation::Write)?;
    }
    if how.truncate && about.len() > 0 {
        file.set_len(0)?;
    }
    Ok(Opened::File(file, Arc::new(OpenFile::new(guard, path, read, write))))
}

/// Creates a directory whose parent exists.
pub(crate) fn create_directory(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    mode: u32,
) -> Result<(), FileError> {
    let place = directory.find_new(guard, path, LastLink::Keep)?;
    if place.name.is_none() {
        return Err(Errno::EXIST.into());
    }
    let making = guard.begin(&place.path(), FileOperation::Write, AccessScope::Path)?;
    directory.check_writable()?;
    mkdirat(&place.parent.handle, place.name(), Mode::from_raw_mode(mode))?;
    drop(making);
    Ok(())
}

/// Creates a directory and its missing parents. An existing one is left unchanged.
pub(crate) fn create_directories(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    mode: u32,
) -> Result<(), FileError> {
    let is_there = |path: &str| {
        let place = directory.find(guard, path, LastLink::Follow, FileOperation::Read)?;
        let about = statat(&place.parent.handle, place.name(), AtFlags::SYMLINK_NOFOLLOW)?;
        let is_directory = FileType::from_raw_mode(about.st_mode) == FileType::Directory;
        if is_directory { Ok(()) } else { Err(FileError::from(Errno::NOTDIR)) }
    };
    // First upwards to the first directory that exists or can be created, then down again.
    let mut missing = vec![path];
    while let Some(path) = missing.last().copied() {
        match create_directory(guard, directory, path, mode) {
            Ok(()) => {
                missing.pop();
            }
            Err(FileError::System(error)) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                is_there(path)?;
                missing.pop();
            }
            Err(FileError::System(error))
                if error.kind() == std::io::ErrorKind::NotFound && missing.len() <= MAX_PARENTS =>
            {
                let parent = path.trim_end_matches('/').rsplit_once('/').map(|(parent, _)| parent);
                missing.push(parent.filter(|parent| !parent.is_empty()).ok_or(error)?);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sets the mode of a file or directory to exactly this one.
pub(crate) fn set_mode(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    mode: u32,
) -> Result<(), FileError> {
    let place = directory.find(guard, path, LastLink::Follow, FileOperation::Write)?;
    let path = place.path();
    let changing = guard.begin(&path, FileOperation::Write, AccessScope::Path)?;
    directory.check_writable()?;
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = [OFlags::RDONLY, OFlags::WRONLY]
        .into_iter()
        .map(|access| openat(&place.parent.handle, place.name(), flags | access, Mode::empty()));
    let mut last = Errno::NOENT;
    for opened in opened {
        match opened.map(File::from) {
            Ok(file) => {
                guard.check_hard_links(&path, &file.metadata()?, FileOperation::Write)?;
                file.set_permissions(std::fs::Permissions::from_mode(mode))?;
                drop(changing);
                return Ok(());
            }
            Err(error) => last = error,
        }
    }
    if last == Errno::ACCESS { set_mode_of_closed(guard, &place, mode) } else { Err(last.into()) }
}

/// Sets the mode of a file that its owner can neither read nor write.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn set_mode_of_closed(guard: &FileGuard, place: &ResolvedPath, mode: u32) -> Result<(), FileError> {
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(openat(&place.parent.handle, place.name(), flags, Mode::empty())?);
    let about = file.metadata()?;
    if about.is_symlink() {
        return Err(Errno::LOOP.into());
    }
    guard.check_hard_links(&place.path(), &about, FileOperation::Write)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn set_mode_of_closed(_watch: &FileGuard, _place: &ResolvedPath, _mode: u32) -> Result<(), FileError> {
    Err(Errno::ACCESS.into())
}

/// Returns the metadata of a path.
pub(crate) fn look_at(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    last: LastLink,
) -> Result<Stat, FileError> {
    let place = directory.find(guard, path, last, FileOperation::Read)?;
    guard.look(&place.path())?;
    let about = statat(&place.parent.handle, place.name(), AtFlags::SYMLINK_NOFOLLOW)?;
    if place.is_directory && FileType::from_raw_mode(about.st_mode) != FileType::Directory {
        return Err(Errno::NOTDIR.into());
    }
    Ok(about)
}

/// Returns a link's target. This counts as a metadata lookup.
pub(crate) fn read_link(guard: &FileGuard, directory: &Directory, path: &str) -> Result<String, FileError> {
    let place = directory.find(guard, path, LastLink::Keep, FileOperation::Read)?;
    guard.look(&place.path())?;
    let target = readlinkat(&place.parent.handle, place.name(), Vec::new())?;
    if target.as_bytes().starts_with(b"/") {
        return Err(Errno::PERM.into());
    }
    target.into_string().map_err(|_| Errno::ILSEQ.into())
}

/// Sets the times of the last read and change.
pub(crate) fn set_times(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    last: LastLink,
    times: &Timestamps,
) -> Result<(), FileError> {
    let place = directory.find(guard, path, last, FileOperation::Write)?;
    let changing = guard.begin(&place.path(), FileOperation::Write, AccessScope::Path)?;
    directory.check_writable()?;
    utimensat(&place.parent.handle, place.name(), times, AtFlags::SYMLINK_NOFOLLOW)?;
    drop(changing);
    Ok(())
}

/// Creates a link whose target stays below the directory.
///
/// The target is decided when the link is followed in the sandbox. Programs outside the sandbox
/// follow it too, so links that lead out of the directory are not created. A target with `..` after
/// a name is rejected as well, because it leads out if that name is a link.
pub(crate) fn create_link(
    guard: &FileGuard,
    directory: &Directory,
    target: &str,
    path: &str,
) -> Result<(), FileError> {
    let place = directory.find_new(guard, path, LastLink::Keep)?;
    let path = place.path();
    let making = guard.begin(&path, FileOperation::Write, AccessScope::Tree)?;
    directory.check_writable()?;
    let mut names = target.split('/').filter(|name| !matches!(*name, "" | ".")).peekable();
    let mut up = 0;
    while names.next_if_eq(&"..").is_some() {
        up += 1;
    }
    let beneath =
        place.parent.path.strip_prefix(directory.base()?.path).map_or(0, |way| way.components().count());
    if target.starts_with('/') || up > beneath || names.any(|name| name == "..") {
        drop(making);
        let leads_to = place.parent.path.join(target);
        return Err(guard.refuse_outside(&leads_to, FileOperation::Write));
    }
    if place.name.is_none() || place.is_directory {
        return Err(Errno::EXIST.into());
    }
    symlinkat(target, &place.parent.handle, place.name())?;
    drop(making);
    Ok(())
}

pub(crate) fn remove_directory(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
) -> Result<(), FileError> {
    let place = directory.find(guard, path, LastLink::Keep, FileOperation::Write)?;
    let removing = guard.begin(&place.path(), FileOperation::Write, AccessScope::Tree)?;
    directory.check_writable()?;
    if place.name.is_none() {
        return Err(Errno::INVAL.into());
    }
    unlinkat(&place.parent.handle, place.name(), AtFlags::REMOVEDIR)?;
    drop(removing);
    Ok(())
}

pub(crate) fn remove_file(guard: &FileGuard, directory: &Directory, path: &str) -> Result<(), FileError> {
    let place = directory.find(guard, path, LastLink::Keep, FileOperation::Write)?;
    let removing = guard.begin(&place.path(), FileOperation::Write, AccessScope::Tree)?;
    directory.check_writable()?;
    if place.is_directory {
        return Err(Errno::ISDIR.into());
    }
    unlinkat(&place.parent.handle, place.name(), AtFlags::empty())?;
    drop(removing);
    Ok(())
}

/// The old and the new path of a rename or hard link.
pub(crate) struct Pair<'a> {
    pub(crate) from: (&'a Directory, &'a str),
    pub(crate) to: (&'a Directory, &'a str),
}

impl Pair<'_> {
    /// Decides both paths. A plugin that can read the file under its new name must be allowed to
    /// read it under its old one.
    fn decide(
        &self,
        guard: &FileGuard,
    ) -> Result<(ResolvedPath, ResolvedPath, [wardian_monitor::Use; 2]), FileError> {
        let from = self.from.0.find(guard, self.from.1, LastLink::Keep, FileOperation::Write)?;
        let to = self.to.0.find_new(guard, self.to.1, LastLink::Keep)?;
        let (old, new) = (from.path(), to.path());
        if guard.is_allowed(&new, FileOperation::Read, AccessScope::Path)
            && !guard.is_allowed(&old, FileOperation::Read, AccessScope::Tree)
        {
            guard.begin(&old, FileOperation::Read, AccessScope::Tree).map(drop)?;
        }
        let taking = guard.begin(&old, FileOperation::Write, AccessScope::Tree)?;
        let putting = guard.begin(&new, FileOperation::Write, AccessScope::Tree)?;
        self.from.0.check_writable()?;
        self.to.0.check_writable()?;
        if from.name.is_none() || to.name.is_none() {
            return Err(Errno::BUSY.into());
        }
        Ok((from, to, [taking, putting]))
    }
}

/// Creates a second name for a file.
pub(crate) fn create_hard_link(guard: &FileGuard, pair: &Pair<'_>) -> Result<(), FileError> {
    let (from, to, uses) = pair.decide(guard)?;
    if from.is_directory || to.is_directory {
        return Err(Errno::PERM.into());
    }
    linkat(&from.parent.handle, from.name(), &to.parent.handle, to.name(), AtFlags::empty())?;
    drop(uses);
    Ok(())
}

/// Renames a file or directory.
pub(crate) fn rename(guard: &FileGuard, pair: &Pair<'_>) -> Result<(), FileError> {
    let (from, to, uses) = pair.decide(guard)?;
    if from.is_directory || to.is_directory {
        let about = statat(&from.parent.handle, from.name(), AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::Directory {
            return Err(Errno::NOTDIR.into());
        }
    }
    renameat(&from.parent.handle, from.name(), &to.parent.handle, to.name())?;
    drop(uses);
    Ok(())
}
