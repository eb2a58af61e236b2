//! What is done to files, each after it was decided on. All of it blocks.
//!
//! Why a decision still holds when the thing is done: the system is told a name in a
//! directory that is held open, and follows no link there. A plugin moves no directory
//! that has anything denied in it or is in anything denied, and links or renames no
//! file that is denied, whichever of its calls run at a time. So what a place turns
//! into between decision and deed is never something that the decision was not about.
//! Programs outside of the sandbox can move things about as they like; then what was
//! decided on was there a moment before.

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

/// Directories above a directory that is made.
const MAX_PARENTS: usize = 256;

/// A directory that a guest holds.
#[derive(Clone)]
pub(crate) enum Directory {
    /// One that was granted.
    Granted(Arc<Root>),
    /// One that was opened below such a one.
    Opened { base: Base, is_writable: bool },
}

impl Directory {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Granted(root) => root.path(),
            Self::Opened { base, .. } => &base.path,
        }
    }

    /// The second wall, beside the monitor's decision: what was opened for reading stays
    /// so.
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

    /// As [`Directory::base`]; a granted directory that is not there is made.
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

    /// Finds where something is to be made.
    fn find_new(&self, guard: &FileGuard, path: &str, last: LastLink) -> Result<ResolvedPath, FileError> {
        find(guard, &self.base_to_write(guard)?, path, last, FileOperation::Write)
    }

    fn check_writable(&self) -> Result<(), FileError> {
        if self.is_writable() { Ok(()) } else { Err(Errno::PERM.into()) }
    }
}

/// How something is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub(crate) last: LastLink,
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) directory: bool,
    /// Of a file that is created.
    pub(crate) mode: u32,
}

impl Opening {
    /// Whether what is opened may be changed by it.
    pub(crate) fn writes(self) -> bool {
        self.write || self.create || self.truncate
    }
}

/// What was opened.
pub(crate) enum Opened {
    File(File, Arc<OpenFile>),
    Directory(Base),
}

/// What the answer tells of besides must be something that may be looked at: whether there
/// is such a directory or link in a directory that is denied is not said either.
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
        // What is in it is read by listing it.
        (true, _) => guard.look(&path).map(|()| None)?,
        (false, true) => Some(guard.begin(&path, FileOperation::Read, AccessScope::Path)?),
        (false, false) => None,
    };
    // A pipe without anybody at its other end, or a device, must not hold the thread.
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

/// Makes a directory in one that is there.
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

/// Makes a directory and those above it that are missing. One that is there stays.
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
    // From the whole path up to the first that is there or can be made, and down again.
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

/// Gives what is there exactly this mode.
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

/// What its owner can neither read nor write can still be given another mode.
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

/// What the system knows of what is there.
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

/// Where a link leads. To know that is to look at it.
pub(crate) fn read_link(guard: &FileGuard, directory: &Directory, path: &str) -> Result<String, FileError> {
    let place = directory.find(guard, path, LastLink::Keep, FileOperation::Read)?;
    guard.look(&place.path())?;
    let target = readlinkat(&place.parent.handle, place.name(), Vec::new())?;
    if target.as_bytes().starts_with(b"/") {
        return Err(Errno::PERM.into());
    }
    target.into_string().map_err(|_| Errno::ILSEQ.into())
}

/// Sets when it was read and changed.
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

/// Makes a link to a path that stays below the directory of the link, or beside it.
///
/// Where it leads is decided when somebody follows it. But programs outside of the
/// sandbox follow it too, so that one which leads out is not made. One that leads up
/// after it led down could, when what it goes through is a link itself.
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

/// Removes an empty directory.
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

/// Removes a file or a link.
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

/// One place and the other of something that has or gets two names.
pub(crate) struct Pair<'a> {
    pub(crate) from: (&'a Directory, &'a str),
    pub(crate) to: (&'a Directory, &'a str),
}

impl Pair<'_> {
    /// Both places. Whoever may do something under the new name must have been allowed
    /// it under the old one.
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

/// Gives a file a second name.
pub(crate) fn create_hard_link(guard: &FileGuard, pair: &Pair<'_>) -> Result<(), FileError> {
    let (from, to, uses) = pair.decide(guard)?;
    if from.is_directory || to.is_directory {
        return Err(Errno::PERM.into());
    }
    linkat(&from.parent.handle, from.name(), &to.parent.handle, to.name(), AtFlags::empty())?;
    drop(uses);
    Ok(())
}

/// Gives something another name.
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
