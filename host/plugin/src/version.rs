//! Version constraints, as `required_providers`, `required_version` and module
//! calls write them.
//!
//! | operator | accepts |
//! |---|---|
//! | `=` or none | exactly that version |
//! | `!=` | every other |
//! | `>` `>=` `<` `<=` | by comparison |
//! | `~> 1.2.3` | at least 1.2.3, below 1.3.0 |
//! | `~> 1.2` | at least 1.2.0, below 2.0.0 |
//! | `~> 1` | providers: as `~> 1.0`; elsewhere: at least 1, no upper bound |
//! | `,` | both |
//!
//! A part that is not written is zero. A prerelease is only ever accepted by an
//! exact constraint that names it. Build metadata takes no part in comparison.
//! The dialects differ because Terraform reads them with two libraries; see
//! [`Dialect`].
//!
//! Calls nothing, reads nothing. What always holds: the canonical text of
//! provider constraints reads back as the same constraints.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use semver::{BuildMetadata, Prerelease};

pub use semver::Version;

/// In whose grammar a constraint is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `version` in `required_providers`, and the lock file. No leading `v`; at
    /// most one space after an operator; empty means no constraint.
    Provider,
    /// `required_version`. A leading `v` is fine, a prerelease is not, and
    /// empty is an error.
    Tool,
    /// `version` of a module call: as [`Dialect::Tool`], but prereleases may be
    /// named.
    Module,
}

/// How a constraint compares. The order of the variants is the order of equal
/// versions in the canonical text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `=`, or nothing
    Equal,
    /// `~> 1.2.3`
    PessimisticPatch,
    /// `~> 1.2`
    PessimisticMinor,
    /// `~> 1` where it has no upper bound (not for providers)
    PessimisticOpen,
    /// `<=`
    LessOrEqual,
    /// `<`
    Less,
    /// `!=`
    NotEqual,
}

/// One comparison. Ordered as in the canonical text: by version, then operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Constraint {
    version: Version,
    operator: Operator,
}

impl Constraint {
    /// The version compared with.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// How it compares.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    fn accepts(&self, candidate: &Version) -> bool {
        let ordering = candidate.cmp_precedence(&self.version);
        match self.operator {
            Operator::Greater => ordering == Ordering::Greater,
            Operator::GreaterOrEqual | Operator::PessimisticOpen => ordering != Ordering::Less,
            Operator::Equal => ordering == Ordering::Equal,
            Operator::NotEqual => ordering != Ordering::Equal,
            Operator::LessOrEqual => ordering != Ordering::Greater,
            Operator::Less => ordering == Ordering::Less,
            Operator::PessimisticMinor => ordering != Ordering::Less && candidate.major == self.version.major,
            Operator::PessimisticPatch => {
                ordering != Ordering::Less
                    && candidate.major == self.version.major
                    && candidate.minor == self.version.minor
            }
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.version;
        let operator = match self.operator {
            Operator::Equal => return write!(formatter, "{version}"),
            Operator::PessimisticMinor => {
                write!(formatter, "~> {}.{}", version.major, version.minor)?;
                return write_suffix(version, formatter);
            }
            Operator::PessimisticOpen => {
                write!(formatter, "~> {}", version.major)?;
                return write_suffix(version, formatter);
            }
            Operator::PessimisticPatch => "~>",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::LessOrEqual => "<=",
            Operator::Less => "<",
            Operator::NotEqual => "!=",
        };
        write!(formatter, "{operator} {version}")
    }
}

fn write_suffix(version: &Version, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !version.pre.is_empty() {
        write!(formatter, "-{}", version.pre)?;
    }
    if !version.build.is_empty() {
        write!(formatter, "+{}", version.build)?;
    }
    Ok(())
}

/// Constraints that must all hold. None at all accepts every release.
///
/// `Display` is the canonical text: sorted, parts filled in, nothing twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Constraints {
    all: BTreeSet<Constraint>,
    compare_prerelease_as_release: bool,
}

