//! Paths that begin with the name of no granted directory: they begin at `.` or at `/`.
//!
//! Every guest finds both open, so that what it tries there is decided, and recorded,
//! and does not end in its own C library. Neither is a right: what begins there is
//! denied unless the root module's directory, or everything, is granted.
//!
//! C libraries strip names of what leads nowhere, `.` and `/` alike, and paths of the
//! slash at their beginning; so one handle gets both `tmp/x` and `/tmp/x`, as `tmp/x`.
//! A guest that has made the directory its own in which it works hands over whole paths
//! only: of one that asked which it is, that is assumed. Of another, a path is
//! absolute if its first name is there at the top and not in the root module's
//! directory. To be taken for the one or the other opens nothing: each is decided on as
//! what it was taken for.

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use wardian_access::FileOperation;

use super::file_guard::{FileError, FileGuard};
use super::operations::Directory;
use super::resolution::MAX_PATH_LENGTH;

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathRoot {
    /// The root module's directory.
    WorkingDirectory,
    /// The directory of everything.
    Top,
    /// One of them: the guest does not tell which.
    TopOrWorkingDirectory,
}

impl PathRoot {
    /// What guests know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WorkingDirectory => ".",
            Self::Top | Self::TopOrWorkingDirectory => "/",
        }
    }

    /// As it is for a guest that knows where it works, or does not.
    pub(crate) fn assume(self, knows_working_directory: bool) -> Self {
        match self {
            Self::TopOrWorkingDirectory if knows_working_directory => Self::Top,
            beginning => beginning,
        }
    }

    /// The granted directory in which a path is to be looked up.
    ///
    /// # Errors
    /// Where there is none. That is recorded.
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
                        // There is nothing of the name in the root module's directory, and
                        // that is what the guest is told there.
                        root_module.map(granted).ok_or(refusal)
                    }
                }
            }
            Self::TopOrWorkingDirectory => working_directory(),
        }
    }
}

/// Where a path starts.
pub(crate) enum Start {
    /// With no directory's name.
    PathRoot(PathRoot),
    /// Beneath a directory that is granted.
    Directory(Directory),
}

impl Start {
    /// As [`PathRoot::directory`].
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

/// Whether a path without a slash at its beginning was probably written with one.
fn is_absolute(root_module: &Path, path: &str, access: FileOperation) -> bool {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    let Some(first) = names.next().filter(|name| !matches!(*name, "." | "..")) else { return false };
    let makes_it = access == FileOperation::Write && names.next().is_none();
    let is_there = |directory: &Path| std::fs::symlink_metadata(directory.join(first)).is_ok();
    !makes_it && is_there(Path::new("/")) && !is_there(root_module)
}
