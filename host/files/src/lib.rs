//! Opens, creates, renames, links, lists and removes files on behalf of anyone other than the
//! operator: plugins, configurations and the authors of packages.
//!
//! # Use
//!
//! - [`FileScope`] opens files by a path, for code of the host that reads what a configuration
//!   names. [`FileScope::confined`] never leaves one directory (`-untrusted`);
//!   [`FileScope::anywhere`] is for the operator's own configuration, and does not follow a
//!   link that a plugin may have created out of the directory that the plugin may write.
//!   [`FileScope::read`] reads a regular file with a limit, [`FileScope::list`] a directory
//!   piece by piece, [`FileScope::kind`] looks a path up. A caller that must decide on the path
//!   first calls [`FileScope::resolve`], decides on [`ResolvedPath::path`], and then uses
//!   [`ResolvedPath::open_file`]: the file that was decided on is the one that is opened.
//! - [`resolve`] and the methods of [`Directory`] are the same for callers that hold a
//!   directory and decide between resolution and operation, as the sandbox does.
//! - [`WritableDirectories`] are the directories that plugins may write, and
//!   [`WritableDirectories::resolve`] resolves a path that a policy grants.
//!
//! # Invariants
//!
//! - The system receives one name in a directory that is held open, and follows no link. Links
//!   are read and resolved here ([`resolution`]). That includes cap-std, whose own resolution of
//!   several names is never used (RUSTSEC-2026-0269; design record 011).
//! - Only regular files and directories are opened, never pipes and devices, and opening never
//!   blocks on them.
//! - No file of a process is opened, by any name: neither this process's memory and environment
//!   nor another's ([`procfs`]).
//! - Files are never read without a limit, and directories never as a whole.
//!
//! This crate decides nothing by policy, reads no environment variables and writes no log.
//! Supported on systems that can open a file relative to an open directory: Unix.

#[cfg(not(unix))]
compile_error!("this crate supports Unix systems only");

mod directory;
mod error;
mod links;
mod listing;
mod open_file;
mod procfs;
pub mod resolution;
mod scope;
mod writable_directories;

pub use directory::Directory;
pub use error::FileAccessError;
pub use links::{MAX_MOVED_ENTRIES, Visitor, check_moved_links, stays_beneath, visit_tree};
pub use listing::{DirectoryEntry, Listing};
pub use open_file::{FileOpening, OpenedFile};
pub use resolution::{LastLink, LinkRule, MAX_PATH_LENGTH, ResolvedPath, resolve};
pub use scope::FileScope;
pub use writable_directories::{GrantedPath, GrantedPathError, WritableDirectories};
