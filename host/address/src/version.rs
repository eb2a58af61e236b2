//! Version constraints of `required_providers`, `required_version` and module calls.
//!
//! | operator | accepts |
//! |---|---|
//! | `=` or none | exactly that version |
//! | `!=` | every other version |
//! | `>` `>=` `<` `<=` | by comparison |
//! | `~> 1.2.3` | at least 1.2.3, less than 1.3.0 |
//! | `~> 1.2` | at least 1.2.0, less than 2.0.0 |
//! | `~> 1` | providers: the same as `~> 1.0`; otherwise: at least 1, no upper bound |
//! | `,` | both constraints |
//!
//! A missing number is zero. A prerelease is accepted only if an exact constraint requires it.
//! Comparison ignores build metadata. The dialects differ because Terraform parses them with two
//! libraries; see [`ConstraintDialect`].
//!
//! Parsing the canonical text of provider constraints always yields the same constraints.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use semver::{BuildMetadata, Prerelease};

pub use semver::Version;

/// The grammar of a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConstraintDialect {
    /// `version` in `required_providers`, and the lock file: a leading `v` is not allowed; at most
    /// one space may follow an operator; an empty string means no constraints.
    Provider,
    /// `required_version`: a leading `v` is allowed; a prerelease and an empty string are
    /// errors.
    Tool,
    /// `version` in a module call: like [`ConstraintDialect::Tool`], but prereleases are allowed.
    Module,
}

/// The comparison operator of a constraint. In the canonical text, constraints with the same
/// version are sorted in the order of these variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConstraintOperator {
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
    /// `~> 1` without an upper bound (not for providers)
    PessimisticOpen,
    /// `<=`
    LessOrEqual,
    /// `<`
    Less,
    /// `!=`
    NotEqual,
}

/// One constraint. Constraints are sorted as in the canonical text: by version, then by operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Constraint {
    version: Version,
    operator: ConstraintOperator,
}

impl Constraint {
    /// Returns the version with which candidates are compared.
    pub fn version(&self) -> &Version {
        &self.version
    }

    pub fn operator(&self) -> ConstraintOperator {
        self.operator
    }

