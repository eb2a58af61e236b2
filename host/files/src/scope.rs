//! Opens files by path within a scope.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::FileAccessError;
use crate::listing::Listing;
use crate::open_file::{FileOpening, OpenedFile};
use crate::resolution::{LastLink, LinkRule, ResolvedPath, resolve};
use crate::writable_directories::WritableDirectories;

/// The set of files to which paths may refer. Clones are equivalent.
#[derive(Clone, Debug)]
pub struct FileScope {
    start: Directory,
    reach: Reach,
}

#[derive(Clone, Debug)]
enum Reach {
    /// A directory, under the name that the caller uses.
    Beneath(PathBuf),
    Anywhere(Arc<WritableDirectories>),
}

impl FileScope {
    /// Returns the scope of one directory and everything below it. A path is relative to the
    /// directory, or absolute and below it. Neither `..` nor a symbolic link may leave the
    /// directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be opened.
    pub fn confined(directory: &Path) -> io::Result<Self> {
        let named = std::path::absolute(directory)?;
        // The operator selected this directory, so the path to it may contain symbolic links.
        let real = named.canonicalize()?;
        let start = Directory::open_absolute(&real)?;
        Ok(Self { start, reach: Reach::Beneath(named) })
    }

    /// Returns the scope of all files, except that a symbolic link in a directory that a plugin may
    /// write is not followed out of that directory. Relative paths start at the process's current
    /// directory.
    ///
    /// # Errors
    /// Returns an error if the root directory cannot be opened.
    pub fn anywhere(writable_directories: Arc<WritableDirectories>) -> io::Result<Self> {
        Ok(Self { start: Directory::root()?, reach: Reach::Anywhere(writable_directories) })
    }

    /// Returns the path of the directory that paths cannot leave, without symbolic links: the root
    /// directory if the scope is not confined.
    pub fn directory(&self) -> &Path {
        self.start.path()
    }

    /// Whether the scope is confined to one directory.
    pub fn is_confined(&self) -> bool {
        matches!(self.reach, Reach::Beneath(_))
    }

    /// Resolves a path. Files outside the scope are not accessed, so an error does not reveal
    /// whether they exist.
    ///
    /// # Errors
    /// Returns an error if the path leads out of the scope, or a component before the last one is
    /// not a directory.
    pub fn resolve(&self, path: &Path, last: LastLink) -> Result<ResolvedPath, FileAccessError> {
        self.resolve_recording(path, last, &mut Vec::new())
    }

    /// The same as [`FileScope::resolve`]. `passed` receives the other paths whose existence the
    /// result reveals, even if the result is an error.
    ///
    /// # Errors
    /// Returns the same errors as [`FileScope::resolve`].
    pub fn resolve_recording(
        &self,
        path: &Path,
        last: LastLink,
        passed: &mut Vec<PathBuf>,
    ) -> Result<ResolvedPath, FileAccessError> {
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT.into());
        }
        let rule = match &self.reach {
            Reach::Beneath(_) => LinkRule::Beneath,
            Reach::Anywhere(directories) => LinkRule::Anywhere(directories),
        };
        resolve(&self.start, &self.relative_to_start(path)?, last, rule, passed)
    }

    fn relative_to_start(&self, path: &Path) -> Result<OsString, FileAccessError> {
        let text = path.as_os_str();
        let mut relative = match &self.reach {
            // `absolute` preserves `..` and a trailing slash.
            Reach::Anywhere(_) => return Ok(std::path::absolute(path)?.into_os_string()),
            Reach::Beneath(_) if path.is_relative() => return Ok(text.to_owned()),
            Reach::Beneath(named) => path
                .strip_prefix(self.start.path())
                .or_else(|_| path.strip_prefix(named))
                .map_err(|_| FileAccessError::Outside { path: path.to_owned() })?
                .as_os_str()
                .to_owned(),
        };
        if relative.is_empty() {
            relative.push(".");
        }
        if text.as_encoded_bytes().ends_with(b"/") {
            relative.push("/");
        }
        Ok(relative)
    }

    /// Opens a regular file for reading. This never blocks.
    ///
    /// # Errors
    /// Returns an error if the path leads out of the scope, or does not refer to a regular file
    /// that can be read.
    pub fn open(&self, path: &Path) -> Result<OpenedFile, FileAccessError> {
        let opened = self.resolve(path, LastLink::Follow)?.open_file(FileOpening::READ)?;
        if opened.is_directory() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        Ok(opened)
    }

    /// Reads a regular file of at most `max_size` bytes.
    ///
    /// # Errors
    /// Returns the same errors as [`FileScope::open`], and an error if the file is larger.
    pub fn read(&self, path: &Path, max_size: u64) -> Result<Vec<u8>, FileAccessError> {
        self.open(path)?.read(max_size)
    }

    /// Opens a directory.
    ///
    /// # Errors
    /// Returns an error if the path leads out of the scope, or does not refer to a directory that
    /// can be opened.
    pub fn open_directory(&self, path: &Path) -> Result<Directory, FileAccessError> {
        self.resolve(path, LastLink::Follow)?.open_directory()
    }

    /// Starts listing a directory.
    ///
    /// # Errors
    /// Returns the same errors as [`FileScope::open_directory`].
    pub fn list(&self, path: &Path) -> Result<Listing, FileAccessError> {
        self.open_directory(path)?.list()
    }
}

#[cfg(test)]
mod tests;
