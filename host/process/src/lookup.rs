//! Resolves a command's program to an executable file.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};
use wardian_access::normalize;

use crate::error::ProcessError;

/// Returns the name that is submitted to the authority: a bare name, or an absolute path without
/// `.` and `..`. `..` is resolved through the file system, since the kernel follows a symbolic link
/// before it opens the parent directory. The last component is not resolved, since programs may
/// depend on the name with which they are started.
///
/// # Errors
/// Returns an error if the name is empty or not UTF-8.
pub(crate) fn resolve_name(program: &str, directory: &Path) -> Result<String, ProcessError> {
    if program.is_empty() || program.contains('\0') {
        return Err(ProcessError::InvalidName(program.to_owned()));
    }
    if !program.contains('/') {
        return match program {
            "." | ".." => Err(ProcessError::InvalidName(program.to_owned())),
            _ => Ok(program.to_owned()),
        };
    }
    let path = Path::new(program);
    if path.is_absolute() && is_normalized(path) {
        return Ok(program.to_owned());
    }
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
        return Err(ProcessError::InvalidName(program.to_owned()));
    };
    let parent = directory.join(parent);
    // The authority also checks a path that does not exist, since an error here would reveal
    // whether the path exists.
    let parent = match parent.canonicalize() {
        Ok(parent) => parent,
        Err(_) => {
            normalize(Path::new("/"), &parent).map_err(|_| ProcessError::InvalidName(program.to_owned()))?
        }
    };
    parent
        .join(name)
        .into_os_string()
        .into_string()
        .map_err(|_| ProcessError::InvalidName(program.to_owned()))
}

fn is_normalized(path: &Path) -> bool {
    let parts = path.components();
    let has_only_names =
        parts.clone().skip(1).all(|part| matches!(part, Component::Normal(_))) && path.file_name().is_some();
    // `components` drops repeated and trailing slashes.
    has_only_names && parts.collect::<PathBuf>().as_os_str() == path.as_os_str()
}

/// Returns the executable file. For a bare name, this is the first executable in `search_path`;
/// relative directories in the search path are ignored.
///
/// # Errors
/// Returns an error if no executable is found.
pub(crate) fn find_executable(name: &str, search_path: &OsStr) -> Result<PathBuf, ProcessError> {
    if name.contains('/') {
        return Ok(PathBuf::from(name));
    }
    std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
        .ok_or_else(|| ProcessError::NotFound { program: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_program_names() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("bin/deep")).unwrap();
        std::os::unix::fs::symlink(base.join("bin/deep"), base.join("link")).unwrap();
        let at = |program: &str| resolve_name(program, &base).ok();
        let below = |path: &str| Some(format!("{}/{path}", base.display()));
        assert_eq!(at("git").as_deref(), Some("git"));
        assert_eq!(at("/usr/bin/git").as_deref(), Some("/usr/bin/git"));
        assert_eq!(at("./run.sh"), below("run.sh"));
        assert_eq!(at("bin/run.sh"), below("bin/run.sh"));
        // `..` is the parent of the link's target, not the parent of the link.
        assert_eq!(at("link/../run.sh"), below("bin/run.sh"));
        assert_eq!(at(&format!("{}/./bin//x", base.display())), below("bin/x"));
        for bad in ["", ".", "..", "/", "bin/..", "a\0b"] {
            assert!(matches!(resolve_name(bad, &base), Err(ProcessError::InvalidName(_))), "{bad:?}");
        }
        assert_eq!(at("absent/x"), below("absent/x"));
        assert_eq!(at("absent/../../x"), Some(base.with_file_name("x").display().to_string()));
    }

    #[test]
    fn bare_name_is_found_in_absolute_directories() {
        let base = tempfile::tempdir().unwrap();
        for (directory, mode) in [("one", 0o644), ("two", 0o755)] {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::create_dir(base.path().join(directory)).unwrap();
            let file = base.path().join(directory).join("tool");
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths([
            PathBuf::new(),
            PathBuf::from("two"),
            base.path().join("one"),
            base.path().join("two"),
        ])
        .unwrap();
        assert_eq!(find_executable("tool", &path).unwrap(), base.path().join("two/tool"));
        assert!(matches!(find_executable("other", &path), Err(ProcessError::NotFound { .. })));
    }
}
