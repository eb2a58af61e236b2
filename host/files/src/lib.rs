//! Opens, creates, renames, links, lists and removes files whose paths come from plugins,
//! configurations or packages, not from the operator.
//!
//! # Use
//!
//! - [`FileScope`] opens files by path, for host code that reads files named by a configuration.
//!   [`FileScope::confined`] is limited to one directory (`-untrusted`); [`FileScope::anywhere`] is
//!   for the operator's configuration, and does not follow a symbolic link out of a directory that
//!   plugins may write to, since a plugin may have created the link. [`FileScope::read`] reads a
//!   regular file with a limit, [`FileScope::list`] lists a directory in batches, and
//!   [`ResolvedPath::kind`] returns the type of a resolved path. A caller that must check the path
//!   first calls [`FileScope::resolve`], checks [`ResolvedPath::path`], and then calls
//!   [`ResolvedPath::open_file`], which opens exactly the file that was checked.
//! - [`resolve`] and the methods of [`Directory`] do the same for callers, such as the sandbox,
//!   that hold an open directory and perform a check between resolution and operation.
//! - [`WritableDirectories`] are the directories that plugins may write to, and
//!   [`WritableDirectories::resolve`] resolves a path that a policy grants.
//!
//! # Invariants
//!
//! - The system receives a single name in an open directory, and never follows a symbolic link.
//!   Symbolic links are read and resolved here (`resolution`). Path resolution in cap-std is never
//!   used (RUSTSEC-2026-0269; design record 011).
//! - Only regular files and directories are opened, never pipes and devices, and opening never
//!   blocks on them.
//! - No file of a process is opened under any name, such as the memory and environment of this
//!   process or of others (`procfs`).
//! - Files are never read without a limit, and directories are never read as a whole.
//!
//! This crate enforces no policies, reads no environment variables and writes no logs. It supports
//! systems that can open a file relative to an open directory: Unix.

#[cfg(not(unix))]
compile_error!("this crate supports Unix systems only");

mod directory;
mod error;
mod links;
mod listing;
mod open_file;
mod procfs;
mod resolution;
mod scope;
mod writable_directories;

pub use directory::Directory;
pub use error::FileAccessError;
pub use links::{UnreadableDirectory, Visitor, check_moved_links, stays_beneath, visit_tree};
pub use listing::{DirectoryEntry, Listing};
pub use open_file::{FileOpening, OpenedFile};
pub use resolution::{LastLink, LinkRule, MAX_PATH_LENGTH, ResolvedPath, resolve};
pub use rustix::fs::FileType;
pub use scope::FileScope;
pub use writable_directories::{GrantedPath, GrantedPathError, WritableDirectories};

/// Opens a regular file at any path for reading. Never blocks. Only for paths that the host itself
/// determines.
///
/// # Errors
/// Returns an error if the file is not a regular file or cannot be read.
pub fn open_regular(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    Ok(FileScope::anywhere(std::sync::Arc::default())?.open(path)?.into_file())
}

/// Reads a regular file of at most `max_size` bytes, like [`open_regular`].
///
/// # Errors
/// Returns an error if the file is not a regular file, cannot be read, or is larger than `max_size`.
pub fn read_regular(path: &std::path::Path, max_size: u64) -> std::io::Result<Vec<u8>> {
    Ok(FileScope::anywhere(std::sync::Arc::default())?.read(path, max_size)?)
}