    fn accepts(&self, candidate: &Version) -> bool {
        let ordering = candidate.cmp_precedence(&self.version);
        match self.operator {
            ConstraintOperator::Greater => ordering == Ordering::Greater,
            ConstraintOperator::GreaterOrEqual | ConstraintOperator::PessimisticOpen => {
                ordering != Ordering::Less
            }
            ConstraintOperator::Equal => ordering == Ordering::Equal,
            ConstraintOperator::NotEqual => ordering != Ordering::Equal,
            ConstraintOperator::LessOrEqual => ordering != Ordering::Greater,
            ConstraintOperator::Less => ordering == Ordering::Less,
            ConstraintOperator::PessimisticMinor => {
                ordering != Ordering::Less && candidate.major == self.version.major
            }
            ConstraintOperator::PessimisticPatch => {
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
            ConstraintOperator::Equal => return write!(formatter, "{version}"),
            ConstraintOperator::PessimisticMinor => {
                write!(formatter, "~> {}.{}", version.major, version.minor)?;
                return write_suffix(version, formatter);
            }
            ConstraintOperator::PessimisticOpen => {
                write!(formatter, "~> {}", version.major)?;
                return write_suffix(version, formatter);
            }
            ConstraintOperator::PessimisticPatch => "~>",
            ConstraintOperator::Greater => ">",
            ConstraintOperator::GreaterOrEqual => ">=",
            ConstraintOperator::LessOrEqual => "<=",
            ConstraintOperator::Less => "<",
            ConstraintOperator::NotEqual => "!=",
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

/// A set of constraints that must all be met. An empty set accepts every release.
///
/// `Display` writes the canonical text: sorted, with all three numbers and without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Constraints {
    all: BTreeSet<Constraint>,
    compare_prerelease_as_release: bool,
}

impl Constraints {
    /// Parses a constraint string.
    ///
    /// # Errors
    /// Returns an error with the invalid constraint and the reason.
    ///
    /// # Examples
    /// ```
    /// use wardian_address::{ConstraintDialect, Constraints, Version};
    /// let constraints = Constraints::parse("~>3.1, !=3.4", ConstraintDialect::Provider)?;
    /// assert_eq!(constraints.to_string(), "~> 3.1, != 3.4.0");
    /// assert!(constraints.accepts(&Version::new(3, 7, 2)));
    /// assert!(!constraints.accepts(&Version::new(4, 0, 0)));
    /// # Ok::<(), wardian_address::ConstraintError>(())
    /// ```
    pub fn parse(text: &str, dialect: ConstraintDialect) -> Result<Self, ConstraintError> {
        let mut constraints =
            Self { all: BTreeSet::new(), compare_prerelease_as_release: dialect == ConstraintDialect::Tool };
        if dialect == ConstraintDialect::Provider && text.trim().is_empty() {
            return Ok(constraints);
        }
        let pieces: Vec<&str> = text.split(',').collect();
        let last = pieces.len().saturating_sub(1);
        for (index, piece) in pieces.iter().enumerate() {
            let trailing_comma = index == last && index > 0 && piece.trim().is_empty();
            if trailing_comma && dialect == ConstraintDialect::Provider {
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

    /// Returns constraints that accept only this version.
    pub fn exactly(version: Version) -> Self {
        Self {
            all: BTreeSet::from([Constraint { version, operator: ConstraintOperator::Equal }]),
            compare_prerelease_as_release: false,
        }
    }

    /// Returns the union of the constraints in `self` and `other`.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            all: self.all.union(&other.all).cloned().collect(),
            compare_prerelease_as_release: self.compare_prerelease_as_release
                || other.compare_prerelease_as_release,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Iterates over the constraints in canonical order.
    pub fn iter(&self) -> impl Iterator<Item = &Constraint> {
        self.all.iter()
    }

    /// Returns whether a version meets every constraint. A prerelease must be required exactly.
    /// `required_version` is an exception: a prerelease of Wardian is compared as if it were the
    /// release.
    pub fn accepts(&self, candidate: &Version) -> bool {
        let release;
        let candidate = if self.compare_prerelease_as_release && !candidate.pre.is_empty() {
            release = Version::new(candidate.major, candidate.minor, candidate.patch);
            &release
        } else {
            candidate
        };
        let named = candidate.pre.is_empty()
            || self.all.iter().any(|constraint| {
                constraint.operator == ConstraintOperator::Equal && constraint.accepts(candidate)
            });
        named && self.all.iter().all(|constraint| constraint.accepts(candidate))
    }

    /// Returns the newest of the given versions that meets every constraint.
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

/// The error for text that is not a version constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid version constraint \"{text}\": {}{problem}", in_piece(text, piece))]
pub struct ConstraintError {
    /// The complete constraint string.
    pub text: String,
    /// The invalid constraint, between two commas.
    pub piece: String,
    pub problem: ConstraintProblem,
}

fn in_piece(text: &str, piece: &str) -> String {
    if piece.is_empty() || piece == text.trim() { String::new() } else { format!("in \"{piece}\", ") }
}

/// The reason why a constraint is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintProblem {
    /// The constraint is missing.
    #[error("a constraint is missing")]
    Missing,
    /// The operator is unknown.
    #[error("\"{0}\" is not an operator; use one of =, !=, >, >=, <, <=, ~>")]
    Operator(String),
    /// The operator is a common mistake, such as `=>` for `>=`.
    #[error("\"{operator}\" is not an operator; did you mean \"{meant}\"?")]
    MistypedOperator {
        operator: String,
        /// The operator that was probably meant.
        meant: &'static str,
    },
    /// More than one space follows an operator, in a dialect that allows only one.
    #[error("only one space may follow the operator")]
    Spaces,
    /// The comma between two constraints is missing.
    #[error("a comma is missing after \"{0}\"")]
    Comma(String),
    /// The version has a leading `v`.
    #[error("a version must not begin with \"v\"")]
    LeadingV,
    /// A number is written as `*` or `x`.
    #[error("wildcards are not supported; omit the parts that may vary and use ~>")]
    Wildcard,
    /// The version has more than three numbers.
    #[error("a version has at most three numbers")]
    TooManyParts,
    /// A number is invalid or too large.
    #[error("\"{0}\" is not a version number")]
    Number(String),
    /// The text after `-` or `+` is malformed.
    #[error("\"{0}\" is not a valid prerelease identifier or build metadata")]
    Suffix(String),
    /// `required_version` contains a prerelease.
    #[error("prerelease versions cannot be required")]
    Prerelease,
}

fn parse_constraint(piece: &str, dialect: ConstraintDialect) -> Result<Constraint, ConstraintProblem> {
    if piece.is_empty() {
        return Err(ConstraintProblem::Missing);
    }
    let operator_end = piece
        .find(|character: char| character.is_alphanumeric() || character.is_whitespace() || character == '*')
        .unwrap_or(piece.len());
    let (operator, rest) = piece.split_at(operator_end);
    let version_text = rest.trim_start();
    let spaces = rest.len() - version_text.len();
    if dialect == ConstraintDialect::Provider && spaces > 1 {
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
        "" | "=" => ConstraintOperator::Equal,
        "!=" => ConstraintOperator::NotEqual,
        ">" => ConstraintOperator::Greater,
        ">=" => ConstraintOperator::GreaterOrEqual,
        "<" => ConstraintOperator::Less,
        "<=" => ConstraintOperator::LessOrEqual,
        "~>" => ConstraintOperator::PessimisticPatch,
        "=>" => return Err(mistyped(operator, ">=")),
        "=<" => return Err(mistyped(operator, "<=")),
        "==" => return Err(mistyped(operator, "=")),
        "^" | "~" | ">~" => return Err(mistyped(operator, "~>")),
        "<>" | "!" => return Err(mistyped(operator, "!=")),
        other => return Err(ConstraintProblem::Operator(other.to_owned())),
    };
    let (version, part_count) = parse_partial_version(version_text, dialect)?;
    let operator = match (comparison, part_count, dialect) {
        (ConstraintOperator::PessimisticPatch, 1, ConstraintDialect::Tool | ConstraintDialect::Module) => {
            ConstraintOperator::PessimisticOpen
        }
        (ConstraintOperator::PessimisticPatch, 1 | 2, _) => ConstraintOperator::PessimisticMinor,
        (other, _, _) => other,
    };
    Ok(Constraint { version, operator })
}

fn mistyped(operator: &str, meant: &'static str) -> ConstraintProblem {
    ConstraintProblem::MistypedOperator { operator: operator.to_owned(), meant }
}

/// Parses a version with one to three numbers. Also returns their count.
fn parse_partial_version(
    text: &str,
    dialect: ConstraintDialect,
) -> Result<(Version, usize), ConstraintProblem> {
    let text = match (text.strip_prefix(['v', 'V']), dialect) {
        (Some(_), ConstraintDialect::Provider) => return Err(ConstraintProblem::LeadingV),
        (Some(rest), ConstraintDialect::Tool | ConstraintDialect::Module) => rest,
        (None, _) => text,
    };
    let (text, build) = split_suffix(text, '+');
    let (numbers, prerelease) = split_suffix(text, '-');
    let bad_suffix = |suffix: &str| ConstraintProblem::Suffix(suffix.to_owned());
    let pre = Prerelease::new(prerelease.unwrap_or_default())
        .map_err(|_| bad_suffix(prerelease.unwrap_or_default()))?;
    let build =
        BuildMetadata::new(build.unwrap_or_default()).map_err(|_| bad_suffix(build.unwrap_or_default()))?;
    if dialect == ConstraintDialect::Tool && prerelease.is_some() {
        return Err(ConstraintProblem::Prerelease);
    }

    let mut parts: Vec<&str> = numbers.split('.').collect();
    // Terraform reads `1.` as `1`, and existing files contain such versions.
    if dialect == ConstraintDialect::Provider && parts.len() > 1 && parts.last() == Some(&"") {
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
            None if dialect != ConstraintDialect::Provider && value == 0 => {}
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
mod tests;
