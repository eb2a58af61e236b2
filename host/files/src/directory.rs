//! Opens directories and operates on single names in them. No operation follows a symbolic link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timestamps, openat, readlinkat, statat, utimensat};
use rustix::io::Errno;

use crate::error::FileAccessError;
use crate::listing::Listing;
use crate::open_file::{FileOpening, OpenedFile};
use crate::procfs;
use crate::resolution::names_of;

/// Traversing a directory does not require read permission, if the system distinguishes the two.
#[cfg(any(target_os = "linux", target_os = "android"))]
const STEP: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const STEP: OFlags = OFlags::RDONLY;

/// An open directory. Clones share the handle.
#[derive(Clone, Debug)]
pub struct Directory {
    handle: Arc<Dir>,
    /// The absolute path, without symbolic links.
    path: Arc<Path>,
}

/// Returns the name if the system resolves it within the directory itself, that is, if it is one
/// component or `.`.
fn single(name: &OsStr) -> Result<&OsStr, Errno> {
    match name.as_bytes() {
        b"" => Err(Errno::NOENT),
        b".." => Err(Errno::PERM),
        bytes if bytes.contains(&b'/') || bytes.contains(&0) => Err(Errno::INVAL),
        _ => Ok(name),
    }
}

impl Directory {
    /// Opens the root directory.
    ///
    /// # Errors
    /// Returns an error if the root directory cannot be opened.
    pub fn root() -> io::Result<Self> {
        let handle = Dir::open_ambient_dir("/", ambient_authority())?;
        Ok(Self { handle: Arc::new(handle), path: Arc::from(Path::new("/")) })
    }

    /// Opens a directory by its absolute path. No name in the path may be a symbolic link.
    ///
    /// # Errors
    /// Returns an error if a name is not a directory, or if a directory cannot be opened.
    pub fn open_absolute(path: &Path) -> Result<Self, FileAccessError> {
        let mut directory = Self::root()?;
        let names = names_of(path);
        let Some((last, way)) = names.split_last() else { return Ok(directory) };
        let mut parent = PathBuf::from("/");
        for name in way {
            directory = directory.step(name)?;
            parent.push(name);
        }
        directory.with_path(parent.into()).open_directory(last)
    }

    pub(crate) fn from_file(file: File, path: Arc<Path>) -> Self {
        Self { handle: Arc::new(Dir::from_std_file(file)), path }
    }

