//! The reason why a program was not started.

use std::io;
use std::path::PathBuf;

use wardian_access::Denied;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The authority denied the start.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The program's name is invalid.
    #[error("{0:?} is not a program name")]
    InvalidName(String),
    /// The program does not exist.
    #[error("program {program:?} not found; a bare name is looked up on PATH")]
    NotFound { program: String },
    /// The working directory does not exist.
    #[error("the program's working directory {} does not exist", .0.display())]
    Directory(PathBuf),
    /// A parent directory could not be read.
    #[error("could not read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// An argument or a variable contains a NUL byte.
    #[error("{0} contains a NUL byte, which cannot be passed to a program")]
    NulByte(String),
    /// The name of an environment variable is invalid.
    #[error("{0:?} is not a valid name of an environment variable")]
    InvalidVariable(String),
    /// The system could not start the program.
    #[error("could not run {}: {error}", executable.display())]
    Start { executable: PathBuf, error: io::Error },
}
