//! Creates files and directories with a given mode, which the standard library does not support in
//! a sandbox.
//!
//! The functions work in directories for which the provider has write access, under the names in
//! the grant. A mode is at most `0o777`. The umask of the host's user applies to new files. In
//! native builds, the operating system applies the mode; systems without modes ignore it.

use std::io::{self, Write};
use std::path::Path;

/// A file that is open for writing, regardless of its mode.
///
/// ```
/// use std::io::Write as _;
/// use wardian_sdk::file_mode;
///
/// let directory = tempfile::tempdir()?;
/// let mut file = file_mode::create_file(directory.path().join("key"), 0o600)?;
/// file.write_all(b"secret")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct WritableFile(host::File);

/// Opens an empty file. A new file gets the mode, reduced by the umask. An existing file is
/// truncated and keeps its mode.
///
/// ```
/// use wardian_sdk::file_mode;
///
/// let directory = tempfile::tempdir()?;
/// file_mode::create_file(directory.path().join("key"), 0o600)?;
/// assert!(directory.path().join("key").is_file());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn create_file(path: impl AsRef<Path>, mode: u32) -> io::Result<WritableFile> {
    host::create_file(path.as_ref(), mode).map(WritableFile)
}

/// Creates a directory and its missing parents, each with the mode, reduced by the umask. An
/// existing directory is not changed.
///
/// ```
/// use wardian_sdk::file_mode;
///
/// let directory = tempfile::tempdir()?;
/// file_mode::create_directory(directory.path().join("a/b"), 0o700)?;
/// assert!(directory.path().join("a/b").is_dir());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn create_directory(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    host::create_directory(path.as_ref(), mode)
}

/// Sets the mode of an existing file or directory.
///
/// ```
/// use wardian_sdk::file_mode;
///
/// let directory = tempfile::tempdir()?;
/// file_mode::set_mode(directory.path(), 0o700)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn set_mode(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    host::set_mode(path.as_ref(), mode)
}

impl Write for WritableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(target_family = "wasm")]
mod host {
    use std::io::{self, ErrorKind, Write};
    use std::path::Path;

    use crate::bindings::wardian::plugin::file_mode::{self, ModeError, WritableFile};

    /// Number of bytes per call, since the host limits the size of a call's arguments.
    const CHUNK_SIZE: usize = 1 << 20;

    #[derive(Debug)]
    pub(super) struct File(WritableFile);

    impl Write for File {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let chunk = &bytes[..bytes.len().min(CHUNK_SIZE)];
            self.0.write(chunk).map_err(error)?;
            Ok(chunk.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    pub(super) fn create_file(path: &Path, mode: u32) -> io::Result<File> {
        file_mode::create_file(text(path)?, mode).map(File).map_err(error)
    }

    pub(super) fn create_directory(path: &Path, mode: u32) -> io::Result<()> {
        file_mode::create_directory(text(path)?, mode).map_err(error)
    }

    pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
        file_mode::set_mode(text(path)?, mode).map_err(error)
    }

    fn text(path: &Path) -> io::Result<&str> {
        path.to_str().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "the path is not UTF-8"))
    }

    fn error(error: ModeError) -> io::Error {
        match error {
            ModeError::Denied(reason) => io::Error::new(ErrorKind::PermissionDenied, reason),
            ModeError::NotFound => ErrorKind::NotFound.into(),
            ModeError::Failed(reason) => io::Error::other(reason),
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod host {
    pub(super) use std::fs::File;
    use std::fs::{self, DirBuilder, OpenOptions};
    use std::io;
    #[cfg(unix)]
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    #[cfg_attr(not(unix), expect(unused_variables, reason = "the system has no modes"))]
    pub(super) fn create_file(path: &Path, mode: u32) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        options.mode(mode);
        options.open(path)
    }

    #[cfg_attr(not(unix), expect(unused_variables, reason = "the system has no modes"))]
    pub(super) fn create_directory(path: &Path, mode: u32) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        builder.mode(mode);
        builder.create(path)
    }

    #[cfg(unix)]
    pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    #[cfg(not(unix))]
    pub(super) fn set_mode(path: &Path, _mode: u32) -> io::Result<()> {
        fs::metadata(path).map(|_| ())
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn create_sets_mode_of_new_files_only() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("a/b");
        create_directory(&directory, 0o700).unwrap();
        create_directory(&directory, 0o500).unwrap();
        assert_eq!((mode(&place.path().join("a")), mode(&directory)), (0o700, 0o700));

        let path = directory.join("file");
        create_file(&path, 0o400).unwrap().write_all(b"written before it was for reading only").unwrap();
        assert_eq!(mode(&path), 0o400);
        set_mode(&path, 0o640).unwrap();
        create_file(&path, 0o600).unwrap().write_all(b"anew").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap().as_slice()), (0o640, &b"anew"[..]));
    }

    #[test]
    fn absent_parents_are_not_found() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("absent/file");
        assert_eq!(create_file(&path, 0o600).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(set_mode(&path, 0o600).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
