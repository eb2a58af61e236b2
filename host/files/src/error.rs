//! The reasons why a file is not opened.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

/// The reason why a path was not resolved, or a file not opened.
#[derive(Debug, thiserror::Error)]
pub enum FileAccessError {
    /// The path leads out of the directory that it must stay in.
    #[error("{} leads out of its directory", .path.display())]
    Outside {
        /// The path outside, as far as it is known without looking at it.
        path: PathBuf,
    },
    /// A link in a directory that a plugin may write leads out of that directory.
    #[error(
        "the link {} leads out of {}, which plugins may write; replace the link by a file, or name its \
         target instead",
        .link.display(), .directory.display()
    )]
    PluginLink {
        /// The path of the link.
        link: PathBuf,
        /// The directory.
        directory: PathBuf,
    },
    /// It is neither a regular file nor a directory.
    #[error("it is neither a regular file nor a directory")]
    NotRegular,
    /// It describes a process or the kernel's memory.
    #[error("it belongs to a process, such as its memory or environment")]
    Process,
    /// The file is larger than the caller accepts.
    #[error("it is larger than the limit of {0} bytes")]
    TooLarge(u64),
    /// The system reported an error.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<Errno> for FileAccessError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

impl From<FileAccessError> for io::Error {
    /// Converts errors that are not the system's to [`io::ErrorKind::PermissionDenied`], except
    /// for unsuitable files, which are [`io::ErrorKind::InvalidInput`].
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
