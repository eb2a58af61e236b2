//! The directories that plugins may write to, and the resolution of paths in them.
//!
//! A plugin can create a symbolic link in such a directory, or move one into it. Therefore, granted
//! paths must not pass through symbolic links in these directories, and the host does not follow
//! such links out of the directories.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::FileAccessError;
use crate::resolution::{LastLink, LinkRule, ResolvedPath, names_of, resolve};

/// The directories that plugins may write to. The set contains each directory under the name that a
/// policy uses for it, and under its path without symbolic links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WritableDirectories {
    /// Sorted, absolute, normalized paths.
    directories: Vec<PathBuf>,
}

/// The reason why a granted path cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GrantedPathError {
    /// A component of the path is a symbolic link that a plugin may have created.
    #[error(
        "{} is a symbolic link in {}, which plugins can write to, so a plugin may have created the link; \
         if it is intended, use its target in the policy",
        .link.display(), .directory.display()
    )]
    PluginLink {
        link: PathBuf,
        /// The writable directory.
        directory: PathBuf,
    },
    /// The path cannot be opened.
    #[error(transparent)]
    Access(FileAccessError),
}

#[derive(Debug)]
pub struct GrantedPath {
    /// The innermost directory that exists.
    pub existing: Directory,
    /// The remaining names, which do not exist.
    pub missing: Vec<OsString>,
}

impl GrantedPath {
    /// Returns the path without symbolic links.
    pub fn path(&self) -> PathBuf {
        let mut path = self.existing.path().to_path_buf();
        path.extend(&self.missing);
        path
    }
}

impl WritableDirectories {
    /// Returns the directories at these absolute, normalized paths, and the same paths without
    /// symbolic links.
    ///
    /// Symbolic links in writable directories are not resolved, since a path through such a link is
    /// not granted. Whether a path contains such a link depends on the other directories, so all
    /// paths are resolved repeatedly until no path is added. The number of repetitions is at most
    /// the number of paths.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut named: Vec<PathBuf> = paths.into_iter().collect();
        named.sort();
        named.dedup();
        let mut all = Self { directories: named.clone() };
        loop {
            let found = named.iter().filter_map(|path| all.real_path(path).ok());
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

    /// Returns the innermost of the directories that contains the path or is equal to it.
    pub fn containing(&self, path: &Path) -> Option<&Path> {
        if self.directories.is_empty() {
            return None;
        }
        path.ancestors().find_map(|above| {
            let index = self.directories.binary_search_by(|known| known.as_path().cmp(above)).ok()?;
            self.directories.get(index).map(PathBuf::as_path)
        })
    }

    /// Resolves an absolute path that a policy grants. Its last components need not exist.
    ///
    /// # Errors
    /// Returns an error if the path passes through a symbolic link in one of the directories or
    /// through a file that is not a directory, or if a directory on it cannot be opened.
    pub fn resolve(&self, path: &Path) -> Result<GrantedPath, GrantedPathError> {
        let (found, missing) = self.innermost(path, false)?;
        let existing = found.open_directory().map_err(GrantedPathError::Access)?;
        Ok(GrantedPath { existing, missing })
    }

    /// Returns the path of a file or directory without symbolic links. Its last components need not
    /// exist.
    ///
    /// # Errors
    /// Returns an error if the path passes through a symbolic link in one of the directories, or if
    /// a directory on it cannot be opened.
    pub fn real_path(&self, path: &Path) -> Result<PathBuf, GrantedPathError> {
        let (found, missing) = self.innermost(path, true)?;
        let mut path = found.path();
        path.extend(missing);
        Ok(path)
    }

    /// Returns the innermost existing file or directory on a path, and the components below it.
    fn innermost(
        &self,
        path: &Path,
        accepts_files: bool,
    ) -> Result<(ResolvedPath, Vec<OsString>), GrantedPathError> {
        let access = GrantedPathError::Access;
        let root = Directory::root().map_err(|error| access(error.into()))?;
        let names = names_of(path);
        for count in (0..=names.len()).rev() {
            let mut inner = PathBuf::from("/");
            inner.extend(names.iter().take(count));
            let rule = LinkRule::NoPluginLinks(self);
            let found = resolve(&root, inner.as_os_str(), LastLink::Follow, rule, &mut Vec::new())
                .and_then(|resolved| Ok((resolved.kind()?, resolved)));
            match found {
                Ok((Some(_), resolved)) => return Ok((resolved, names.into_iter().skip(count).collect())),
                Ok((None, _)) => {}
                Err(FileAccessError::System(error))
                    if error.kind() == ErrorKind::NotFound
                        || accepts_files && error.kind() == ErrorKind::NotADirectory => {}
                Err(FileAccessError::PluginLink { link, directory }) => {
                    return Err(GrantedPathError::PluginLink { link, directory });
                }
                Err(error) => return Err(access(error)),
            }
        }
        Err(access(Errno::NOENT.into()))
    }
}
