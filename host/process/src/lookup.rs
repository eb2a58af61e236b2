//! From what a command calls its program to the file that is run.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};

use crate::runner::ProcessError;

/// What the authority is asked about: a bare name, or an absolute path without `.` and
/// `..`. The kernel follows a link before it goes up from it, so `..` is resolved by the
/// file system and not by the text. The last part stays as it is: programs look at the
/// name that they were started by.
///
/// # Errors
/// Where it is empty, no text, or leads through directories that are not there.
pub(crate) fn named(program: &str, directory: &Path) -> Result<String, ProcessError> {
    if program.is_empty() || program.contains('\0') {
        return Err(ProcessError::Name(program.to_owned()));
    }
    if !program.contains('/') {
        return match program {
            "." | ".." => Err(ProcessError::Name(program.to_owned())),
            _ => Ok(program.to_owned()),
        };
    }
    let path = Path::new(program);
    if path.is_absolute() && is_plain(path) {
        return Ok(program.to_owned());
    }
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
        return Err(ProcessError::Name(program.to_owned()));
    };
    let parent = directory.join(parent).canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            ProcessError::NotFound { program: program.to_owned() }
        }
        _ => ProcessError::Unreadable { path: directory.join(parent), error },
    })?;
    parent.join(name).into_os_string().into_string().map_err(|_| ProcessError::Name(program.to_owned()))
}

/// Whether the text is the one way to write this path.
fn is_plain(path: &Path) -> bool {
    let parts = path.components();
    let has_only_names =
        parts.clone().skip(1).all(|part| matches!(part, Component::Normal(_))) && path.file_name().is_some();
    // `components` passes over what is doubled or at the end.
    has_only_names && parts.collect::<PathBuf>().as_os_str() == path.as_os_str()
}

/// The file to run. For a bare name that is the first one of `search_path` that may be
/// executed; relative directories in it mean nothing here.
///
/// # Errors
/// Where there is none.
pub(crate) fn find(named: &str, search_path: &OsStr) -> Result<PathBuf, ProcessError> {
    if named.contains('/') {
        return Ok(PathBuf::from(named));
    }
    std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(named))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
        .ok_or_else(|| ProcessError::NotFound { program: named.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_name() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("bin/deep")).unwrap();
        std::os::unix::fs::symlink(base.join("bin/deep"), base.join("link")).unwrap();
        let at = |program: &str| named(program, &base).ok();
        let below = |path: &str| Some(format!("{}/{path}", base.display()));
        assert_eq!(at("git").as_deref(), Some("git"));
        assert_eq!(at("/usr/bin/git").as_deref(), Some("/usr/bin/git"));
        assert_eq!(at("./run.sh"), below("run.sh"));
        assert_eq!(at("bin/run.sh"), below("bin/run.sh"));
        // Up from where the link leads, not from where it lies.
        assert_eq!(at("link/../run.sh"), below("bin/run.sh"));
        assert_eq!(at(&format!("{}/./bin//x", base.display())), below("bin/x"));
        for bad in ["", ".", "..", "/", "bin/..", "a\0b"] {
            assert!(matches!(named(bad, &base), Err(ProcessError::Name(_))), "{bad:?}");
        }
        assert!(matches!(named("absent/x", &base), Err(ProcessError::NotFound { .. })));
    }

    #[test]
    fn a_bare_name_is_looked_for_in_absolute_directories() {
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
        assert_eq!(find("tool", &path).unwrap(), base.path().join("two/tool"));
        assert!(matches!(find("other", &path), Err(ProcessError::NotFound { .. })));
    }
}
