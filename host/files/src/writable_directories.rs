//! The directories that plugins may write.
//!
//! A plugin can create a link in a directory that it may write, or move one there. So no path
//! that a policy grants passes through such a link, and the host does not follow it out of the
//! directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::directory::Directory;
use crate::error::FileAccessError;
use crate::resolution::{LastLink, LinkRule, names_of, resolve};

/// The directories that plugins may write. A directory counts under the name that a policy has
/// for it, and under its path without links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WritableDirectories {
    /// Sorted; absolute and normalized.
    directories: Vec<PathBuf>,
}

/// The reason why a granted path cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GrantedPathError {
    /// A component of the path is a link that a plugin may have created.
    #[error(
        "{} is a link in {}, which a plugin may write, so a plugin may have created it; if the link is \
         intended, name its target in the policy instead",
        .link.display(), .directory.display()
    )]
    PluginLink {
        /// The path of the link.
        link: PathBuf,
        /// The directory.
        directory: PathBuf,
    },
    /// The path cannot be opened.
    #[error(transparent)]
    Access(FileAccessError),
}

/// A granted path, resolved.
#[derive(Debug)]
pub struct GrantedPath {
    /// The innermost directory that exists.
    pub existing: Directory,
    /// The names below it that do not exist.
    pub missing: Vec<OsString>,
}

impl GrantedPath {
    /// Returns the path without links.
    pub fn path(&self) -> PathBuf {
        let mut path = self.existing.path().to_path_buf();
        path.extend(&self.missing);
        path
    }
}

impl WritableDirectories {
    /// Returns the directories under these absolute, normalized paths, and under the same paths
    /// without links.
    ///
    /// Links in directories that plugins may write are not resolved: such a path leads nowhere
    /// that is granted. Whether a path passes through one depends on the other directories, so
    /// they are resolved until nothing is added, in at most as many rounds as there are paths.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut named: Vec<PathBuf> = paths.into_iter().collect();
        named.sort();
        named.dedup();
        let mut all = Self { directories: named.clone() };
        loop {
            let found = named.iter().filter_map(|path| Some(all.resolve(path).ok()?.path()));
            let new: Vec<PathBuf> =
                found.filter(|path| all.directories.binary_search(path).is_err()).collect();
            if new.is_empty() {
                return all;
            }
            all.directories.extend(new);
            all.directories.sort();
            all.directories.dedup();
        }
    }

    /// Returns the paths, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(PathBuf::as_path)
    }

    /// Returns the innermost of the directories that is the path or contains it.
    pub fn containing(&self, path: &Path) -> Option<&Path> {
        if self.directories.is_empty() {
            return None;
        }
        path.ancestors().find_map(|above| {
            let index = self.directories.binary_search_by(|known| known.as_path().cmp(above)).ok()?;
            self.directories.get(index).map(PathBuf::as_path)
        })
    }

    /// Resolves an absolute path that a policy grants, and whose last components need not exist.
    ///
    /// # Errors
    /// If the path passes through a link in one of the directories, or through something that is
    /// not a directory, or if the system reports an error.
    pub fn resolve(&self, path: &Path) -> Result<GrantedPath, GrantedPathError> {
        let access = GrantedPathError::Access;
        let root = Directory::root().map_err(|error| access(error.into()))?;
        let names = names_of(path);
        let mut existing = root.clone();
        // From the complete path up to the first directory that exists. Its components must be
        // directories also if the rest is missing.
        for count in (0..=names.len()).rev() {
            let mut inner = PathBuf::from("/");
            inner.extend(names.iter().take(count));
            let rule = LinkRule::NoPluginLinks(self);
            let found = resolve(&root, inner.as_os_str(), LastLink::Follow, rule, &mut Vec::new()).and_then(
                |resolved| match resolved.kind()? {
                    Some(_) => resolved.open_directory().map(Some),
                    None => Ok(None),
                },
            );
            match found {
                Ok(Some(directory)) => {
                    existing = directory;
                    return Ok(GrantedPath { existing, missing: names.into_iter().skip(count).collect() });
                }
                Ok(None) => {}
                Err(FileAccessError::System(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(FileAccessError::PluginLink { link, directory }) => {
                    return Err(GrantedPathError::PluginLink { link, directory });
                }
                Err(error) => return Err(access(error)),
            }
        }
        Ok(GrantedPath { existing, missing: names })
    }
}
