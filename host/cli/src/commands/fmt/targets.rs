//! Selects the files to format.

use std::fs;
use std::path::{Component, Path, PathBuf};

use wardian_diagnostic::Diagnostic;

/// Extensions of files in native syntax that have a canonical format.
const EXTENSIONS: [&str; 4] = [".tf", ".tfvars", ".tftest.hcl", ".tfmock.hcl"];

/// Maximum depth of directories. Deeper directories are ignored.
const MAX_DEPTH: usize = 256;

/// A file to format.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// The name in messages: the path relative to the current directory.
    pub(super) name: String,
}

/// Calls a function for every selected file, in order. Like Terraform, stops at the first file in
/// the arguments that does not exist.
pub(super) fn find(
    named: &[PathBuf],
    recursive: bool,
    current: &Path,
    take: &mut dyn FnMut(Result<Target, Diagnostic>),
) {
    let here = [PathBuf::from(".")];
    let named = if named.is_empty() { &here[..] } else { named };
    for path in named {
        let name = way_to(path, current);
        let shown = name.display().to_string();
        match fs::metadata(path) {
            Err(_) => {
                let detail =
                    "Check the name. It is relative to the current directory, or to the -chdir directory.";
                take(Err(Diagnostic::error(format!("No file or directory at {shown}"), detail)));
                return;
            }
            Ok(found) if found.is_dir() => directory(&name, recursive, 0, take),
            Ok(_) if is_formatted(&shown) => take(Ok(Target { path: name, name: shown })),
            Ok(_) => {
                let detail = format!("{shown} has a different type. JSON files have no standard style.");
                let summary = "Only .tf, .tfvars, and .tftest.hcl files can be formatted";
                take(Err(Diagnostic::error(summary, detail)));
            }
        }
    }
}

fn directory(path: &Path, recursive: bool, depth: usize, take: &mut dyn FnMut(Result<Target, Diagnostic>)) {
    let is_here = path.as_os_str().is_empty() || path == Path::new(".");
    let entries = fs::read_dir(if is_here { Path::new(".") } else { path }).and_then(Iterator::collect);
    let mut entries: Vec<fs::DirEntry> = match entries {
        Ok(entries) => entries,
        Err(error) => {
            let detail = format!("{} cannot be read: {error}.", path.display());
            return take(Err(Diagnostic::error("Directory cannot be read", detail)));
        }
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let file_name = entry.file_name();
        let file_name = file_name.to_string_lossy();
        if is_ignored(&file_name) {
            continue;
        }
        let path = if is_here { PathBuf::from(entry.file_name()) } else { path.join(entry.file_name()) };
        // Symbolic links to directories are not followed, since they can form a cycle.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if recursive && depth < MAX_DEPTH {
                directory(&path, recursive, depth + 1, take);
            }
        } else if is_formatted(&file_name) {
            let name = path.display().to_string();
            take(Ok(Target { path, name }));
        }
    }
}

fn is_formatted(name: &str) -> bool {
    EXTENSIONS.iter().any(|extension| name.ends_with(extension))
}

/// Returns whether a file is hidden or an editor's backup.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

/// Returns the path relative to the current directory, without resolving symbolic links.
fn way_to(path: &Path, current: &Path) -> PathBuf {
    let absolute = without_dots(&current.join(path));
    let current = without_dots(current);
    let mut left = absolute.components().peekable();
    let mut right = current.components().peekable();
    while left.peek().is_some() && left.peek() == right.peek() {
        left.next();
        right.next();
    }
    let way: PathBuf = right.map(|_| Component::ParentDir).chain(left).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_relative_to_current_directory() {
        let way = |path: &str| way_to(Path::new(path), Path::new("/srv/a/b")).display().to_string();
        assert_eq!(way("./x.tf"), "x.tf");
        assert_eq!(way("/srv/a/b/c/../x.tf"), "x.tf");
        assert_eq!(way("../x.tf"), "../x.tf");
        assert_eq!(way("/etc/x.tf"), "../../../etc/x.tf");
        assert_eq!(way("."), ".");
    }

    #[test]
    fn editor_backups_are_ignored() {
        assert!([".x.tf", "x.tf~", "#x.tf#"].iter().all(|name| is_ignored(name)));
        assert!(!is_ignored("x.tf"));
    }
}
