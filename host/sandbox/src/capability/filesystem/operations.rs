//! File operations. Each operation is performed only after it has been allowed, and blocks the
//! thread.
//!
//! A decision is still valid when the operation is performed, because the system receives a name in
//! an open directory and does not follow symbolic links. A plugin cannot move a directory that
//! contains, or is contained in, a denied path, and cannot link or rename a denied file, regardless
//! of which of its calls run concurrently. Therefore, the decision covers every file to which the
//! name can refer afterwards. Programs outside the sandbox can move files at any time; in that
//! case, the decision applied to the file that had the name before the move.

use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Stat, Timestamps};
use rustix::io::Errno;
use wardian_access::{AccessExtent, FileOperation};
use wardian_files::{
    FileAccessError, FileOpening, LastLink, LinkRule, OpenedFile, ResolvedPath, check_moved_links, resolve,
    stays_beneath,
};

use super::file_guard::{FileError, FileGuard, OpenFile};
use super::granted::{Root, RootError};
use super::listing::OpenListing;
use super::protected_content::{classes_of_content, classes_of_entry};

/// Maximum number of missing parents of a new directory.
const MAX_PARENTS: usize = 256;
/// The mode of a granted directory that is created, before the umask.
const NEW_DIRECTORY: u32 = 0o777;

/// A directory for which a guest has a handle.
#[derive(Clone)]
pub(crate) enum Directory {
    /// A granted directory.
    Granted(Arc<Root>),
    /// A directory that was opened below a granted directory.
    Opened { base: wardian_files::Directory, is_writable: bool },
}

impl Directory {
    /// Whether the directory's handle allows writing. This is a second protection, independent of
    /// the monitor's decision.
    pub(crate) fn is_writable(&self) -> bool {
        match self {
            Self::Granted(root) => root.is_writable(),
            Self::Opened { is_writable, .. } => *is_writable,
        }
    }

    pub(crate) fn base(&self, guard: &FileGuard) -> Result<wardian_files::Directory, FileError> {
        match self {
            Self::Granted(root) => root.base().map_err(|error| refuse_root(guard, root, error)),
            Self::Opened { base, .. } => Ok(base.clone()),
        }
    }

    /// The same as [`Directory::base`], but creates a missing granted directory after checking its
    /// path without symbolic links.
    fn base_to_write(&self, guard: &FileGuard) -> Result<wardian_files::Directory, FileError> {
        let root = match (self, self.base(guard)) {
            (Self::Granted(root), Err(FileError::System(error)))
                if error.kind() == std::io::ErrorKind::NotFound =>
            {
                root
            }
            (_, base) => return base,
        };
        root.create(
            NEW_DIRECTORY,
            |error| refuse_root(guard, root, error),
            |path| guard.begin(path, FileOperation::Write, AccessExtent::NewDirectory).map(drop),
        )
    }

    fn find(
        &self,
        guard: &FileGuard,
        path: &str,
        last: LastLink,
        access: FileOperation,
    ) -> Result<ResolvedPath, FileError> {
        find(guard, &self.base(guard)?, path, last, access)
    }

