//! Finds public type names that are defined more than once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::source_text::SourceText;

static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::unwrap_used, reason = "the pattern is a constant that the tests compile")]
    Regex::new(r"^\s*pub (?:unsafe )?(?:struct|enum|trait|type|union) ([A-Z]\w*)").unwrap()
});

/// The locations at which each public type name is defined.
#[derive(Default)]
pub(crate) struct Definitions(BTreeMap<String, Vec<String>>);

pub(crate) struct Report {
    pub(crate) lines: Vec<String>,
    pub(crate) problems: usize,
}

/// Returns whether a file is checked. Tests and examples are not checked, since other code does not
/// use their types.
pub(crate) fn is_checked(path: &Path) -> bool {
    let shown = path.to_string_lossy();
    let is_source = path.extension().is_some_and(|extension| extension == "rs");
    let is_for_tests = ["tests/", "/tests/", "/examples/", "fuzz/", "xtask/"]
        .iter()
        .any(|folder| shown.starts_with(folder.trim_start_matches('/')) || shown.contains(folder));
    is_source && !is_for_tests
}

impl Definitions {
    pub(crate) fn add(&mut self, path: &Path, source: &str) {
        for (index, line) in SourceText::split(source).code.lines().enumerate() {
            if let Some(name) = DEFINITION.captures(line).and_then(|found| found.get(1)) {
                let place = format!("{}:{}", path.display(), index + 1);
                self.0.entry(name.as_str().to_owned()).or_default().push(place);
            }
        }
    }

    /// Lists the repeated names. A repeated name that is not in `accepted` is a problem, and so is
    /// a name in `accepted` that is not repeated.
    pub(crate) fn report(&self, accepted: &BTreeSet<String>) -> Report {
        let mut report = Report { lines: Vec::new(), problems: 0 };
        for (name, places) in self.0.iter().filter(|(_, places)| places.len() > 1) {
            let note = if accepted.contains(name) { "" } else { " (not in the glossary)" };
            report.problems += usize::from(!accepted.contains(name));
            report.lines.push(format!("{name}{note}: {}", places.join(", ")));
        }
        for name in accepted {
            if self.0.get(name).is_none_or(|places| places.len() < 2) {
                report.problems += 1;
                report.lines.push(format!("{name}: listed in the glossary, but not defined twice"));
            }
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definitions() -> Definitions {
        let mut definitions = Definitions::default();
        definitions.add(Path::new("host/a/src/lib.rs"), "pub struct Limits;\n// pub struct Comment;\n");
        definitions.add(Path::new("host/b/src/lib.rs"), "    pub enum Limits {}\npub(crate) struct Own;\n");
        definitions
    }

    #[test]
    fn duplicate_name_is_reported_unless_accepted() {
        let report = definitions().report(&BTreeSet::new());
        assert_eq!(report.problems, 1);
        assert_eq!(report.lines, ["Limits (not in the glossary): host/a/src/lib.rs:1, host/b/src/lib.rs:1"]);
        assert_eq!(definitions().report(&BTreeSet::from(["Limits".to_owned()])).problems, 0);
    }

    #[test]
    fn accepted_name_that_is_not_duplicated_is_reported() {
        let accepted = BTreeSet::from(["Limits".to_owned(), "Gone".to_owned()]);
        assert_eq!(definitions().report(&accepted).problems, 1);
    }

    #[test]
    fn tests_and_tools_are_not_checked() {
        assert!(is_checked(Path::new("host/lang/src/lib.rs")));
        for path in ["host/lang/tests/a.rs", "tests/native-plugin/src/lib.rs", "xtask/src/main.rs"] {
            assert!(!is_checked(Path::new(path)), "{path}");
        }
    }
}
