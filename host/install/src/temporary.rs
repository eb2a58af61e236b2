//! Names for what is renamed into its place once it is whole.

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};

/// A name beside `path` that nobody can have known before, so that nothing can
/// lie in wait there.
pub(crate) fn temporary_beside(path: &Path) -> PathBuf {
    let random = RandomState::new().hash_one(path);
    let mut name = path.file_name().unwrap_or_else(|| OsStr::new("")).to_owned();
    name.push(format!(".{random:016x}.tmp"));
    path.with_file_name(name)
}
