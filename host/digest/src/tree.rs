//! The `h1:` hash of a directory tree.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::sha256::{Sha256Digest, Sha256Hasher};

/// Returns the `h1:` hash of a tree of files: the base64-encoded SHA-256 of one line `HEX  PATH`
/// for each file, in byte order of the paths. Terraform's dependency lock file and Go's module
/// checksums use this hash.
///
/// A path is relative to the root of the tree, has `/` separators, and contains no line break.
pub fn tree_hash(files: &BTreeMap<String, Sha256Digest>) -> String {
    format!("h1:{}", STANDARD.encode(tree_digest(files).as_bytes()))
}

/// Returns the digest that a hash from [`tree_hash`] contains.
pub fn tree_digest(files: &BTreeMap<String, Sha256Digest>) -> Sha256Digest {
    let mut hasher = Sha256Hasher::default();
    for (path, digest) in files {
        hasher.update(format!("{digest}  {path}\n").as_bytes());
    }
    hasher.finish()
}
