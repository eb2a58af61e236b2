//! `cargo xtask file-access`: finds host code that opens files without `wardian-files`.
//!
//! A path from a plugin, a configuration or a package may refer to a symbolic link, a pipe or a
//! procfs file, and its target may change between the check and the use. Only `wardian-files`
//! handles these cases. `file_access/direct.txt` lists the files that use the standard library
//! instead, each with the reason why its paths belong to the operator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use regex::Regex;

use crate::progress::say;
use crate::terms;
use crate::workspace::Workspace;

const LIST: &str = include_str!("file_access/direct.txt");

/// Functions that open, look up or change a file by its path.
const DIRECT: &str = r"(?x)
    \bfs::(?:read|write|read_to_string|metadata|symlink_metadata|canonicalize|read_dir|read_link
        |create_dir|create_dir_all|rename|remove_file|remove_dir|remove_dir_all|copy|hard_link
        |set_permissions|exists|soft_link|symlink)\(
    |\b(?:File|OpenOptions|DirBuilder)::(?:open|create|create_new|options|new)\b
    |\.(?:canonicalize|read_dir|read_link|symlink_metadata|try_exists)\(\)
    |\b(?:path|directory|home|root)\.(?:exists|is_file|is_dir|is_symlink)\(\)
    |\b(?:open_ambient_dir|openat2?|statat|readlinkat)\b\(";

/// Fails if an unlisted file uses one of these functions, or if a listed file does not.
pub(crate) fn check(workspace: &Workspace) -> Result<ExitCode> {
    let listed = parse(LIST)?;
    let pattern = Regex::new(DIRECT)?;
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for path in terms::tracked_files(&workspace.root)? {
        if !is_checked(&path) {
            continue;
        }
        let text = terms::read(&workspace.root, &path)?;
        let Some((number, line)) = find(&text, &pattern) else { continue };
        let name = path.to_string_lossy().into_owned();
        if !listed.contains_key(name.as_str()) {
            problems.push(format!("{name}:{number}: {}", line.trim()));
        }
        seen.insert(name);
    }
    for (name, _) in listed {
        if !seen.contains(name) {
            problems.push(format!("{name} opens no file: remove it from xtask/src/file_access/direct.txt"));
        }
    }
    for problem in &problems {
        say(problem);
    }
    let advice = "open files through wardian-files, or list the file with its reason in \
                  xtask/src/file_access/direct.txt";
    Ok(terms::verdict(problems.len(), "file with direct access", advice))
}

/// Parses lines of a path and a reason.
fn parse(list: &str) -> Result<BTreeMap<&str, &str>> {
    let mut files = BTreeMap::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (path, reason) = line.split_once(": ").with_context(|| format!("no reason in {line:?}"))?;
        ensure!(files.insert(path, reason).is_none(), "{path} is listed twice");
    }
    Ok(files)
}

/// Returns whether a file is compiled into the host. Tests may open any files.
fn is_checked(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let is_host = text.starts_with("host/") || text.starts_with("legacy-grpc-bridge/");
    is_host && text.contains("/src/") && text.ends_with(".rs") && !text.ends_with("/tests.rs")
}

/// Returns the first use of a direct function outside of tests and comments.
fn find<'a>(text: &'a str, pattern: &Regex) -> Option<(usize, &'a str)> {
    let mut is_test_next = false;
    for (index, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if code.starts_with("#[cfg(test)]") || code.starts_with("#[cfg(all(test") {
            is_test_next = true;
        } else if is_test_next && code.starts_with("mod ") {
            return None;
        } else if !code.starts_with("//") {
            is_test_next &= code.starts_with('#');
            if pattern.is_match(line) {
                return Some((index + 1, line));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<usize> {
        find(text, &Regex::new(DIRECT).unwrap()).map(|(number, _)| number)
    }

    #[test]
    fn direct_file_access_is_detected() {
        for text in [
            "let text = std::fs::read_to_string(path)?;",
            "    fs::metadata(path)",
            "tokio::fs::write(path, bytes).await?",
            "File::open(path)?",
            "std::fs::OpenOptions::new()",
            "if path.exists() {",
            "let real = path.canonicalize()?;",
            "openat(directory, name, flags, mode)",
        ] {
            assert_eq!(found(text), Some(1), "{text}");
        }
        for text in [
            "use std::fs::File;",
            "file.metadata()?",
            "scope.read(path, 10)",
            "// fs::read(path)",
            "metadata.is_file()",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn tests_are_not_checked() {
        assert_eq!(found("fn a() {}\n#[cfg(test)]\nmod tests {\n fs::read(path)\n}\n"), None);
        assert_eq!(found("#[cfg(test)]\nuse std::fs;\nfs::read(path)\n"), Some(3));
        assert!(!is_checked(Path::new("host/policy/src/parse/tests.rs")));
        assert!(!is_checked(Path::new("host/policy/tests/hostile.rs")));
    }

    #[test]
    fn list_entries_must_have_reasons() {
        assert!(parse(LIST).unwrap().values().all(|reason| reason.len() > 10));
        assert!(parse("host/x.rs").is_err());
        assert!(parse("host/x.rs: first reason\nhost/x.rs: second reason").is_err());
    }
}
