//! Resolves symbolic links in paths, and checks whether a path is inside a directory.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links that are followed to resolve one path.
const MAX_LINKS: usize = 40;

/// Returns whether a path is `directory` or is below it. The last components of the path do not
/// have to exist.
pub(crate) fn lies_within(path: &Path, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    let existing = path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    existing.is_some_and(|existing| existing.starts_with(&directory))
}

/// Resolves the symbolic links in an absolute path. The result does not depend on whether the
/// target exists, and therefore does not reveal which files exist in directories that may not be
/// read.
pub(crate) fn resolve_symlinks(path: &Path) -> io::Result<PathBuf> {
    let reversed = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
    let mut pending: Vec<OsString> = reversed(path);
    let mut resolved = PathBuf::new();
    let mut links = 0;
    while let Some(name) = pending.pop() {
        match Path::new(&name).components().next() {
            Some(Component::ParentDir) => {
                resolved.pop();
            }
            Some(Component::Normal(_)) => {
                resolved.push(&name);
                if std::fs::symlink_metadata(&resolved).is_ok_and(|about| about.is_symlink()) {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(io::Error::other("it contains too many symbolic links"));
                    }
                    let target = std::fs::read_link(&resolved)?;
                    resolved.pop();
                    pending.extend::<Vec<OsString>>(reversed(&target));
                }
            }
            Some(Component::Prefix(_) | Component::RootDir) => resolved.push(&name),
            Some(Component::CurDir) | None => {}
        }
    }
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_through_a_symlink_lies_within_its_target() {
        let root = tempfile::tempdir().unwrap();
        let (inside, outside) = (root.path().join("project"), root.path().join("home"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        assert!(lies_within(&inside.join(".cache/not/there/yet"), &inside));
        assert!(!lies_within(&outside.join("cache"), &inside));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&inside, outside.join("link")).unwrap();
            assert!(lies_within(&outside.join("link/cache"), &inside));
        }
    }
}
