//! SHA-256 digests of files and of directory trees.
//!
//! This crate depends on no other crate of the workspace. It reads only the readers that it is
//! given.

mod sha256;
mod tree;

pub use sha256::{Sha256Digest, Sha256Hasher};
pub use tree::{tree_digest, tree_hash};
