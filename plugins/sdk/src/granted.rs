//! Which paths lie in a directory that the host granted. A provider that takes paths
//! from people asks before it opens one, so that a missing grant is an error and never
//! passes for an absent file, which would drop a resource from state.
//!
//! A component finds granted directories open, each under a name: `.`, or an
//! absolute path. The C library below std compares names and paths without
//! their leading slashes, so that with `.` granted alone `/etc/hosts` would be
//! the file `etc/hosts` below it. Here an absolute path needs an absolute
//! grant.

use std::path::{Component, Path};

/// Whether some granted directory contains the path. Links and `..` are the
/// host's to check when the path is opened.
#[cfg(target_os = "wasi")]
pub fn is_granted(path: &Path) -> bool {
    let directories = wasip2::filesystem::preopens::get_directories();
    directories.iter().any(|(_, name)| covers(Path::new(name), path))
}

/// Outside of a sandbox every path is the system's to judge.
#[cfg(not(target_os = "wasi"))]
pub fn is_granted(_path: &Path) -> bool {
    true
}

/// Whether the path starts with the directory, neither counting `.`.
#[cfg_attr(not(any(target_os = "wasi", test)), expect(dead_code, reason = "nothing is granted natively"))]
fn covers(directory: &Path, path: &Path) -> bool {
    let parts = |path: &Path| -> Vec<String> {
        path.components()
            .filter(|part| !matches!(part, Component::CurDir))
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect()
    };
    directory.has_root() == path.has_root() && parts(path).starts_with(&parts(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(directory: &str, path: &str, expected: bool) {
        assert_eq!(covers(Path::new(directory), Path::new(path)), expected, "{directory} {path}");
    }

    #[test]
    fn relative_paths_lie_below_the_working_directory() {
        for path in ["file", "./file", "a/b/c", ".", "", "../file"] {
            check(".", path, true);
        }
        check("modules/a", "./modules/a/file", true);
        check("modules/a", "modules/ab", false);
        check("/srv", "srv/file", false);
    }

    #[test]
    fn absolute_paths_need_an_absolute_grant() {
        check(".", "/etc/hosts", false);
        check("", "/etc/hosts", false);
        check("/srv/project", "/srv/project/file", true);
        check("/srv/project/", "/srv//project/./file", true);
        check("/srv/project", "/srv/projects/file", false);
        check("/", "/anything", true);
    }
}