impl Constraints {
    /// Reads a constraint string.
    ///
    /// # Errors
    /// With the piece that is wrong and why.
    ///
    /// # Examples
    /// ```
    /// use wardian_plugin::version::{Constraints, Dialect, Version};
    /// let constraints = Constraints::parse("~>3.1, !=3.4", Dialect::Provider)?;
    /// assert_eq!(constraints.to_string(), "~> 3.1, != 3.4.0");
    /// assert!(constraints.accepts(&Version::new(3, 7, 2)));
    /// assert!(!constraints.accepts(&Version::new(4, 0, 0)));
    /// # Ok::<(), wardian_plugin::version::ConstraintError>(())
    /// ```
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, ConstraintError> {
        let mut constraints =
            Self { all: BTreeSet::new(), compare_prerelease_as_release: dialect == Dialect::Tool };
        if dialect == Dialect::Provider && text.trim().is_empty() {
            return Ok(constraints);
        }
        let pieces: Vec<&str> = text.split(',').collect();
        let last = pieces.len().saturating_sub(1);
        for (index, piece) in pieces.iter().enumerate() {
            let trailing_comma = index == last && index > 0 && piece.trim().is_empty();
            if trailing_comma && dialect == Dialect::Provider {
                continue;
            }
            let constraint = parse_constraint(piece.trim(), dialect).map_err(|problem| ConstraintError {
                text: text.to_owned(),
                piece: piece.trim().to_owned(),
                problem,
            })?;
            constraints.all.insert(constraint);
        }
        Ok(constraints)
    }

    /// Exactly this version.
    pub fn exactly(version: Version) -> Self {
        Self {
            all: BTreeSet::from([Constraint { version, operator: Operator::Equal }]),
            compare_prerelease_as_release: false,
        }
    }

    /// All of both.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            all: self.all.union(&other.all).cloned().collect(),
            compare_prerelease_as_release: self.compare_prerelease_as_release
                || other.compare_prerelease_as_release,
        }
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The single constraints, in canonical order.
    pub fn iter(&self) -> impl Iterator<Item = &Constraint> {
        self.all.iter()
    }

    /// Whether a version meets every constraint. A prerelease must be named
    /// exactly; `required_version` looks only at the release that a prerelease
    /// of this tool leads up to.
    pub fn accepts(&self, candidate: &Version) -> bool {
        let release;
        let candidate = if self.compare_prerelease_as_release && !candidate.pre.is_empty() {
            release = Version::new(candidate.major, candidate.minor, candidate.patch);
            &release
        } else {
            candidate
        };
        let named = candidate.pre.is_empty()
            || self
                .all
                .iter()
                .any(|constraint| constraint.operator == Operator::Equal && constraint.accepts(candidate));
        named && self.all.iter().all(|constraint| constraint.accepts(candidate))
    }

    /// The newest of some versions that meets every constraint.
    pub fn newest<'a>(&self, versions: impl IntoIterator<Item = &'a Version>) -> Option<&'a Version> {
        versions.into_iter().filter(|version| self.accepts(version)).max()
    }
}

impl fmt::Display for Constraints {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, constraint) in self.all.iter().enumerate() {
            if index > 0 {
                formatter.write_str(", ")?;
            }
            fmt::Display::fmt(constraint, formatter)?;
        }
        Ok(())
    }
}

/// A text that is not a version constraint, and which piece of it is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid version constraint \"{text}\": {}{problem}", in_piece(text, piece))]
pub struct ConstraintError {
    /// The whole constraint string.
    pub text: String,
    /// The part between commas that is wrong.
    pub piece: String,
    /// What is wrong with it.
    pub problem: ConstraintProblem,
}

fn in_piece(text: &str, piece: &str) -> String {
    if piece.is_empty() || piece == text.trim() { String::new() } else { format!("in \"{piece}\", ") }
}

/// What is wrong with one constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintProblem {
    /// Nothing where a constraint is needed.
    #[error("a constraint is missing")]
    Missing,
    /// Not one of the operators.
    #[error("\"{0}\" is not an operator; use one of =, !=, >, >=, <, <=, ~>")]
    Operator(String),
    /// `=>` for `>=`, and the like.
    #[error("\"{written}\" is not an operator; did you mean \"{meant}\"?")]
    MistypedOperator {
        /// What stands there.
        written: String,
        /// What it probably should be.
        meant: &'static str,
    },
    /// More than one space, where only one is allowed.
    #[error("only one space may follow the operator")]
    Spaces,
    /// Two constraints without a comma.
    #[error("a comma is missing after \"{0}\"")]
    Comma(String),
    /// A leading `v`.
    #[error("a version is written without the \"v\" in front")]
    LeadingV,
    /// `*` or `x` for a part.
    #[error("a version has no wildcards; leave out the parts that may vary and use ~>")]
    Wildcard,
    /// More than three numbers.
    #[error("a version has at most three numbers")]
    TooManyParts,
    /// A part that is not a number, or too large a one.
    #[error("\"{0}\" is not a version number")]
    Number(String),
    /// The part after `-` or `+` is malformed.
    #[error("\"{0}\" is not a valid prerelease or build name")]
    Suffix(String),
    /// A prerelease in `required_version`.
    #[error("prerelease versions cannot be required")]
    Prerelease,
}