    /// Resolves the path of a new file, directory or symbolic link.
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

pub(crate) enum Opened {
    File(File, Arc<OpenFile>),
    Directory(wardian_files::Directory),
}

/// Resolves a path. The paths that the result reveals must also be readable. Otherwise, the result
/// would reveal whether a directory or symbolic link exists in a denied directory.
fn find(
    guard: &FileGuard,
    base: &wardian_files::Directory,
    path: &str,
    last: LastLink,
    access: FileOperation,
) -> Result<ResolvedPath, FileError> {
    let mut passed = Vec::new();
    let found = resolve(base, path.as_ref(), last, LinkRule::Relative, &mut passed);
    passed.iter().try_for_each(|passed| guard.look(passed))?;
    found.map_err(|error| refuse(guard, base.path(), error, access))
}

/// Converts an error. An access that no policy can allow is recorded as a denial of `path`.
fn refuse(guard: &FileGuard, path: &Path, error: FileAccessError, access: FileOperation) -> FileError {
    match error {
        FileAccessError::System(error) => FileError::System(error),
        FileAccessError::NotRegular => Errno::PERM.into(),
        FileAccessError::Outside { path: beyond } => guard.refuse_outside(&path.join(beyond), access),
        error => guard.refuse(path, access, error),
    }
}

fn refuse_root(guard: &FileGuard, root: &Root, error: RootError) -> FileError {
    match error {
        RootError::System(error) => FileError::System(error),
        RootError::Changed(reason) => guard.refuse(root.path(), FileOperation::Read, reason),
    }
}

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
    let mut write =
        writes.then(|| guard.begin(&path, FileOperation::Write, AccessExtent::Path)).transpose()?;
    if writes {
        directory.check_writable()?;
    }
    let mut read = match (is_directory, reads) {
        // A directory is read by listing it, and the listing is checked separately.
        (true, _) => guard.look(&path).map(|()| None)?,
        (false, true) => Some(guard.begin(&path, FileOperation::Read, AccessExtent::Path)?),
        (false, false) => None,
    };
    let opening = FileOpening {
        read: reads,
        write: writes,
        create: how.create,
        exclusive: how.exclusive,
        directory: is_directory,
        mode: how.mode,
    };
    let access = if writes { FileOperation::Write } else { FileOperation::Read };
    let opened = place.open_file(opening).map_err(|error| refuse(guard, &path, error, access))?;
    let opened = match opened.into_directory() {
        Ok(directory) => return Ok(Opened::Directory(directory)),
        Err(file) => file,
    };
    let about = opened.metadata();
    if reads {
        guard.check_hard_links(&path, about, FileOperation::Read)?;
    }
    if writes {
        guard.check_hard_links(&path, about, FileOperation::Write)?;
    }
    let is_empty = about.len() == 0;
    let file = opened.into_file();
    if !is_empty {
        let classes =
            if reads { classes_of_content(&file) } else { classes_of_entry(&place.parent, place.name())? };
        let classify = |begun, access| guard.classify(begun, &path, access, AccessExtent::Path, classes);
        read = read.map(|begun| classify(begun, FileOperation::Read)).transpose()?;
        write = write.map(|begun| classify(begun, FileOperation::Write)).transpose()?;
        if how.truncate {
            file.set_len(0)?;
        }
    }
    Ok(Opened::File(file, Arc::new(OpenFile::new(guard, path, read, write))))
}

pub(crate) fn list(guard: &FileGuard, directory: &Directory) -> Result<OpenListing, FileError> {
    let base = directory.base(guard)?;
    let path = base.path().to_path_buf();
    let read = guard.begin(&path, FileOperation::Read, AccessExtent::Path)?;
    let listing = base.list().map_err(|error| refuse(guard, &path, error, FileOperation::Read))?;
    Ok(OpenListing::new(OpenFile::new(guard, path, Some(read), None), listing))
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
    let making = guard.begin(&place.path(), FileOperation::Write, AccessExtent::NewDirectory)?;
    directory.check_writable()?;
    place.parent.create_directory(place.name(), mode)?;
    drop(making);
    Ok(())
}

/// Creates a directory and its missing parents. An existing directory is left unchanged.
pub(crate) fn create_directories(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    mode: u32,
) -> Result<(), FileError> {
    let is_there = |path: &str| {
        let place = directory.find(guard, path, LastLink::Follow, FileOperation::Read)?;
        let kind = place.kind().map_err(|error| refuse(guard, &place.path(), error, FileOperation::Read))?;
        if kind == Some(FileType::Directory) { Ok(()) } else { Err(FileError::from(Errno::NOTDIR)) }
    };
    let create = |path: &str| match create_directory(guard, directory, path, mode) {
        Err(FileError::System(error)) if error.kind() == std::io::ErrorKind::AlreadyExists => is_there(path),
        created => created,
    };
    // Climb to the first ancestor that exists or can be created.
    let mut missing = Vec::new();
    let mut path = path;
    loop {
        match create(path) {
            Ok(()) => break,
            Err(FileError::System(error))
                if error.kind() == std::io::ErrorKind::NotFound && missing.len() < MAX_PARENTS =>
            {
                missing.push(path);
                let parent = path.trim_end_matches('/').rsplit_once('/').map(|(parent, _)| parent);
                path = parent.filter(|parent| !parent.is_empty()).ok_or(error)?;
            }
            Err(error) => return Err(error),
        }
    }
    // Descend again. Now a missing directory is an error: its parent exists, but the path may end in
    // a dangling link.
    missing.into_iter().rev().try_for_each(create)
}

