//! Path normalization without access to the file system.

use std::path::{Component, Path, PathBuf};

/// Resolves `.` and `..` in a path without reading the file system. A `..` at the start of a
/// relative path is preserved; the parent of the root directory is the root directory.
pub fn lexically_normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match normalized.components().next_back() {
                Some(Component::Normal(_)) => {
                    normalized.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                Some(Component::CurDir | Component::ParentDir) | None => normalized.push(part),
            },
            other => normalized.push(other),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lexically_normalize_resolves_dots() {
        for (path, normalized) in
            [("./a/../b", "b"), ("../a", "../a"), ("a/../../b", "../b"), ("/../a/./b", "/a/b"), (".", "")]
        {
            assert_eq!(lexically_normalize(Path::new(path)), Path::new(normalized), "{path}");
        }
    }
}
