//! Parses the two enforced tables of `docs/glossary.md`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use regex::Regex;

const PAGE: &str = "docs/glossary.md";
const REPEATED_NAMES: &str = "## Types with the same name";
const REJECTED_SYNONYMS: &str = "## Rejected synonyms";

pub(crate) struct Glossary {
    pub(crate) repeated_names: BTreeSet<String>,
    pub(crate) rejected: Vec<Rejected>,
}

/// A pattern that must not occur, and the term to use instead.
pub(crate) struct Rejected {
    pub(crate) pattern: Regex,
    pub(crate) scope: Scope,
    pub(crate) term: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// Identifiers.
    Code,
    /// Comments, string literals and documentation.
    Text,
    All,
}

impl Glossary {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let page =
            std::fs::read_to_string(root.join(PAGE)).with_context(|| format!("could not read {PAGE}"))?;
        Self::parse(&page)
    }

    fn parse(page: &str) -> Result<Self> {
        let repeated_names = table(page, REPEATED_NAMES)?
            .iter()
            .flat_map(|row| row.first().map(String::as_str).unwrap_or_default().split(','))
            .map(|name| unquoted(name).to_owned())
            .collect();
        let rejected = table(page, REJECTED_SYNONYMS)?
            .iter()
            .map(|row| Rejected::parse(row))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { repeated_names, rejected })
    }
}

impl Rejected {
    fn parse(row: &[String]) -> Result<Self> {
        let [pattern, scope, term] = row else {
            bail!("{PAGE}: a rejected synonym needs a pattern, a scope and a term, not {row:?}");
        };
        let pattern = unquoted(pattern);
        let scope = match scope.as_str() {
            "code" => Scope::Code,
            "text" => Scope::Text,
            "all" => Scope::All,
            other => bail!("{PAGE}: `{other}` is not a scope; use code, text or all"),
        };
        let pattern =
            Regex::new(pattern).with_context(|| format!("{PAGE}: `{pattern}` is not a valid pattern"))?;
        Ok(Self { pattern, scope, term: term.clone() })
    }
}

/// Returns the body rows of the first table after a heading, each as a list of cells.
fn table(page: &str, heading: &str) -> Result<Vec<Vec<String>>> {
    let Some((_, section)) = page.split_once(heading) else {
        bail!("{PAGE} has no section \"{heading}\"");
    };
    let rows: Vec<_> = section
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(cells)
        .collect();
    Ok(rows)
}

/// Splits a row at `|`, except at `\|`, which is an escaped `|`.
fn cells(row: &str) -> Vec<String> {
    const ESCAPED: &str = "\u{0}";
    row.trim()
        .trim_matches('|')
        .replace("\\|", ESCAPED)
        .split('|')
        .map(|cell| cell.trim().replace(ESCAPED, "|"))
        .collect()
}

fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('`')
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "# Glossary\n\n## Types with the same name\n\ntext\n\n| name | why |\n|---|---|\n\
        | `Schema`, `Block` | guest twins |\n\n## Rejected synonyms\n\n| pattern | scope | use |\n|---|---|---|\n\
        | `fn (of\\|told)\\b` | code | new |\n| `the stranger` | text | untrusted configuration |\n";

    #[test]
    fn reads_both_tables() {
        let glossary = Glossary::parse(EXAMPLE).unwrap();
        assert_eq!(glossary.repeated_names.into_iter().collect::<Vec<_>>(), ["Block", "Schema"]);
        assert_eq!(glossary.rejected.len(), 2);
        assert_eq!(glossary.rejected[0].pattern.as_str(), r"fn (of|told)\b");
        assert_eq!(glossary.rejected[1].scope, Scope::Text);
        assert_eq!(glossary.rejected[1].term, "untrusted configuration");
    }

    #[test]
    fn rejects_unknown_scope_and_invalid_pattern() {
        for (from, to) in [("| text |", "| prose |"), ("`the stranger`", "`(`")] {
            assert!(Glossary::parse(&EXAMPLE.replace(from, to)).is_err(), "{to}");
        }
    }
}