fn parse_constraint(piece: &str, dialect: Dialect) -> Result<Constraint, ConstraintProblem> {
    if piece.is_empty() {
        return Err(ConstraintProblem::Missing);
    }
    let operator_end = piece
        .find(|character: char| character.is_alphanumeric() || character.is_whitespace() || character == '*')
        .unwrap_or(piece.len());
    let (operator, rest) = piece.split_at(operator_end);
    let version_text = rest.trim_start();
    let spaces = rest.len() - version_text.len();
    if dialect == Dialect::Provider && spaces > 1 {
        return Err(ConstraintProblem::Spaces);
    }
    if version_text.is_empty() {
        return Err(ConstraintProblem::Missing);
    }
    if let Some(gap) = version_text.find(char::is_whitespace) {
        let (before, _) = version_text.split_at(gap);
        return Err(ConstraintProblem::Comma(before.to_owned()));
    }
    let comparison = match operator {
        "" | "=" => Operator::Equal,
        "!=" => Operator::NotEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        "~>" => Operator::PessimisticPatch,
        "=>" => return Err(mistyped(operator, ">=")),
        "=<" => return Err(mistyped(operator, "<=")),
        "==" => return Err(mistyped(operator, "=")),
        "^" | "~" | ">~" => return Err(mistyped(operator, "~>")),
        "<>" | "!" => return Err(mistyped(operator, "!=")),
        other => return Err(ConstraintProblem::Operator(other.to_owned())),
    };
    let (version, parts_written) = parse_partial_version(version_text, dialect)?;
    let operator = match (comparison, parts_written, dialect) {
        (Operator::PessimisticPatch, 1, Dialect::Tool | Dialect::Module) => Operator::PessimisticOpen,
        (Operator::PessimisticPatch, 1 | 2, _) => Operator::PessimisticMinor,
        (other, _, _) => other,
    };
    Ok(Constraint { version, operator })
}

fn mistyped(written: &str, meant: &'static str) -> ConstraintProblem {
    ConstraintProblem::MistypedOperator { written: written.to_owned(), meant }
}

/// A version with one to three numbers, and how many there were.
fn parse_partial_version(text: &str, dialect: Dialect) -> Result<(Version, usize), ConstraintProblem> {
    let text = match (text.strip_prefix(['v', 'V']), dialect) {
        (Some(_), Dialect::Provider) => return Err(ConstraintProblem::LeadingV),
        (Some(rest), Dialect::Tool | Dialect::Module) => rest,
        (None, _) => text,
    };
    let (text, build) = split_suffix(text, '+');
    let (numbers, prerelease) = split_suffix(text, '-');
    let bad_suffix = |suffix: &str| ConstraintProblem::Suffix(suffix.to_owned());
    let pre = Prerelease::new(prerelease.unwrap_or_default())
        .map_err(|_| bad_suffix(prerelease.unwrap_or_default()))?;
    let build =
        BuildMetadata::new(build.unwrap_or_default()).map_err(|_| bad_suffix(build.unwrap_or_default()))?;
    if dialect == Dialect::Tool && prerelease.is_some() {
        return Err(ConstraintProblem::Prerelease);
    }

    let mut parts: Vec<&str> = numbers.split('.').collect();
    // Terraform reads `1.` as `1`, so files with it exist.
    if dialect == Dialect::Provider && parts.len() > 1 && parts.last() == Some(&"") {
        parts.pop();
    }
    if parts.iter().any(|part| matches!(*part, "*" | "x" | "X")) {
        return Err(ConstraintProblem::Wildcard);
    }
    let mut values = [0u64; 3];
    for (index, part) in parts.iter().enumerate() {
        let value = parse_number(part)?;
        match values.get_mut(index) {
            Some(place) => *place = value,
            None if dialect != Dialect::Provider && value == 0 => {}
            None => return Err(ConstraintProblem::TooManyParts),
        }
    }
    let [major, minor, patch] = values;
    let version = Version { major, minor, patch, pre, build };
    Ok((version, parts.len()))
}

