//! Paths by their words alone: what a path names if no link is in its way.
//!
//! Links are not looked at here: whoever opens a file opens it below a directory that
//! is held open, so that no link leads out of it.

use std::path::{Component, Path, PathBuf};

/// Why a path can be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathProblem {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// `..` beyond what it is relative to.
    #[error("it leaves the root module's directory by \"..\"")]
    Leaves,
    /// Systems end paths there.
    #[error("it has a zero byte in it")]
    Zero,
}

/// A path without `.` and `..`, absolute where `root` is; relative ones begin there and
/// stay below it.
pub(crate) fn normalised(root: &Path, path: &Path) -> Result<PathBuf, PathProblem> {
    if path.as_os_str().is_empty() {
        return Err(PathProblem::Empty);
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(PathProblem::Zero);
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
            // Above the root is the root.
            Component::ParentDir => {}
        }
    }
    Ok(result)
}

/// Whether a normalised path is a directory or below it.
pub(crate) fn is_within(path: &Path, directory: &Path) -> bool {
    path.starts_with(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> Result<PathBuf, PathProblem> {
        normalised(Path::new("/srv/project"), Path::new(text))
    }

    #[test]
    fn paths_have_one_form() {
        for (written, expected) in [
            (".", "/srv/project"),
            ("a/./b//c/", "/srv/project/a/b/c"),
            ("a/../b", "/srv/project/b"),
            ("/etc/../etc/./passwd", "/etc/passwd"),
            ("/../..", "/"),
        ] {
            assert_eq!(path(written), Ok(expected.into()), "{written}");
        }
        for leaving in ["..", "a/../..", "../project", "a/../../project/a"] {
            assert_eq!(path(leaving), Err(PathProblem::Leaves), "{leaving}");
        }
        assert_eq!(path(""), Err(PathProblem::Empty));
        assert_eq!(path("a\0b"), Err(PathProblem::Zero));
    }

    #[test]
    fn a_name_that_begins_alike_is_not_within() {
        assert!(is_within(Path::new("/srv/a/b"), Path::new("/srv/a")));
        assert!(is_within(Path::new("/srv/a"), Path::new("/srv/a")));
        assert!(!is_within(Path::new("/srv/ab"), Path::new("/srv/a")));
        assert!(!is_within(Path::new("/srv"), Path::new("/srv/a")));
    }

    proptest! {
        #[test]
        fn the_one_form_is_its_own(text in "[a./]{1,16}") {
            if let Ok(once) = path(&text) {
                prop_assert!(!once.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir)));
                prop_assert_eq!(normalised(Path::new("/srv/project"), &once), Ok(once.clone()));
                prop_assert!(text.starts_with('/') || is_within(&once, Path::new("/srv/project")));
            }
        }
    }
}
