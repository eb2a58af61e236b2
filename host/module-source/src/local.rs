//! Sources that are paths relative to the calling module.

use std::fmt;
use std::path::Path;

/// A path relative to the directory of the calling module. It begins with `./` or `../`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalModuleSource {
    path: String,
}

impl LocalModuleSource {
    /// Parses a source, if it is a local path. Backslashes are also separators.
    pub(crate) fn parse(source: &str) -> Option<Self> {
        let source = source.replace('\\', "/");
        if !source.starts_with("./") && !source.starts_with("../") {
            return None;
        }
        let path = clean_path(&source);
        let path = if path.starts_with("../") { path } else { format!("./{path}") };
        Some(Self { path })
    }

    /// Returns the normalized path, as Terraform writes it to `modules.json`.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    pub fn as_path(&self) -> &Path {
        Path::new(&self.path)
    }
}

impl fmt::Display for LocalModuleSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)
    }
}

impl fmt::Debug for LocalModuleSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LocalModuleSource({})", self.path)
    }
}

/// Removes empty components, `.`, and components before `..` from a path. Returns `.` if the result
/// is empty. A leading slash is preserved, and `..` at the root is removed.
pub(crate) fn clean_path(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            ".." if is_absolute => {}
            name => names.push(name),
        }
    }
    let joined = names.join("/");
    match (is_absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_paths_are_normalized() {
        for (source, expected) in [
            ("./a", Some("./a")),
            ("./a/", Some("./a")),
            ("./a//b", Some("./a/b")),
            (".//a", Some("./a")),
            ("./a\\b", Some("./a/b")),
            (".\\a", Some("./a")),
            ("../a", Some("../a")),
            ("./../a", Some("../a")),
            ("../../", Some("../..")),
            ("../", Some("./..")),
            ("./a/../../b", Some("../b")),
            ("./a?b=c", Some("./a?b=c")),
            ("./", Some("./.")),
            (".", None),
            ("..", None),
            ("a/b", None),
            (" ./a", None),
            (".../a", None),
            ("/a", None),
            ("", None),
        ] {
            let parsed = LocalModuleSource::parse(source);
            assert_eq!(parsed.as_ref().map(LocalModuleSource::as_str), expected, "{source}");
        }
    }

    #[test]
    fn absolute_paths_stay_absolute() {
        assert_eq!(clean_path("/a/../../b/./c/"), "/b/c");
        assert_eq!(clean_path("/.."), "/");
        assert_eq!(clean_path(""), ".");
        assert_eq!(clean_path("a/.."), ".");
    }
}
