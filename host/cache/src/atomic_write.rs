//! Files that are replaced atomically: a reader sees either the old or the new content, never
//! partial content.
//!
//! The content is written to a temporary file in the same directory, flushed to the disk and
//! renamed, and then the directory is flushed. The temporary name is random and the file must not
//! exist yet, which prevents other users from creating a link with that name beforehand. A symbolic
//! link at the target is replaced, not followed.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::private::create_private;

/// The settings for replacing a file.
#[derive(Clone, Debug, Default)]
pub struct AtomicWrite {
    access: NewFileAccess,
    skips_sync: bool,
}

#[derive(Clone, Debug, Default)]
enum NewFileAccess {
    /// The default permissions, reduced by the process's umask.
    #[default]
    Default,
    Private,
    Exact(Permissions),
}

impl AtomicWrite {
    /// Creates a durable write with the default permissions of new files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives only this user permission to read and write the file.
    #[must_use]
    pub fn private(self) -> Self {
        Self { access: NewFileAccess::Private, ..self }
    }

    /// Gives the file these permissions.
    #[must_use]
    pub fn with_permissions(self, permissions: Permissions) -> Self {
        Self { access: NewFileAccess::Exact(permissions), ..self }
    }

    /// Does not flush the file to the disk, for content that can be verified and created again.
    #[must_use]
    pub fn without_sync(self) -> Self {
        Self { skips_sync: true, ..self }
    }

    /// Replaces the content of the file `path` with the concatenated `parts`.
    ///
    /// # Errors
    /// Returns an error if a step fails. The old file is then unchanged, unless the failed step is
    /// the flush of the directory.
    pub fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let temporary = temporary_path(path)?;
        let file = self.create(&temporary)?;
        self.fill(file, parts).and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| {
            // The first error is returned, so an error during this removal is ignored.
            let _ = fs::remove_file(&temporary);
        })?;
        if self.skips_sync { Ok(()) } else { sync_directory(path) }
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        match self.access {
            NewFileAccess::Default => OpenOptions::new().write(true).create_new(true).open(path),
            // Wider permissions are set after the content is written.
            NewFileAccess::Private | NewFileAccess::Exact(_) => create_private(path),
        }
    }

    fn fill(&self, mut file: File, parts: &[&[u8]]) -> io::Result<()> {
        for part in parts {
            file.write_all(part)?;
        }
        if let NewFileAccess::Exact(permissions) = &self.access {
            file.set_permissions(permissions.clone())?;
        }
        if self.skips_sync { Ok(()) } else { file.sync_all() }
    }
}

/// Returns an unpredictable path in the directory of `path`. The file name is hidden; if it already
/// has a leading dot, no other dot is added.
///
/// # Errors
/// Returns an error if the system cannot generate random numbers.
pub fn temporary_path(path: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let name = path.file_name().unwrap_or_default();
    let is_hidden = name.as_encoded_bytes().starts_with(b".");
    let mut temporary = std::ffi::OsString::from(if is_hidden { "" } else { "." });
    temporary.push(name);
    temporary.push(format!(".{:016x}.tmp", u64::from_le_bytes(random)));
    Ok(path.with_file_name(temporary))
}

/// Flushes the directory of `path`, to make the names of its files durable.
///
/// # Errors
/// Returns an error if the directory cannot be opened or flushed.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn write_replaces_file_without_temporary_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for content in [&[b"one".as_slice(), b" part"][..], &[b"two"], &[]] {
            AtomicWrite::new().write(&path, content).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content.concat());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn write_sets_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        AtomicWrite::new().private().write(&path, &[b"a"]).unwrap();
        assert_eq!(mode(&path), 0o600);
        let exact = AtomicWrite::new().with_permissions(Permissions::from_mode(0o664));
        exact.write(&path, &[b"a"]).unwrap();
        assert_eq!(mode(&path), 0o664);
        let umask_allows = {
            let other = folder.path().join("other");
            fs::write(&other, "").unwrap();
            mode(&other)
        };
        AtomicWrite::new().write(&path, &[b"a"]).unwrap();
        assert_eq!(mode(&path), umask_allows);
    }

    #[test]
    fn write_replaces_a_symbolic_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        symlink("target", &link).unwrap();
        AtomicWrite::new().write(&link, &[b"new"]).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn failed_write_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("directory");
        fs::create_dir(&path).unwrap();
        assert!(AtomicWrite::new().write(&path, &[b"new"]).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn temporary_paths_are_hidden_and_differ() {
        for name in ["file", ".file"] {
            let path = Path::new("directory").join(name);
            let (one, two) = (temporary_path(&path).unwrap(), temporary_path(&path).unwrap());
            assert_ne!(one, two);
            assert!(one.starts_with("directory"));
            let hidden = one.file_name().unwrap().to_str().unwrap();
            assert!(
                hidden.starts_with(".file.") && one.extension().is_some_and(|extension| extension == "tmp"),
                "{hidden}"
            );
        }
    }
}
