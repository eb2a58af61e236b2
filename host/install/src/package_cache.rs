//! The plugin cache: unpacked packages that several configurations share (`plugin_cache_dir`).
//!
//! The layout is the same as in Terraform and OpenTofu: `HOST/NS/TYPE/VERSION/OS_ARCH/`. A process
//! that adds a package holds an exclusive POSIX record lock on the whole file
//! `HOST/NS/TYPE/VERSION/OS_ARCH.lock`, which is empty. OpenTofu uses the same lock. Terraform
//! takes no lock, but never sees an incomplete package, since a package is unpacked elsewhere and
//! then renamed.
//!
//! POSIX record locks belong to a process, so concurrent tasks of one process additionally use a
//! lock in memory.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use wardian_address::{ProviderAddress, Version};
use wardian_cache::temporary_path;

use crate::mirror::provider_directory;

/// A directory of unpacked packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageCache {
    root: PathBuf,
    /// Whether a cached package may be used although the lock file has no hash of it.
    pub may_break_lock_file: bool,
}

impl PackageCache {
    pub fn new(root: impl Into<PathBuf>, may_break_lock_file: bool) -> Self {
        Self { root: root.into(), may_break_lock_file }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of one package, which may not exist.
    pub(crate) fn directory(&self, address: &ProviderAddress, version: &Version, platform: &str) -> PathBuf {
        provider_directory(&self.root, address).join(version.to_string()).join(platform)
    }

    /// Waits until no other process or task changes a package.
    ///
    /// # Errors
    /// Returns an error if the lock file cannot be created or locked.
    pub(crate) fn lock(directory: &Path) -> io::Result<EntryLock> {
        static ENTRIES: LazyLock<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>> = LazyLock::new(Mutex::default);
        let entry = {
            let mut entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(entries.entry(directory.to_owned()).or_default())
        };
        let mut name = directory.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let path = directory.with_file_name(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(EntryLock { path, entry })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedPackage {
    /// The directory of the package.
    pub directory: PathBuf,
    /// `HOST/NS/TYPE/VERSION/OS_ARCH`.
    pub name: String,
    /// The size of the files in bytes.
    pub size: u64,
    /// The time at which the package was added.
    pub added: SystemTime,
}

impl PackageCache {
    /// Returns all packages, the oldest first. Other files are ignored.
    ///
    /// # Errors
    /// Returns an error if the cache cannot be read.
    pub fn packages(&self) -> io::Result<Vec<CachedPackage>> {
        const LEVELS: usize = 5;
        let mut level = vec![(self.root.clone(), String::new())];
        for _ in 0..LEVELS {
            let mut next = Vec::new();
            for (directory, prefix) in &level {
                for entry in fs::read_dir(directory)? {
                    let entry = entry?;
                    let Ok(name) = entry.file_name().into_string() else { continue };
                    if name.starts_with('.') || !entry.file_type()?.is_dir() {
                        continue;
                    }
                    let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
                    next.push((entry.path(), name));
                }
            }
            level = next;
        }
        let mut packages = Vec::new();
        for (directory, name) in level {
            let added = fs::metadata(&directory)?.modified()?;
            packages.push(CachedPackage { size: size_of_files(&directory)?, directory, name, added });
        }
        packages.sort_by(|one, other| (one.added, &one.name).cmp(&(other.added, &other.name)));
        Ok(packages)
    }

    /// Removes a package, when no other process changes it.
    ///
    /// # Errors
    /// Returns an error if the package cannot be removed.
    pub fn remove(package: &CachedPackage) -> io::Result<()> {
        Self::lock(&package.directory)?.with(|| {
            // The package is renamed before its files are removed, so no process finds an
            // incomplete package.
            let removed = temporary_path(&package.directory)?;
            fs::rename(&package.directory, &removed)?;
            fs::remove_dir_all(removed)
        })
    }
}

fn size_of_files(directory: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let about = fs::symlink_metadata(entry.path())?;
        size += if about.is_dir() { size_of_files(&entry.path())? } else { about.len() };
    }
    Ok(size)
}

/// The lock of one package in the cache.
pub(crate) struct EntryLock {
    path: PathBuf,
    entry: Arc<Mutex<()>>,
}

impl EntryLock {
    /// Runs an action while no other process or task holds the lock.
    ///
    /// # Errors
    /// Returns an error if the lock cannot be acquired, or if the action fails.
    pub(crate) fn with<T>(&self, action: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        // Closing the file releases the lock.
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&self.path)?;
        lock_exclusively(&file)?;
        action()
    }
}

#[cfg(unix)]
fn lock_exclusively(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, fcntl_lock};
    use rustix::io::Errno;
    loop {
        match fcntl_lock(file, FlockOperation::LockExclusive) {
            Ok(()) => return Ok(()),
            // The kernel reports a deadlock between two processes that each wait for several
            // packages, although different tasks of the processes wait.
            Err(Errno::DEADLK) => std::thread::sleep(std::time::Duration::from_millis(50)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
fn lock_exclusively(file: &File) -> io::Result<()> {
    file.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_listed_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let cache = PackageCache::new(root.path(), false);
        for name in ["example.com/a/b/1.0.0/linux_amd64", "example.com/a/b/1.1.0/wasip2_wasm"] {
            fs::create_dir_all(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("file"), "content").unwrap();
        }
        fs::create_dir_all(root.path().join(".downloads/a/b/c/d")).unwrap();
        fs::write(root.path().join("example.com/a/b/1.0.0/linux_amd64.lock"), "").unwrap();
        let packages = cache.packages().unwrap();
        assert_eq!(packages.len(), 2);
        assert!(packages.iter().all(|package| package.size == 7));
        PackageCache::remove(&packages[0]).unwrap();
        assert_eq!(cache.packages().unwrap(), packages[1..]);
    }

    #[test]
    fn lock_excludes_other_tasks() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("host/ns/type/1.0.0/linux_amd64");
        let running = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    PackageCache::lock(&directory)
                        .unwrap()
                        .with(|| {
                            assert_eq!(running.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                            std::thread::yield_now();
                            running.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                            Ok(())
                        })
                        .unwrap();
                });
            }
        });
        assert!(root.path().join("host/ns/type/1.0.0/linux_amd64.lock").is_file());
    }
}
