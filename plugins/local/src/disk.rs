//! The file system as the provider uses it: whole files, and the difference
//! between what is absent and what it may not see.
//!
//! Every operation first asks whether a granted directory contains the path
//! ([`wardian_sdk::granted`]), so that a missing grant is an error and never passes
//! for an absent file, which would drop a resource from state.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use wardian_sdk::file_mode;
use wardian_sdk::granted::is_granted;

/// Why something on disk could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    /// No directory that the provider may use contains the path.
    #[error(
        "{} lies outside of the directories that the provider may use",
        .0.display()
    )]
    NotGranted(PathBuf),
    /// The system refused.
    #[error("failed to {action} {}: {cause}", .path.display())]
    Failed { action: &'static str, path: PathBuf, cause: io::Error },
}

/// The content of the file, or none where there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    granted(path)?;
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) => absent_or_failed("read", path, error),
    }
}

/// Whether there is a directory; none where there is nothing, an error where
/// there is something else.
pub(crate) fn directory_exists(path: &Path) -> Result<Existence, DiskError> {
    granted(path)?;
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(Existence::Directory),
        Ok(_) => Ok(Existence::Other),
        Err(error) => {
            let absent: Option<()> = absent_or_failed("look at", path, error)?;
            debug_assert!(absent.is_none());
            Ok(Existence::Nothing)
        }
    }
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existence {
    Directory,
    Other,
    Nothing,
}

/// The modes that new things ask for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modes {
    pub(crate) file: u32,
    pub(crate) directory: u32,
}

/// Writes a whole file and the directories above it that are missing. The file has
/// its mode before it has any content; one that is already there keeps its own.
pub(crate) fn write(path: &Path, content: &[u8], modes: Modes) -> Result<(), DiskError> {
    granted(path)?;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty())
        && fs::metadata(parent).is_err()
    {
        file_mode::create_directory(parent, modes.directory)
            .map_err(|error| refused("create directory", parent, error))?;
    }
    let write = || file_mode::create_file(path, modes.file)?.write_all(content);
    write().map_err(|error| refused("write", path, error))
}

/// Deletes the file. One that is gone already is as good as deleted.
pub(crate) fn remove(path: &Path) -> Result<(), DiskError> {
    granted(path)?;
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

fn granted(path: &Path) -> Result<(), DiskError> {
    if is_granted(path) { Ok(()) } else { Err(DiskError::NotGranted(path.to_path_buf())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: Modes = Modes { file: 0o600, directory: 0o700 };

    #[cfg(unix)]
    #[test]
    fn files_come_with_their_directories_and_modes() {
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
    fn a_file_for_reading_only_gets_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        write(&path, b"secret", Modes { file: 0o400, ..MODES }).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"secret");
    }

    #[test]
    fn absence_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        assert!(read(&path).unwrap().is_none());
        remove(&path).unwrap();
        assert_eq!(directory_exists(&path).unwrap(), Existence::Nothing);
        assert_eq!(directory_exists(directory.path()).unwrap(), Existence::Directory);
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(read(directory.path()), Err(DiskError::Failed { .. })));
        assert!(write(directory.path(), b"", MODES).is_err());
        let file = directory.path().join("file");
        write(&file, b"", MODES).unwrap();
        assert_eq!(directory_exists(&file).unwrap(), Existence::Other);
        assert!(read(&file.join("below")).is_err());
    }

    #[test]
    fn relative_paths_start_where_the_provider_runs() {
        assert!(read(Path::new("no-such-file-here")).unwrap().is_none());
    }
}
