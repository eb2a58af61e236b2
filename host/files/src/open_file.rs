//! Opens regular files and directories, and rejects all other files.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::directory::Directory;
use crate::error::FileAccessError;
use crate::procfs;

/// The options for opening a file or directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileOpening {
    pub read: bool,
    pub write: bool,
    pub create: bool,
    /// Opening fails if the file exists.
    pub exclusive: bool,
    /// Opening fails if the file is not a directory.
    pub directory: bool,
    /// The mode of a new file, before the umask.
    pub mode: u32,
}

impl FileOpening {
    /// The options for reading a file.
    pub const READ: Self =
        Self { read: true, write: false, create: false, exclusive: false, directory: false, mode: 0 };

    pub(crate) fn flags(self) -> OFlags {
        // Opening a pipe without a peer, or a device, must not block.
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        flags |= match (self.read, self.write) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
        flags.set(OFlags::CREATE, self.create);
        flags.set(OFlags::EXCL, self.create && self.exclusive);
        flags.set(OFlags::DIRECTORY, self.directory);
        flags
    }
}

/// An opened regular file or directory.
#[derive(Debug)]
pub struct OpenedFile {
    file: File,
    metadata: Metadata,
    path: PathBuf,
}

impl OpenedFile {
    pub(crate) fn new(parent: &Directory, name: &OsStr, file: File) -> Result<Self, FileAccessError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(FileAccessError::NotRegular);
        }
        procfs::check_opened_with(file.as_fd(), &metadata)?;
        Ok(Self { file, metadata, path: parent.join(name) })
    }

    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the path: absolute, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_directory(&self) -> bool {
        self.metadata.is_dir()
    }

    /// Sets the mode of the file or directory.
    ///
    /// # Errors
    /// Returns an error if the mode cannot be changed.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        procfs::set_mode(&self.file, mode)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn into_file(self) -> File {
        self.file
    }

    /// Converts the file to a directory.
    ///
    /// # Errors
    /// Returns the file if it is not a directory.
    pub fn into_directory(self) -> Result<Directory, Self> {
        if self.is_directory() { Ok(Directory::from_file(self.file, self.path.into())) } else { Err(self) }
    }

    /// Reads the whole file.
    ///
    /// # Errors
    /// Returns an error if the file is a directory, is larger than `max_size` bytes, or cannot be read.
    pub fn read(&self, max_size: u64) -> Result<Vec<u8>, FileAccessError> {
        if self.is_directory() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        if self.metadata.len() > max_size {
            return Err(FileAccessError::TooLarge(max_size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.metadata.len()).unwrap_or_default());
        // The file may grow during the read, and some files do not report a size.
        (&self.file).take(max_size.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_size { Err(FileAccessError::TooLarge(max_size)) } else { Ok(bytes) }
    }
}