pub(crate) fn set_mode(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    mode: u32,
) -> Result<(), FileError> {
    let place = directory.find(guard, path, LastLink::Follow, FileOperation::Write)?;
    let path = place.path();
    let changing = guard.begin(&path, FileOperation::Write, AccessExtent::Path)?;
    directory.check_writable()?;
    let set = |file: &OpenedFile| {
        guard.check_hard_links(&path, file.metadata(), FileOperation::Write)?;
        Ok(file.set_mode(mode)?)
    };
    let opened = [FileOpening::READ, FileOpening { read: false, write: true, ..FileOpening::READ }]
        .into_iter()
        .map(|how| place.open_file(how));
    let mut last = Errno::NOENT.into();
    for opened in opened {
        match opened {
            Ok(file) => {
                set(&file)?;
                drop(changing);
                return Ok(());
            }
            Err(FileAccessError::System(error)) => last = error,
            Err(error) => return Err(refuse(guard, &path, error, FileOperation::Write)),
        }
    }
    if last.kind() != std::io::ErrorKind::PermissionDenied {
        return Err(last.into());
    }
    // The file's mode allows its owner neither to read nor to write it.
    let closed = place.parent.open_closed(place.name());
    set(&closed.map_err(|error| refuse(guard, &path, error, FileOperation::Write))?)
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
    let about = place.parent.metadata(place.name());
    let about = about.map_err(|error| refuse(guard, &place.path(), error, FileOperation::Read))?;
    if place.is_directory && FileType::from_raw_mode(about.st_mode) != FileType::Directory {
        return Err(Errno::NOTDIR.into());
    }
    Ok(about)
}

/// Returns a symbolic link's target. This is a metadata lookup.
pub(crate) fn read_link(guard: &FileGuard, directory: &Directory, path: &str) -> Result<String, FileError> {
    let place = directory.find(guard, path, LastLink::Keep, FileOperation::Read)?;
    guard.look(&place.path())?;
    let target = place.parent.read_link(place.name());
    let target = target.map_err(|error| refuse(guard, &place.path(), error, FileOperation::Read))?;
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
    let changing = guard.begin(&place.path(), FileOperation::Write, AccessExtent::Path)?;
    directory.check_writable()?;
    place.parent.set_times(place.name(), times)?;
    drop(changing);
    Ok(())
}

/// Creates a symbolic link to a file in its own directory or below it.
///
/// The target is checked when the symbolic link is followed in the sandbox. However, programs
/// outside the sandbox also follow the link, and so does the host when it reads files named by a
/// configuration. A symbolic link may be moved later, together with any of the directories that
/// contain it. Therefore, its target must remain below its directory after any move, so the target
/// must neither be absolute nor contain `..`.
pub(crate) fn create_link(
    guard: &FileGuard,
    directory: &Directory,
    target: &str,
    path: &str,
) -> Result<(), FileError> {
    let place = directory.find_new(guard, path, LastLink::Keep)?;
    let path = place.path();
    let making = guard.begin(&path, FileOperation::Write, AccessExtent::Tree)?;
    directory.check_writable()?;
    if !stays_beneath(target.as_ref(), 0) {
        drop(making);
        let reason = "plugins cannot create symbolic links that are absolute or contain \"..\"";
        return Err(guard.refuse(&place.parent.path().join(target), FileOperation::Write, reason));
    }
    guard.check_fixed(&path)?;
    if place.name.is_none() || place.is_directory {
        return Err(Errno::EXIST.into());
    }
    place.parent.create_link(target.as_ref(), place.name())?;
    drop(making);
    Ok(())
}

pub(crate) fn remove_directory(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
) -> Result<(), FileError> {
    let place = directory.find(guard, path, LastLink::Keep, FileOperation::Write)?;
    let removing = guard.begin(&place.path(), FileOperation::Write, AccessExtent::Tree)?;
    directory.check_writable()?;
    guard.check_fixed(&place.path())?;
    if place.name.is_none() {
        return Err(Errno::INVAL.into());
    }
    place.parent.remove_directory(place.name())?;
    drop(removing);
    Ok(())
}