    /// Returns the directory's path: absolute, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn shared_path(&self) -> Arc<Path> {
        Arc::clone(&self.path)
    }

    /// Returns the same handle with a different path, which must be absolute and without symbolic links.
    pub(crate) fn with_path(&self, path: Arc<Path>) -> Self {
        Self { handle: Arc::clone(&self.handle), path }
    }

    /// Returns another handle to the directory.
    ///
    /// # Errors
    /// Returns an error if the handle cannot be duplicated.
    pub fn try_clone_file(&self) -> io::Result<File> {
        Ok(self.handle.try_clone()?.into_std_file())
    }

    /// Opens a directory in order to resolve names in it. The result has the path of `self`; the
    /// caller sets the correct path.
    pub(crate) fn step(&self, name: &OsStr) -> Result<Self, Errno> {
        let file = self.open_with(name, STEP | OFlags::DIRECTORY, 0)?;
        Ok(Self { handle: Arc::new(Dir::from_std_file(file)), path: Arc::clone(&self.path) })
    }

    /// Opens a directory. It can be listed if the user has read permission.
    ///
    /// # Errors
    /// Returns an error if the name is not a directory, belongs to a process, or cannot be opened.
    pub fn open_directory(&self, name: &OsStr) -> Result<Self, FileAccessError> {
        let file = self
            .open_with(name, OFlags::RDONLY | OFlags::DIRECTORY, 0)
            .or_else(|_| self.open_with(name, STEP | OFlags::DIRECTORY, 0))?;
        procfs::check_opened(file.as_fd())?;
        Ok(Self::from_file(file, self.path_of(name)))
    }

    /// Opens a regular file or a directory.
    ///
    /// # Errors
    /// Returns an error if the name is any other file, belongs to a process, or cannot be opened.
    pub fn open_file(&self, name: &OsStr, how: FileOpening) -> Result<OpenedFile, FileAccessError> {
        let file = self.open_with(name, how.flags(), how.mode)?;
        OpenedFile::new(self, name, file)
    }

    fn open_with(&self, name: &OsStr, flags: OFlags, mode: u32) -> Result<File, Errno> {
        #[allow(clippy::useless_conversion, reason = "the width of st_mode differs between platforms")]
        let mode = Mode::from_raw_mode(mode.try_into().map_err(|_| Errno::INVAL)?);
        openat(&*self.handle, single(name)?, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode).map(File::from)
    }

    /// Opens a file in order to change its mode, even if the mode allows its owner neither to read
    /// nor to write it.
    ///
    /// # Errors
    /// Returns an error if the file is neither a regular file nor a directory, if it belongs to a
    /// process, or if the system does not support this or cannot open the file.
    pub fn open_closed(&self, name: &OsStr) -> Result<OpenedFile, FileAccessError> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        return OpenedFile::new(self, name, self.open_with(name, OFlags::PATH, 0)?);
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        return Err(self.open_with(name, OFlags::RDONLY, 0).err().unwrap_or(Errno::ACCESS).into());
    }

    /// Returns the metadata of a file. A symbolic link is not followed.
    ///
    /// # Errors
    /// Returns an error if the file belongs to a process, or if its metadata cannot be read.
    pub fn metadata(&self, name: &OsStr) -> Result<Stat, FileAccessError> {
        let metadata = statat(&*self.handle, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        procfs::check_name(self.as_fd(), name, &metadata)?;
        Ok(metadata)
    }

    /// Returns the type of a file; `None` if the file does not exist.
    ///
    /// # Errors
    /// Returns the same errors as [`Directory::metadata`].
    pub fn kind(&self, name: &OsStr) -> Result<Option<FileType>, FileAccessError> {
        match self.metadata(name) {
            Ok(metadata) => Ok(Some(FileType::from_raw_mode(metadata.st_mode))),
            Err(FileAccessError::System(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns a symbolic link's target; `None` if the name is not a symbolic link or does not
    /// exist.
    pub(crate) fn link_target(&self, name: &OsStr) -> Result<Option<OsString>, Errno> {
        use std::os::unix::ffi::OsStringExt as _;
        match readlinkat(&*self.handle, single(name)?, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()))),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns a symbolic link's target.
    ///
    /// # Errors
    /// Returns an error if the name belongs to a process, is not a symbolic link, or cannot be
    /// read.
    pub fn read_link(&self, name: &OsStr) -> Result<OsString, FileAccessError> {
        let metadata = self.metadata(name)?;
        if FileType::from_raw_mode(metadata.st_mode) != FileType::Symlink {
            return Err(Errno::INVAL.into());
        }
        self.link_target(name)?.ok_or_else(|| Errno::NOENT.into())
    }

    /// Creates a directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub fn create_directory(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.mode(mode);
        self.handle.create_dir_with(single(name)?, &builder)
    }

    /// Creates a symbolic link. The target is not checked.
    ///
    /// # Errors
    /// Returns an error if the symbolic link cannot be created.
    pub fn create_link(&self, target: &OsStr, name: &OsStr) -> io::Result<()> {
        self.handle.symlink_contents(target, single(name)?)
    }

    /// Removes a file or a symbolic link.
    ///
    /// # Errors
    /// Returns an error if the file or the symbolic link cannot be removed.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.handle.remove_file(single(name)?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be removed, for instance because it is not empty.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        self.handle.remove_dir(single(name)?)
    }

    /// Renames a file, symbolic link or directory, and replaces an existing file.
    ///
    /// # Errors
    /// Returns an error if the file, symbolic link or directory cannot be renamed.
    pub fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        self.handle.rename(single(name)?, &to.handle, single(new)?)
    }

    /// Creates a hard link to a file. A symbolic link is not followed.
    ///
    /// # Errors
    /// Returns an error if the hard link cannot be created.
    pub fn create_hard_link(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        self.handle.hard_link(single(name)?, &to.handle, single(new)?)
    }

    /// Sets the times of the last access and modification. A symbolic link is not followed.
    ///
    /// # Errors
    /// Returns an error if the times cannot be changed.
    pub fn set_times(&self, name: &OsStr, times: &Timestamps) -> io::Result<()> {
        Ok(utimensat(&*self.handle, single(name)?, times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Starts listing the names in the directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be opened for reading or belongs to a process.
    pub fn list(&self) -> Result<Listing, FileAccessError> {
        let file = self.open_with(OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY, 0)?;
        procfs::check_opened(file.as_fd())?;
        Ok(Listing::new(file))
    }

    pub(crate) fn path_of(&self, name: &OsStr) -> Arc<Path> {
        if name == "." { self.shared_path() } else { self.path.join(name).into() }
    }

    /// Returns the path of a name in the directory.
    pub fn join(&self, name: &OsStr) -> PathBuf {
        self.path_of(name).to_path_buf()
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
