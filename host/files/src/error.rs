//! The reason why a path cannot be resolved or a file cannot be opened.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

#[derive(Debug, thiserror::Error)]
pub enum FileAccessError {
    /// The path leads out of the directory in which it must stay.
    #[error("{} leads out of its directory", .path.display())]
    Outside {
        /// The path outside the directory, as far as it is known without accessing it.
        path: PathBuf,
    },
    /// A symbolic link in a directory that is writable for a plugin leads out of that directory.
    #[error(
        "the symbolic link {} leads out of {}, which is writable for plugins; replace it with a file, or \
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
    #[error("it belongs to a process, such as its memory or environment")]
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
    /// Converts errors that do not come from the system: those for unsuitable files to
    /// [`io::ErrorKind::InvalidInput`], and all others to [`io::ErrorKind::PermissionDenied`].
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
