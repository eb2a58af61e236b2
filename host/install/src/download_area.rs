//! The download directory of one `init`: `.downloads` next to the installed packages.
//!
//! A file that is being downloaded is named after its digest, which lets a later `init` resume the
//! download after an interruption. Every `init` that uses the directory holds a shared lock on it,
//! and the last `init` removes the directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use wardian_cache::temporary_path;
use wardian_digest::Sha256Digest;

use crate::installed::remove;

/// The name of the directory. It is not a host name, so Terraform ignores it.
const DIRECTORY_NAME: &str = ".downloads";
const LOCK_NAME: &str = "lock";

/// The downloads of one `init`.
#[derive(Debug)]
pub struct DownloadArea {
    directory: PathBuf,
    lock: File,
    /// The parent directories that did not exist, the innermost first.
    created: Vec<PathBuf>,
}

impl DownloadArea {
    /// Opens the area in a directory of packages, which is created if necessary.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or is a symbolic link.
    pub fn open(packages: &Path) -> io::Result<Self> {
        let directory = packages.join(DIRECTORY_NAME);
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let created = packages.ancestors().take_while(missing).map(Path::to_owned).collect();
        loop {
            fs::create_dir_all(packages)?;
            if directory.is_symlink() {
                return Err(io::Error::other("it is a symbolic link, which is not followed; remove it"));
            }
            if let Err(error) = fs::create_dir(&directory)
                && error.kind() != io::ErrorKind::AlreadyExists
            {
                return Err(error);
            }
            let path = directory.join(LOCK_NAME);
            let opened = File::options().create(true).truncate(false).write(true).open(&path);
            let lock = match opened {
                Ok(lock) => lock,
                // Another process removed the directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            lock.lock_shared()?;
            // The directory may have been removed before the lock was acquired.
            if path.exists() {
                return Ok(Self { directory, lock, created });
            }
        }
    }

    /// Returns the file of a download. Only a download with a known digest can be resumed.
    ///
    /// # Errors
    /// Returns an error if no temporary name can be chosen.
    pub fn file(&self, expected: Option<Sha256Digest>, extension: &str) -> io::Result<PathBuf> {
        match expected {
            Some(digest) => Ok(self.directory.join(format!("{digest}.{extension}"))),
            None => temporary_path(&self.directory.join(extension)),
        }
    }

    /// Returns the path of a new directory into which a download is unpacked.
    ///
    /// # Errors
    /// Returns an error if no temporary name can be chosen.
    pub fn unpacked(&self) -> io::Result<PathBuf> {
        temporary_path(&self.directory.join("unpacked"))
    }
}

impl Drop for DownloadArea {
    /// Removes the directory, unless another process uses it or it contains incomplete downloads.
    fn drop(&mut self) {
        if self.lock.try_lock().is_err() {
            return;
        }
        // Cleaning up is optional: the next `init` repeats it.
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut keeps_parts = false;
        for entry in entries {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "part") {
                keeps_parts = true;
            } else if entry.file_name() != LOCK_NAME {
                let _ = remove(&path);
            }
        }
        if !keeps_parts && fs::remove_dir_all(&self.directory).is_ok() {
            // A directory that is in use is not empty, and is not removed.
            for directory in &self.created {
                let _ = fs::remove_dir(directory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_the_last_area_removes_the_download_directory() {
        let root = tempfile::tempdir().unwrap();
        let (one, other) =
            (DownloadArea::open(root.path()).unwrap(), DownloadArea::open(root.path()).unwrap());
        let file = one.file(Some(Sha256Digest::hash(b"x")), "zip").unwrap();
        fs::write(&file, "x").unwrap();
        fs::create_dir_all(one.unpacked().unwrap().join("sub")).unwrap();
        drop(other);
        assert!(file.exists());
        drop(one);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn incomplete_downloads_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let area = DownloadArea::open(root.path()).unwrap();
        let file = area.file(Some(Sha256Digest::hash(b"x")), "zip").unwrap();
        let part = PathBuf::from(format!("{}.part", file.display()));
        fs::write(&file, "x").unwrap();
        fs::write(&part, "x").unwrap();
        drop(area);
        assert!(part.exists() && !file.exists());
    }
}
