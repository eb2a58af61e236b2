//! SHA-256 digests of files and of directory trees.
//!
//! This crate depends on no other crate of the workspace. Its only I/O is reading from the readers
//! that callers pass to it.

mod sha256;
mod tree;

pub use sha256::{Sha256Digest, Sha256Hasher};
pub use tree::{tree_digest, tree_hash};
