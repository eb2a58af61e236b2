//! Finds rejected synonyms.

use std::fmt;
use std::path::{Path, PathBuf};

use super::glossary::{Rejected, Scope};
use super::source_text::SourceText;

/// Directories and files with text from other projects, or with intentional synonyms.
const EXEMPT: [&str; 6] =
    ["tests/data", "scenarios", "snapshots", "docs/glossary.md", "CHANGELOG.md", "xtask/src/terms"];

pub(crate) struct Match {
    path: PathBuf,
    line: usize,
    text: String,
    term: String,
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: \"{}\"; use: {}", self.path.display(), self.line, self.text, self.term)
    }
}

pub(crate) fn is_checked(path: &Path) -> bool {
    let shown = path.to_string_lossy();
    let is_text = matches!(path.extension().and_then(|e| e.to_str()), Some("rs" | "md" | "wit"));
    is_text && !EXEMPT.iter().any(|exempt| shown.contains(exempt))
}

/// Returns the matches in one file, by line. The cost is the file's length times the number of patterns.
pub(crate) fn find(path: &Path, content: &str, rejected: &[Rejected]) -> Vec<Match> {
    let split = if path.extension().is_some_and(|extension| extension == "rs") {
        SourceText::split(content)
    } else {
        SourceText { code: String::new(), text: content.to_owned() }
    };
    let mut matches = Vec::new();
    for entry in rejected {
        if entry.scope != Scope::Text {
            collect(path, &split.code, entry, &mut matches);
        }
        if entry.scope != Scope::Code {
            collect(path, &split.text, entry, &mut matches);
        }
    }
    matches.sort_by_key(|found| found.line);
    matches
}

fn collect(path: &Path, text: &str, entry: &Rejected, matches: &mut Vec<Match>) {
    for (index, line) in text.lines().enumerate() {
        for found in entry.pattern.find_iter(line) {
            matches.push(Match {
                path: path.to_owned(),
                line: index + 1,
                text: found.as_str().to_owned(),
                term: entry.term.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn rejected(pattern: &str, scope: Scope) -> Rejected {
        Rejected { pattern: Regex::new(pattern).unwrap(), scope, term: "new".into() }
    }

    #[test]
    fn pattern_scope_selects_code_or_text() {
        let source = "fn of() {} // fn of\n";
        let path = Path::new("a.rs");
        for (scope, count) in [(Scope::Code, 1), (Scope::Text, 1), (Scope::All, 2)] {
            assert_eq!(find(path, source, &[rejected(r"\bfn of\b", scope)]).len(), count, "{scope:?}");
        }
    }

    #[test]
    fn match_names_file_line_and_term() {
        let found = find(Path::new("a.md"), "one\nthe stranger\n", &[rejected("the stranger", Scope::Text)]);
        assert_eq!(found[0].to_string(), "a.md:2: \"the stranger\"; use: new");
    }

    #[test]
    fn fixtures_are_exempt() {
        assert!(is_checked(Path::new("host/lang/src/lib.rs")));
        assert!(!is_checked(Path::new("host/lang/tests/data/a.md")));
        assert!(!is_checked(Path::new("host/lang/tests/a.tsv")));
    }
}
