//! Finds the directory of a module in its package.

use std::fs;
use std::path::{Path, PathBuf};

use wardian_module_source::PackageSubdirectory;

/// Maximum number of names that are compared with a pattern.
const MAX_COMPARED_NAMES: usize = 100_000;

/// The directory of a module that is not in its package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubdirectoryError {
    #[error("subdir \"{subdirectory}\" not found")]
    NotFound { subdirectory: String },
    #[error("subdir \"{subdirectory}\" matches multiple paths")]
    Multiple { subdirectory: String },
    #[error("subdir \"{subdirectory}\" is not a directory")]
    NotADirectory { subdirectory: String },
    /// A symbolic link on the path resolves to a different location.
    #[error("subdir \"{subdirectory}\" points outside the module package")]
    Outside { subdirectory: String },
    #[error("subdir \"{subdirectory}\" contains a pattern that matches too many names")]
    TooMany { subdirectory: String },
}

/// Returns the path of a module relative to its package. Patterns are expanded.
///
/// # Errors
/// Returns an error if no directory, or more than one, is at the path.
pub(crate) fn find(package: &Path, subdirectory: &PackageSubdirectory) -> Result<PathBuf, SubdirectoryError> {
    let shown = || subdirectory.to_string();
    if subdirectory.is_root() {
        return Ok(PathBuf::new());
    }
    let mut found = vec![PathBuf::new()];
    let mut compared = 0;
    for pattern in subdirectory.names() {
        let mut next = Vec::new();
        for parent in &found {
            if !pattern.contains(['*', '?', '[', '\\']) {
                let path = parent.join(pattern);
                if package.join(&path).symlink_metadata().is_ok() {
                    next.push(path);
                }
                continue;
            }
            for entry in fs::read_dir(package.join(parent)).into_iter().flatten().flatten() {
                compared += 1;
                if compared > MAX_COMPARED_NAMES {
                    return Err(SubdirectoryError::TooMany { subdirectory: shown() });
                }
                let name = entry.file_name();
                if name.to_str().is_some_and(|name| PackageSubdirectory::pattern_matches(pattern, name)) {
                    next.push(parent.join(name));
                }
            }
        }
        found = next;
    }
    let path = match <[PathBuf; 1]>::try_from(found) {
        Ok([path]) => path,
        Err(found) if found.is_empty() => return Err(SubdirectoryError::NotFound { subdirectory: shown() }),
        Err(_) => return Err(SubdirectoryError::Multiple { subdirectory: shown() }),
    };
    let not_found = |_| SubdirectoryError::NotFound { subdirectory: shown() };
    let root = package.canonicalize().map_err(not_found)?;
    let real = package.join(&path).canonicalize().map_err(not_found)?;
    if !real.starts_with(&root) {
        return Err(SubdirectoryError::Outside { subdirectory: shown() });
    }
    if !real.is_dir() {
        return Err(SubdirectoryError::NotADirectory { subdirectory: shown() });
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use wardian_module_source::{ModuleSource, RemoteModuleSource};

    use super::*;

    fn subdirectory(text: &str) -> PackageSubdirectory {
        let Ok(ModuleSource::Remote(RemoteModuleSource { subdirectory, .. })) =
            ModuleSource::parse(&format!("https://a.example/x.zip//{text}"))
        else {
            panic!("{text}");
        };
        subdirectory
    }

    #[test]
    fn directory_is_found_by_path_and_pattern() {
        let package = tempfile::tempdir().unwrap();
        for path in ["top-1.2/modules/a", "top-1.2/modules/b", "x/y"] {
            fs::create_dir_all(package.path().join(path)).unwrap();
        }
        fs::write(package.path().join("x/file"), "").unwrap();
        let found =
            |text: &str| find(package.path(), &subdirectory(text)).map(|path| path.display().to_string());
        for (text, path) in [
            ("", ""),
            (".", ""),
            ("x/y", "x/y"),
            ("top-*", "top-1.2"),
            ("*/modules/a", "top-1.2/modules/a"),
            ("top-*.[0-9]/modules/[ac]", "top-1.2/modules/a"),
        ] {
            assert_eq!(found(text).as_deref(), Ok(path), "{text}");
        }
        let message = |text: &str| found(text).unwrap_err().to_string();
        assert_eq!(message("nope"), "subdir \"nope\" not found");
        assert_eq!(message("nope/*"), "subdir \"nope/*\" not found");
        assert_eq!(message("*"), "subdir \"*\" matches multiple paths");
        assert_eq!(message("x/*"), "subdir \"x/*\" matches multiple paths");
        assert_eq!(message("x/file"), "subdir \"x/file\" is not a directory");
    }

    #[test]
    fn links_out_of_the_package_are_rejected() {
        let place = tempfile::tempdir().unwrap();
        let package = place.path().join("package");
        fs::create_dir_all(package.join("real")).unwrap();
        fs::create_dir(place.path().join("outside")).unwrap();
        symlink("../outside", package.join("escape")).unwrap();
        symlink("/", package.join("absolute")).unwrap();
        symlink("real", package.join("inside")).unwrap();
        for bad in ["escape", "absolute/etc", "esc*"] {
            let error = find(&package, &subdirectory(bad)).unwrap_err();
            assert!(matches!(error, SubdirectoryError::Outside { .. }), "{bad}: {error}");
        }
        assert_eq!(find(&package, &subdirectory("inside")).unwrap(), Path::new("inside"));
    }
}