pub(crate) fn remove_file(guard: &FileGuard, directory: &Directory, path: &str) -> Result<(), FileError> {
    let place = directory.find(guard, path, LastLink::Keep, FileOperation::Write)?;
    let removing = guard.begin(&place.path(), FileOperation::Write, AccessExtent::Tree)?;
    directory.check_writable()?;
    guard.check_fixed(&place.path())?;
    if place.is_directory {
        return Err(Errno::ISDIR.into());
    }
    let classes = classes_of_entry(&place.parent, place.name())?;
    let removing =
        guard.classify(removing, &place.path(), FileOperation::Write, AccessExtent::Tree, classes)?;
    place.parent.remove_file(place.name())?;
    drop(removing);
    Ok(())
}

/// The old and the new path of a rename or hard link.
pub(crate) struct Pair<'a> {
    pub(crate) from: (&'a Directory, &'a str),
    pub(crate) to: (&'a Directory, &'a str),
}

impl Pair<'_> {
    /// Checks both paths. If a plugin can read the file under its new name, it must also be allowed
    /// to read it under its old name.
    fn decide(
        &self,
        guard: &FileGuard,
    ) -> Result<(ResolvedPath, ResolvedPath, [wardian_monitor::Use; 2]), FileError> {
        let from = self.from.0.find(guard, self.from.1, LastLink::Keep, FileOperation::Write)?;
        let to = self.to.0.find_new(guard, self.to.1, LastLink::Keep)?;
        let (old, new) = (from.path(), to.path());
        if guard.is_allowed(&new, FileOperation::Read, AccessExtent::Path)
            && !guard.is_allowed(&old, FileOperation::Read, AccessExtent::Tree)
        {
            guard.begin(&old, FileOperation::Read, AccessExtent::Tree).map(drop)?;
        }
        let taking = guard.begin(&old, FileOperation::Write, AccessExtent::Tree)?;
        let putting = guard.begin(&new, FileOperation::Write, AccessExtent::Tree)?;
        self.from.0.check_writable()?;
        self.to.0.check_writable()?;
        if from.name.is_none() || to.name.is_none() {
            return Err(Errno::BUSY.into());
        }
        Self::check_links(guard, &from, &to)?;
        let (access, extent) = (FileOperation::Write, AccessExtent::Tree);
        let moved = classes_of_entry(&from.parent, from.name())?;
        let replaced = classes_of_entry(&to.parent, to.name())?;
        let taking = guard.classify(taking, &old, access, extent, moved)?;
        let putting = guard.classify(putting, &new, access, extent, replaced)?;
        Ok((from, to, [taking, putting]))
    }

    /// Checks that no symbolic link that is moved to another directory points outside of the moved
    /// directory, and that no symbolic link or directory replaces a path in a rule. A regular file
    /// may replace such a path.
    fn check_links(guard: &FileGuard, from: &ResolvedPath, to: &ResolvedPath) -> Result<(), FileError> {
        let refuse = |error| match error {
            FileAccessError::Outside { path } => {
                let reason = "a symbolic link would resolve to another file in its new directory; remove the \
                    link first";
                guard.refuse(&path, FileOperation::Write, reason)
            }
            error => refuse(guard, &from.path(), error, FileOperation::Write),
        };
        if from.kind().map_err(refuse)? != Some(FileType::RegularFile) {
            guard.check_fixed(&to.path())?;
            if from.parent.path() != to.parent.path() {
                check_moved_links(&from.parent, from.name()).map_err(refuse)?;
            }
        }
        Ok(())
    }
}

/// Creates a second name for a file.
pub(crate) fn create_hard_link(guard: &FileGuard, pair: &Pair<'_>) -> Result<(), FileError> {
    let (from, to, uses) = pair.decide(guard)?;
    if from.is_directory || to.is_directory {
        return Err(Errno::PERM.into());
    }
    from.parent.create_hard_link(from.name(), &to.parent, to.name())?;
    drop(uses);
    Ok(())
}

pub(crate) fn rename(guard: &FileGuard, pair: &Pair<'_>) -> Result<(), FileError> {
    let (from, to, uses) = pair.decide(guard)?;
    guard.check_fixed(&from.path())?;
    if from.is_directory || to.is_directory {
        let kind = from.kind().map_err(|error| refuse(guard, &from.path(), error, FileOperation::Write))?;
        if kind != Some(FileType::Directory) {
            return Err(Errno::NOTDIR.into());
        }
    }
    from.parent.rename(from.name(), &to.parent, to.name())?;
    drop(uses);
    Ok(())
}
