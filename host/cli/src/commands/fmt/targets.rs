//! Which files are formatted.

use std::fs;
use std::path::{Component, Path, PathBuf};

use wardian_diagnostic::Diagnostic;

/// What is in the native syntax and has a standard style.
const EXTENSIONS: [&str; 4] = [".tf", ".tfvars", ".tftest.hcl", ".tfmock.hcl"];

/// Directories deeper than this are left alone.
const MAX_DEPTH: usize = 256;

/// A file to be formatted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Where it is.
    pub(super) path: PathBuf,
    /// How it is named to people: by the way to it from the current directory.
    pub(super) name: String,
}

/// Hands over every file that is meant, in order. The first that was named and is not
/// there ends it, as it does in Terraform.
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
                    "Check the name. Names are relative to the current directory, or to that of -chdir.";
                take(Err(Diagnostic::error(format!("No file or directory at {shown}"), detail)));
                return;
            }
            Ok(found) if found.is_dir() => directory(&name, recursive, 0, take),
            Ok(_) if is_formatted(&shown) => take(Ok(Target { path: name, name: shown })),
            Ok(_) => {
                let detail = format!(
                    "{shown} is none of them. Files in JSON have no standard style; other files are left alone."
                );
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
        // A link to a directory is not followed: it may lead back here.
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

/// Hidden files, and what editors leave behind.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

/// The way to a path from the current directory, as far as names tell.
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
    fn files_are_named_by_the_way_to_them() {
        let way = |path: &str| way_to(Path::new(path), Path::new("/srv/a/b")).display().to_string();
        assert_eq!(way("./x.tf"), "x.tf");
        assert_eq!(way("/srv/a/b/c/../x.tf"), "x.tf");
        assert_eq!(way("../x.tf"), "../x.tf");
        assert_eq!(way("/etc/x.tf"), "../../../etc/x.tf");
        assert_eq!(way("."), ".");
    }

    #[test]
    fn what_editors_leave_behind_is_ignored() {
        assert!([".x.tf", "x.tf~", "#x.tf#"].iter().all(|name| is_ignored(name)));
        assert!(!is_ignored("x.tf"));
    }
}
