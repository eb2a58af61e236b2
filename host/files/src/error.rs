//! The reason why a path cannot be resolved or a file cannot be opened.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

#[derive(Debug, thiserror::Error)]
pub enum FileAccessError {
    /// The path leads out of the directory that it is restricted to.
    #[error("{} points outside its directory", .path.display())]
    Outside {
        /// The path outside the directory, as far as it can be determined without accessing it.
        path: PathBuf,
    },
    /// A symbolic link in a directory that a plugin may write to points outside of that directory.
    #[error(
        "the symbolic link {} points outside {}, which is writable by plugins; replace it with a file, or \
         name its target instead",
        .link.display(), .directory.display()
    )]
    PluginLink {
        link: PathBuf,
        /// The writable directory.
        directory: PathBuf,
    },
    /// The file is neither a regular file nor a directory.
    #[error("it is neither a regular file nor a directory")]
    NotRegular,
    /// The file describes a process or the kernel's memory.
    #[error("it is a per-process file, such as the memory or environment of a process")]
    Process,
    /// The file is larger than the caller's limit. Contains its size.
    #[error("it is larger than the limit of {0} bytes")]
    TooLarge(u64),
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<Errno> for FileAccessError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

impl From<FileAccessError> for io::Error {
    /// Converts errors that do not come from the system: errors for unsuitable files to
    /// [`io::ErrorKind::InvalidInput`], and all other errors to
    /// [`io::ErrorKind::PermissionDenied`].
    fn from(error: FileAccessError) -> Self {
        match error {
            FileAccessError::System(error) => error,
            FileAccessError::NotRegular | FileAccessError::TooLarge(_) => {
                Self::new(io::ErrorKind::InvalidInput, error.to_string())
            }
            _ => Self::new(io::ErrorKind::PermissionDenied, error.to_string()),
        }
    }
}
