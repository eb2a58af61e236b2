//! Replaces text that differs from run to run in snapshots.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// Patterns and their replacements, applied in this order.
const FILTERS: [(&str, &str); 14] = [
    // The level of confinement depends on the machine.
    (
        r#"The level of confinement on this machine is "[a-z ]+""#,
        r#"The level of confinement on this machine is "[LEVEL]""#,
    ),
    (r#""confinement":"[a-z ]+""#, r#""confinement":"[LEVEL]""#),
    (r#""confinement": "[a-z ]+""#, r#""confinement": "[LEVEL]""#),
    // These lines depend on which plugins other tests have already compiled.
    (r"(?m)^- Compil(ing|ed) .*\n", ""),
    (r"(?m)^Compiling .*; later runs reuse the compiled code\.\n", ""),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[UUID]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
    (r"h1:[A-Za-z0-9+/]{43}=", "h1:[HASH]"),
    (r"\bafter \d+(m\d+)?s\b", "after [ELAPSED]"),
    (r"\d+(m\d+)?s elapsed", "[ELAPSED] elapsed"),
    (r"tester@\S+", "tester@[HOST]"),
    (r"(?m)^on \w+_\w+,", "on [PLATFORM],"),
    (r#""platform": "\w+""#, r#""platform": "[PLATFORM]""#),
    (r"0x[0-9a-f]+", "[OFFSET]"),
];

static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    FILTERS.iter().filter_map(|(pattern, text)| Some((Regex::new(pattern).ok()?, *text))).collect()
});

/// Returns text in the form that snapshots contain. `places` contains directories and the names
/// that replace them.
pub(crate) fn apply(text: &str, places: &[(&Path, &str)]) -> String {
    let mut text = text.to_owned();
    for (path, name) in places {
        for path in [path.canonicalize().ok(), Some(path.to_path_buf())].into_iter().flatten() {
            text = text.replace(&path.display().to_string(), name);
        }
    }
    for (pattern, replacement) in COMPILED.iter() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_patterns_are_valid() {
        assert_eq!(COMPILED.len(), FILTERS.len());
    }
}
