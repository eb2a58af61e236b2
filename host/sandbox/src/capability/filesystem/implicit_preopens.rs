//! Paths that do not begin with the name of a granted directory, and are therefore relative to `.`
//! or `/`.
//!
//! Every guest has both as preopens. Such accesses therefore reach the host, which checks and
//! records them, instead of failing in the guest's C library. Neither preopen is a grant: paths
//! that are relative to it are denied unless the root module's directory, or `/`, is granted.
//!
//! C libraries strip `.` and `/` from the names of preopens, and the leading slash from paths;
//! therefore, the host receives both `tmp/x` and `/tmp/x` as `tmp/x`, through the same handle. A
//! guest that has changed to its working directory passes only absolute paths. The host assumes
//! that a guest has done so if it has requested its initial working directory. For other guests, a
//! path is considered absolute if its first component exists in `/` and not in the root module's
//! directory. The assumption grants no access, because the path is checked in the assumed form.

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use wardian_access::FileOperation;
use wardian_files::MAX_PATH_LENGTH;

use super::file_guard::{FileError, FileGuard};
use super::operations::Directory;

/// The base of a path that does not begin with the name of a granted directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathRoot {
    /// The root module's directory.
    WorkingDirectory,
    /// The root directory, `/`.
    Top,
    /// Either of the two. The guest's path does not distinguish them.
    TopOrWorkingDirectory,
}

impl PathRoot {
    /// Returns the preopen's name for guests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WorkingDirectory => ".",
            Self::Top | Self::TopOrWorkingDirectory => "/",
        }
    }

    /// Resolves the ambiguity for a guest that knows its working directory.
    pub(crate) fn assume(self, knows_working_directory: bool) -> Self {
        match self {
            Self::TopOrWorkingDirectory if knows_working_directory => Self::Top,
            beginning => beginning,
        }
    }

    /// Returns the granted directory in which to resolve a path.
    ///
    /// # Errors
    /// Returns an error if the directory is not granted. The denial is recorded.
    pub(crate) fn directory(
        self,
        guard: &FileGuard,
        path: &str,
        access: FileOperation,
    ) -> Result<Directory, FileError> {
        if path.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if path.contains('\0') {
            return Err(Errno::INVAL.into());
        }
        if path.len() > MAX_PATH_LENGTH {
            return Err(Errno::NAMETOOLONG.into());
        }
        let files = guard.files();
        let from_top = Path::new("/").join(path);
        let granted = |root| Directory::Granted(Arc::clone(root));
        let working_directory = || {
            let refusal = || guard.refuse_unnamed(&files.root_module().join(path), access);
            files.working_directory().map(granted).ok_or_else(refusal)
        };
        match self {
            Self::WorkingDirectory => working_directory(),
            Self::Top => files.top().map(granted).ok_or_else(|| guard.refuse_unnamed(&from_top, access)),
            Self::TopOrWorkingDirectory if is_absolute(files.root_module(), path, access) => {
                match (files.top(), files.working_directory()) {
                    (Some(top), _) => Ok(granted(top)),
                    (None, root_module) => {
                        let refusal = guard.refuse_unnamed(&from_top, access);
                        // The root module's directory has no such entry, so resolving the path
                        // there reports a missing file.
                        root_module.map(granted).ok_or(refusal)
                    }
                }
            }
            Self::TopOrWorkingDirectory => working_directory(),
        }
    }
}

/// The base of a path: implicit, or an open directory.
pub(crate) enum Start {
    /// An implicit preopen.
    PathRoot(PathRoot),
    /// A granted directory or one below it.
    Directory(Directory),
}

impl Start {
    /// Returns the directory, like [`PathRoot::directory`].
    pub(crate) fn directory(
        &self,
        guard: &FileGuard,
        path: &str,
        access: FileOperation,
    ) -> Result<Directory, FileError> {
        match self {
            Self::PathRoot(beginning) => beginning.directory(guard, path, access),
            Self::Directory(directory) => Ok(directory.clone()),
        }
    }
}

/// Returns whether a path without a leading slash probably had one.
fn is_absolute(root_module: &Path, path: &str, access: FileOperation) -> bool {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    let Some(first) = names.next().filter(|name| !matches!(*name, "." | "..")) else { return false };
    let makes_it = access == FileOperation::Write && names.next().is_none();
    let is_there = |directory: &Path| std::fs::symlink_metadata(directory.join(first)).is_ok();
    !makes_it && is_there(Path::new("/")) && !is_there(root_module)
}