fn split_suffix(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn parse_number(part: &str) -> Result<u64, ConstraintProblem> {
    let wrong = || ConstraintProblem::Number(part.to_owned());
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    part.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        match Constraints::parse(text, Dialect::Provider) {
            Ok(constraints) => constraints.to_string(),
            Err(error) => format!("error: {error}"),
        }
    }

    fn accepts(text: &str, dialect: Dialect, version: &str) -> bool {
        Constraints::parse(text, dialect).unwrap().accepts(&Version::parse(version).unwrap())
    }

    #[test]
    fn canonical_text_as_terraform_writes_it() {
        for (written, expected) in [
            ("1", "1.0.0"),
            ("~> 1", "~> 1.0"),
            ("~>1.2.3", "~> 1.2.3"),
            (">1,<2", "> 1.0.0, < 2.0.0"),
            (
                "!= 1, = 1, >1, >=1, <1, <=1, ~>1, ~> 1.0.0",
                "> 1.0.0, >= 1.0.0, 1.0.0, ~> 1.0.0, ~> 1.0, <= 1.0.0, < 1.0.0, != 1.0.0",
            ),
            ("1.2.0-beta1", "1.2.0-beta1"),
            ("1.2-beta", "1.2.0-beta"),
            ("~> 1.2-beta1", "~> 1.2-beta1"),
            ("> 1, > 1.0, > 1.0.0", "> 1.0.0"),
            (">= 5.50.0, ~> 5.0", "~> 5.0, >= 5.50.0"),
            (">= 1.0.0-a, >= 1.0.0, >= 1.0.0-b", ">= 1.0.0-a, >= 1.0.0-b, >= 1.0.0"),
            ("01.2.3", "1.2.3"),
            ("1 , 2", "1.0.0, 2.0.0"),
            ("1,", "1.0.0"),
            ("1.", "1.0.0"),
            ("1.2.3-", "1.2.3"),
            ("1.2.3+", "1.2.3"),
            (" \t1", "1.0.0"),
            ("  ", ""),
            ("18446744073709551615", "18446744073709551615.0.0"),
        ] {
            assert_eq!(canonical(written), expected, "{written:?}");
        }
    }

    #[test]
    fn errors_say_which_piece_and_why() {
        for (written, expected) in [
            ("v1", "invalid version constraint \"v1\": a version is written without the \"v\" in front"),
            (
                ">= 1, => 2",
                "invalid version constraint \">= 1, => 2\": in \"=> 2\", \"=>\" is not an operator; did you mean \">=\"?",
            ),
            ("1 2", "invalid version constraint \"1 2\": a comma is missing after \"1\""),
            (
                "1.x",
                "invalid version constraint \"1.x\": a version has no wildcards; leave out the parts that may vary and use ~>",
            ),
            ("foo", "invalid version constraint \"foo\": \"foo\" is not a version number"),
        ] {
            assert_eq!(canonical(written), format!("error: {expected}"));
        }
        for written in [
            ",",
            ",1",
            "1,,2",
            "1.2.3.4",
            "=  1",
            "== 1",
            "^1",
            "> = 1",
            "-1",
            "1..2",
            "!1",
            "*",
            "18446744073709551616",
            ">",
            "1.0 - 2.0",
            "1 || 2",
            "=v1",
        ] {
            assert!(Constraints::parse(written, Dialect::Provider).is_err(), "{written:?}");
        }
    }

    #[test]
    fn provider_matching() {
        let provider = |text, version| accepts(text, Dialect::Provider, version);
        assert!(provider("~> 1.2", "1.99.0"));
        assert!(!provider("~> 1.2", "2.0.0"));
        assert!(!provider("~> 1.2", "1.1.9"));
        assert!(provider("~> 1.2.3", "1.2.9"));
        assert!(!provider("~> 1.2.3", "1.3.0"));
        assert!(!provider("~> 1", "2.0.0"));
        assert!(!provider("= 1.11", "1.11.4"));
        assert!(provider("", "0.0.1"));
        assert!(!provider("", "1.0.0-beta"));
        assert!(!provider(">= 1.0.0-beta", "1.0.0-beta"));
        assert!(provider("1.0.0-beta", "1.0.0-beta"));
        assert!(provider("1.0.0-beta, < 1", "1.0.0-beta"));
        assert!(!provider("2.0.0-beta, ~> 1.0", "2.0.0-beta"));
        assert!(provider("1.0.0", "1.0.0+build"));
        assert!(!provider("> 1, != 1.5", "1.5.0"));
    }

    #[test]
    fn required_version_matching() {
        let tool = |text| accepts(text, Dialect::Tool, "1.11.4");
        for text in [
            "~> 1",
            "~> 0",
            "~> 1.11",
            "~> 1.11.0",
            "~> 1.10",
            ">1,<2",
            "1.11.4",
            "v1.11.4",
            ">= v1.0",
            "1.11.4+meta",
            "1.11.4.0",
            "=1.11.4",
            "=  1.11.4",
            "!=1.0",
            "> 1.11",
        ] {
            assert!(tool(text), "{text:?}");
        }
        for text in ["1", "= 1.11", "~> 1.10.0", "<= 1.11", "~> 1.11.5", "~> 2", ">= 1.0, < 1.5"] {
            assert!(!tool(text), "{text:?}");
        }
        for text in ["", " ", ",", "1.11.4,", "1.x", "== 1", ">= 1.2.0-beta1", "1.11.4-", "1 2"] {
            assert!(Constraints::parse(text, Dialect::Tool).is_err(), "{text:?}");
        }
        assert!(accepts(">= 1.12", Dialect::Tool, "1.12.0-dev"));
        assert!(accepts("1.0.0-rc1", Dialect::Module, "1.0.0-rc1"));
    }

    #[test]
    fn newest_skips_prereleases() {
        let versions: Vec<Version> = ["1.0.0", "1.2.0", "1.3.0-rc1", "2.0.0"]
            .iter()
            .map(|text| Version::parse(text).unwrap())
            .collect();
        let constraints = Constraints::parse("~> 1.0", Dialect::Provider).unwrap();
        assert_eq!(constraints.newest(&versions), Some(&Version::new(1, 2, 0)));
    }

    fn any_constraint_text() -> impl Strategy<Value = String> {
        (
            prop::sample::select(vec!["", "= ", "!=", "> ", ">=", "<", "<= ", "~> ", "~>"]),
            prop::collection::vec(0u64..4, 1..=3),
            prop::option::of(prop::sample::select(vec!["-alpha", "-beta.2", "+build"])),
        )
            .prop_map(|(operator, parts, suffix)| {
                let numbers: Vec<String> = parts.iter().map(u64::to_string).collect();
                format!("{operator}{}{}", numbers.join("."), suffix.unwrap_or_default())
            })
    }

    proptest! {
        #[test]
        fn canonical_text_means_the_same(
            pieces in prop::collection::vec(any_constraint_text(), 0..5),
            candidate in (0u64..4, 0u64..4, 0u64..4, prop::bool::ANY),
        ) {
            let text = pieces.join(",");
            let constraints = Constraints::parse(&text, Dialect::Provider).unwrap();
            let again = Constraints::parse(&constraints.to_string(), Dialect::Provider).unwrap();
            prop_assert_eq!(&again, &constraints);
            let mut version = Version::new(candidate.0, candidate.1, candidate.2);
            if candidate.3 {
                version.pre = Prerelease::new("alpha").unwrap();
            }
            let each = pieces.iter().all(|piece| {
                let own = Constraints::parse(piece, Dialect::Provider).unwrap();
                version.pre.is_empty() && own.accepts(&version)
            });
            if version.pre.is_empty() {
                prop_assert_eq!(constraints.accepts(&version), each);
            }
        }

        #[test]
        fn any_text_is_answered(text in "\\PC{0,40}", wild in "[~<>=!v0-9., *x+-]{0,24}") {
            for dialect in [Dialect::Provider, Dialect::Tool, Dialect::Module] {
                let _ = Constraints::parse(&text, dialect);
                let _ = Constraints::parse(&wild, dialect);
            }
            let _ = crate::address::ProviderAddress::parse(&text);
            let _ = crate::address::ProviderAddress::parse_full(&wild);
        }
    }
}
