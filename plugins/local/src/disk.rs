//! Reads and writes complete files, and distinguishes absent files from files that are not granted.
//!
//! Every operation first checks that a granted directory contains the path
//! ([`wardian_sdk::file_access`]), to report a missing grant as an error. Otherwise the file would
//! appear to be absent, and the resource would be removed from the state.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use wardian_sdk::file_access::is_granted;
use wardian_sdk::file_mode;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    /// No granted directory contains the path.
    #[error(
        "{} is outside of the directories to which the provider has access",
        .0.display()
    )]
    NotGranted(PathBuf),
    /// The operating system reported an error.
    #[error("failed to {action} {}: {cause}", .path.display())]
    Failed { action: &'static str, path: PathBuf, cause: io::Error },
}

/// Returns the content of the file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    check_granted(path)?;
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) => absent_or_failed("read", path, error),
    }
}

/// Returns the kind of file at a path.
pub(crate) fn path_kind(path: &Path) -> Result<PathKind, DiskError> {
    check_granted(path)?;
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(PathKind::Directory),
        Ok(_) => Ok(PathKind::Other),
        Err(error) => {
            let absent: Option<()> = absent_or_failed("look at", path, error)?;
            debug_assert!(absent.is_none());
            Ok(PathKind::Absent)
        }
    }
}

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    Directory,
    Other,
    Absent,
}

/// The modes of new files and directories.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modes {
    pub(crate) file: u32,
    pub(crate) directory: u32,
}

/// Writes a file, and creates its missing parent directories. A new file has its mode before
/// content is written; an existing file keeps its mode.
pub(crate) fn write(path: &Path, content: &[u8], modes: Modes) -> Result<(), DiskError> {
    check_granted(path)?;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty())
        && fs::metadata(parent).is_err()
    {
        file_mode::create_directory(parent, modes.directory)
            .map_err(|error| refused("create directory", parent, error))?;
    }
    let write = || file_mode::create_file(path, modes.file)?.write_all(content);
    write().map_err(|error| refused("write", path, error))
}

/// Deletes the file. Succeeds if it does not exist.
pub(crate) fn remove(path: &Path) -> Result<(), DiskError> {
    check_granted(path)?;
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) => absent_or_failed("delete", path, error).map(|_: Option<()>| ()),
    }
}

fn absent_or_failed<T>(action: &'static str, path: &Path, error: io::Error) -> Result<Option<T>, DiskError> {
    if error.kind() == ErrorKind::NotFound {
        return Ok(None);
    }
    Err(refused(action, path, error))
}

fn refused(action: &'static str, path: &Path, cause: io::Error) -> DiskError {
    DiskError::Failed { action, path: path.to_path_buf(), cause }
}

fn check_granted(path: &Path) -> Result<(), DiskError> {
    if is_granted(path) { Ok(()) } else { Err(DiskError::NotGranted(path.to_path_buf())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: Modes = Modes { file: 0o600, directory: 0o700 };

    #[cfg(unix)]
    #[test]
    fn write_creates_directories_with_modes() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/c.txt");
        write(&path, b"one", MODES).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"one");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(mode(&directory.path().join("a")), 0o700);

        write(&path, b"t", Modes { file: 0o644, directory: 0o755 }).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"t");
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[cfg(unix)]
    #[test]
    fn write_supports_read_only_modes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        write(&path, b"secret", Modes { file: 0o400, ..MODES }).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"secret");
    }

    #[test]
    fn absent_files_are_not_errors() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        assert!(read(&path).unwrap().is_none());
        remove(&path).unwrap();
        assert_eq!(path_kind(&path).unwrap(), PathKind::Absent);
        assert_eq!(path_kind(directory.path()).unwrap(), PathKind::Directory);
    }

    #[test]
    fn reading_or_writing_a_directory_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(read(directory.path()), Err(DiskError::Failed { .. })));
        assert!(write(directory.path(), b"", MODES).is_err());
        let file = directory.path().join("file");
        write(&file, b"", MODES).unwrap();
        assert_eq!(path_kind(&file).unwrap(), PathKind::Other);
        assert!(read(&file.join("below")).is_err());
    }

    #[test]
    fn relative_paths_start_in_working_directory() {
        assert!(read(Path::new("no-such-file-here")).unwrap().is_none());
    }
}
