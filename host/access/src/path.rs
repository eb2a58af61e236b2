//! Lexical normalization of paths.
//!
//! Symbolic links are not resolved here. Files are opened below a directory handle, so no link can
//! point outside of that directory.

use std::path::{Component, Path, PathBuf};

/// The reason why a path is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathProblem {
    #[error("it is empty")]
    Empty,
    /// The path leads out of the directory to which it is relative.
    #[error("it leaves the root module's directory through \"..\"")]
    Leaves,
    /// The path contains a NUL byte, which terminates paths in system calls.
    #[error("it contains a NUL byte")]
    NulByte,
}

/// Returns a path without `.` and `..`. A relative path is resolved against `root`, and must not
/// lead out of it.
///
/// # Errors
/// Returns an error if the path is empty, leads out of `root` or contains a NUL byte.
pub fn normalize(root: &Path, path: &Path) -> Result<PathBuf, PathProblem> {
    if path.as_os_str().is_empty() {
        return Err(PathProblem::Empty);
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(PathProblem::NulByte);
    }
    let is_relative = !path.has_root();
    let mut result = if is_relative { root.to_owned() } else { PathBuf::new() };
    let mut depth = 0_usize;
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => result.push(component),
            Component::CurDir => {}
            Component::Normal(name) => {
                result.push(name);
                depth += 1;
            }
            Component::ParentDir if depth > 0 => {
                result.pop();
                depth -= 1;
            }
            Component::ParentDir if is_relative => return Err(PathProblem::Leaves),
            // The parent of the root directory is the root directory.
            Component::ParentDir => {}
        }
    }
    Ok(result)
}

/// Returns whether a normalized path is `directory` or below it.
pub fn is_within(path: &Path, directory: &Path) -> bool {
    path.starts_with(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> Result<PathBuf, PathProblem> {
        normalize(Path::new("/srv/project"), Path::new(text))
    }

    #[test]
    fn path_has_one_normal_form() {
        for (text, expected) in [
            (".", "/srv/project"),
            ("a/./b//c/", "/srv/project/a/b/c"),
            ("a/../b", "/srv/project/b"),
            ("/etc/../etc/./passwd", "/etc/passwd"),
            ("/../..", "/"),
        ] {
            assert_eq!(path(text), Ok(expected.into()), "{text}");
        }
        for leaving in ["..", "a/../..", "../project", "a/../../project/a"] {
            assert_eq!(path(leaving), Err(PathProblem::Leaves), "{leaving}");
        }
        assert_eq!(path(""), Err(PathProblem::Empty));
        assert_eq!(path("a\0b"), Err(PathProblem::NulByte));
    }

    #[test]
    fn is_within_compares_complete_components() {
        assert!(is_within(Path::new("/srv/a/b"), Path::new("/srv/a")));
        assert!(is_within(Path::new("/srv/a"), Path::new("/srv/a")));
        assert!(!is_within(Path::new("/srv/ab"), Path::new("/srv/a")));
        assert!(!is_within(Path::new("/srv"), Path::new("/srv/a")));
    }

    proptest! {
        #[test]
        fn normalizing_a_normalized_path_changes_nothing(text in "[a./]{1,16}") {
            if let Ok(once) = path(&text) {
                prop_assert!(!once.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir)));
                prop_assert_eq!(normalize(Path::new("/srv/project"), &once), Ok(once.clone()));
                prop_assert!(text.starts_with('/') || is_within(&once, Path::new("/srv/project")));
            }
        }
    }
}
