//! Module paths in a package.

use std::fmt;
use std::path::PathBuf;

use crate::error::ModuleSourceError;
use crate::local::clean_path;

/// The path of a module in its package: the part of a source after `//`. It never leads out of the
/// package.
///
/// Components may be shell patterns: `*` and `?` match any characters, `[a-c]` and `[^a-c]` match
/// one character of a class, and a backslash quotes the next character.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageSubdirectory {
    /// The path as Terraform writes it: without `..` components, and possibly with a leading slash.
    text: String,
}

impl PackageSubdirectory {
    /// Returns the directory of the package itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses the part of a source after `//`.
    ///
    /// # Errors
    /// Returns an error if the path leads out of the package.
    pub fn parse(text: &str) -> Result<Self, ModuleSourceError> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        let text = clean_path(text);
        if text == ".." || text.starts_with("../") {
            return Err(ModuleSourceError::OutsideOfPackage { subdirectory: text });
        }
        Ok(Self { text })
    }

    /// Joins a path to this path, for a module whose registry refers to a directory in another package.
    #[must_use]
    pub fn join(&self, inner: &Self) -> Self {
        match (self.text.is_empty(), inner.text.is_empty()) {
            (_, true) => self.clone(),
            (true, false) => inner.clone(),
            (false, false) => Self { text: clean_path(&format!("{}/{}", self.text, inner.text)) },
        }
    }

    /// Returns the text after `//` in a full address; empty for the package itself.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the components of the path, starting at the package's directory.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.text.split('/').filter(|name| !matches!(*name, "" | "."))
    }

    /// Returns whether this is the package's directory itself.
    pub fn is_root(&self) -> bool {
        self.names().next().is_none()
    }

    /// Returns whether a component of the path is a pattern.
    pub fn is_pattern(&self) -> bool {
        self.text.contains(['*', '?', '[', '\\'])
    }

    /// Returns the path relative to the package's directory.
    pub fn to_path(&self) -> PathBuf {
        self.names().collect()
    }

    /// Returns whether a pattern, which is one path component, matches a file name. An invalid
    /// pattern matches nothing.
    pub fn pattern_matches(pattern: &str, name: &str) -> bool {
        let pattern: Vec<char> = pattern.chars().collect();
        let name: Vec<char> = name.chars().collect();
        matches_from(&pattern, &name)
    }
}

/// Backtracks only to the last `*`, so the cost is at most the product of both lengths.
fn matches_from(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut restart = None;
    loop {
        let step = match pattern.get(at) {
            Some('*') => {
                at += 1;
                restart = Some((at, position));
                continue;
            }
            Some(_) => name.get(position).and_then(|&character| match_one(pattern, at, character)),
            None if position == name.len() => return true,
            None => None,
        };
        match (step, restart) {
            (Some(next), _) => {
                at = next;
                position += 1;
            }
            (None, Some((after_star, start))) if start < name.len() => {
                restart = Some((after_star, start + 1));
                (at, position) = (after_star, start + 1);
            }
            (None, _) => return false,
        }
    }
}

/// Matches one character against the element at position `at` of a pattern. Returns the position
/// after the element, or `None` if it does not match.
fn match_one(pattern: &[char], at: usize, character: char) -> Option<usize> {
    match *pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => match_class(pattern, at + 1, character),
        '\\' => (*pattern.get(at + 1)? == character).then_some(at + 2),
        literal => (literal == character).then_some(at + 1),
    }
}

fn match_class(pattern: &[char], mut at: usize, character: char) -> Option<usize> {
    let is_negated = pattern.get(at) == Some(&'^');
    if is_negated {
        at += 1;
    }
    let start = at;
    let mut is_member = false;
    while at == start || pattern.get(at) != Some(&']') {
        let (low, next) = class_character(pattern, at)?;
        at = next;
        let mut high = low;
        if pattern.get(at) == Some(&'-') {
            (high, at) = class_character(pattern, at + 1)?;
        }
        is_member |= low <= character && character <= high;
    }
    (is_member != is_negated).then_some(at + 1)
}

fn class_character(pattern: &[char], at: usize) -> Option<(char, usize)> {
    match *pattern.get(at)? {
        '-' | ']' => None,
        '\\' => Some((*pattern.get(at + 1)?, at + 2)),
        character => Some((character, at + 1)),
    }
}

impl fmt::Display for PackageSubdirectory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for PackageSubdirectory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PackageSubdirectory({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subdirectory(text: &str) -> PackageSubdirectory {
        PackageSubdirectory::parse(text).unwrap()
    }

    #[test]
    fn path_never_leaves_the_package() {
        for outside in ["..", "../x", "a/../..", "a/../../b", "./.."] {
            assert!(PackageSubdirectory::parse(outside).is_err(), "{outside}");
        }
        for (text, written, path) in [
            ("a/b", "a/b", "a/b"),
            ("a/./b/../c", "a/c", "a/c"),
            ("a//b", "a/b", "a/b"),
            ("/a", "/a", "a"),
            ("/../a", "/a", "a"),
            ("a/", "a", "a"),
            (".", ".", ""),
            ("", "", ""),
        ] {
            let parsed = subdirectory(text);
            assert_eq!(parsed.as_str(), written);
            assert_eq!(parsed.to_path(), PathBuf::from(path));
            assert_eq!(parsed.is_root(), path.is_empty());
        }
    }

    #[test]
    fn paths_are_joined() {
        let join = |outer: &str, inner: &str| subdirectory(outer).join(&subdirectory(inner)).to_string();
        assert_eq!(join("a", "b/c"), "a/b/c");
        assert_eq!(join("", "b"), "b");
        assert_eq!(join("a", ""), "a");
        assert_eq!(join("a", "/b"), "a/b");
        assert_eq!(join(".", "b"), "b");
    }

    #[test]
    fn patterns_match_as_in_terraform() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("*", ".hidden", true),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[a\\-]x", "-x", true),
            ("[]", "]", false),
            ("[a", "a", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\", "a", false),
            ("module-*", "module-1.2.3", true),
            ("ü?", "üä", true),
        ] {
            assert_eq!(PackageSubdirectory::pattern_matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_wildcards_match_quickly() {
        let pattern = "*a".repeat(500);
        assert!(!PackageSubdirectory::pattern_matches(&pattern, &"b".repeat(5_000)));
        assert!(!PackageSubdirectory::pattern_matches(&format!("{pattern}x"), &"a".repeat(5_000)));
    }
}
