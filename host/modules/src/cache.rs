//! The package cache, which all configurations of a user share.
//!
//! | path | content |
//! |---|---|
//! | `trees/DIGEST` | the file tree of a package, by the digest of its hash |
//! | `packages/DIGEST.json` | the hash of a package, by its address and its commit, version or digest |
//! | `git/DIGEST` | the objects of a repository, by its URL |
//! | `locks/NAME.lock` | locked while an entry is written |
//! | `tmp/NAME`, `tmp/NAME.lock` | files of a running process |
//!
//! The directory is private: only its user can write to it. A tree is written below `tmp` and then
//! renamed, so it is complete or absent. Each time it is copied into a configuration, it is hashed
//! again; a tree that has changed is removed and fetched again. Trees are copied, not linked, since
//! a file that is edited in one configuration must not change in the others; the kernel shares the
//! blocks of both copies if the file system supports it.
//!
//! Locks belong to open files, so the kernel releases them when a process ends for any reason. The
//! next process removes the files that a killed process has left in `tmp`.

mod lock;
mod prune;
mod record;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wardian_cache::{CacheError, private_directory};
use wardian_digest::Sha256Digest;
use wardian_download::advice::disk_advice;
use wardian_module_source::TreeHash;

pub(crate) use lock::{EntryLock, TemporaryDirectory, lock_file};
pub use prune::PrunedModules;
pub(crate) use record::{PackageKey, PackageRecord};

use crate::tree::{TreeContents, TreeError, prepare};

/// A cache that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleCacheError {
    #[error(transparent)]
    Directory(#[from] CacheError),
    #[error("failed to use the module cache: {}: {source}{}", path.display(), disk_advice(source))]
    Access { path: PathBuf, source: io::Error },
    #[error("failed to use the module cache: {0}")]
    Tree(#[from] TreeError),
}

impl ModuleCacheError {
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        Self::Access { path: path.to_owned(), source }
    }
}

/// A cache of module packages. All processes of a user can use it at the same time.
#[derive(Clone, Debug)]
pub struct ModuleCache {
    root: PathBuf,
}

impl ModuleCache {
    /// Opens a cache, and creates its directory if necessary.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created, or other users can write to it.
    pub fn open(root: &Path) -> Result<Self, ModuleCacheError> {
        private_directory(root)?;
        let root = root.canonicalize().map_err(|error| ModuleCacheError::new(root, error))?;
        for name in ["trees", "packages", "git", "locks", "tmp"] {
            let path = root.join(name);
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(ModuleCacheError::new(&path, error));
                }
                _ => {}
            }
        }
        let cache = Self { root };
        lock::remove_abandoned(&cache.root.join("tmp"));
        Ok(cache)
    }

    /// Creates a directory that is removed when the result is dropped.
    pub(crate) fn temporary_directory(&self) -> Result<TemporaryDirectory, ModuleCacheError> {
        let directory = self.root.join("tmp");
        TemporaryDirectory::new(&directory).map_err(|error| ModuleCacheError::new(&directory, error))
    }

    /// Returns the directory with the objects of a repository. It may not exist.
    pub(crate) fn repository(&self, url: &str) -> PathBuf {
        self.root.join("git").join(Sha256Digest::hash(url.as_bytes()).to_string())
    }

    /// Locks the objects of a repository.
    pub(crate) async fn lock_repository(&self, repository: &Path) -> Result<EntryLock, ModuleCacheError> {
        let waiting = || tracing::info!("waiting for another process that fetches from the same repository");
        self.lock(&repository_lock(repository), waiting).await
    }

    /// Returns whether the cache contains a tree.
    pub(crate) fn has_tree(&self, hash: &TreeHash) -> bool {
        self.tree(hash).is_dir()
    }

    fn tree(&self, hash: &TreeHash) -> PathBuf {
        self.root.join("trees").join(Sha256Digest::from_bytes(*hash.as_bytes()).to_string())
    }

    /// Moves a fetched tree, which must be in a temporary directory of the cache, into the cache.
    pub(crate) fn store(&self, fetched: &Path) -> Result<TreeHash, TreeError> {
        prepare(fetched)?;
        let hash = TreeContents::read(fetched)?.hash();
        let tree = self.tree(&hash);
        match fs::rename(fetched, &tree) {
            Err(error) if !tree.is_dir() => Err(TreeError::new(&tree, error.into())),
            // Another process has stored the same tree.
            _ => Ok(hash),
        }
    }

    /// Copies a tree to a new directory. Returns `None` if the cache does not contain the tree, or
    /// its content has changed; a changed tree is removed.
    pub(crate) fn copy_tree(&self, hash: &TreeHash, to: &Path) -> Result<Option<TreeContents>, TreeError> {
        let tree = self.tree(hash);
        if !tree.is_dir() {
            return Ok(None);
        }
        let copied = TreeContents::copy(&tree, to);
        match copied {
            Ok(contents) if contents.hash() == *hash => {
                mark_as_used(&tree);
                return Ok(Some(contents));
            }
            Err(error) if error.path.starts_with(to) => return Err(error),
            Ok(_) => tracing::warn!(path = %tree.display(), "a cached module has changed and is removed"),
            Err(error) => tracing::warn!(%error, "a cached module cannot be read and is removed"),
        }
        let _ = fs::remove_dir_all(to);
        self.remove(&tree);
        Ok(None)
    }

    /// Reads the digests of a tree, if the cache contains the tree and it has not changed.
    pub(crate) fn tree_contents(&self, hash: &TreeHash) -> Option<TreeContents> {
        TreeContents::read(&self.tree(hash)).ok().filter(|contents| contents.hash() == *hash)
    }

    /// Removes an entry. For other processes, it disappears atomically.
    fn remove(&self, entry: &Path) {
        let removed = self
            .temporary_directory()
            .map_err(io::Error::other)
            .and_then(|temporary| fs::rename(entry, temporary.path().join("removed")));
        if let Err(error) = removed {
            tracing::warn!(path = %entry.display(), %error, "cannot remove an entry of the module cache");
        }
    }
}

/// Returns the name of the lock of a repository's objects.
fn repository_lock(repository: &Path) -> String {
    format!("repository {}", repository.display())
}

/// Records the time of the last use, which determines the order in which entries are removed.
pub(crate) fn mark_as_used(path: &Path) {
    let now = std::time::SystemTime::now();
    let marked = fs::File::open(path).and_then(|file| file.set_modified(now));
    if let Err(error) = marked {
        tracing::debug!(path = %path.display(), %error, "cannot record the use of a cached module");
    }
}

#[cfg(test)]
mod tests;
