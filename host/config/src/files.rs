//! Reads configuration files from the file system or from memory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Read access to files.
pub trait Files {
    /// Returns the names of the files in a directory, including symbolic links to files, in any
    /// order.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory does not exist or cannot be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>>;

    /// Returns a file's content.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// Files in memory, for a configuration in a plan file or a test.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl MemoryFiles {
    /// Creates files from paths and contents.
    pub fn new<P: Into<PathBuf>, B: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, B)>) -> Self {
        Self { files: files.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect() }
    }
}

impl Files for MemoryFiles {
    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        let directory = if directory == Path::new(".") { Path::new("") } else { directory };
        let below = self.files.keys().filter(|path| path.starts_with(directory));
        if directory != Path::new("") && below.clone().next().is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(below
            .filter(|path| path.parent() == Some(directory))
            .filter_map(|path| Some(path.file_name()?.to_owned()))
            .collect())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
