//! Stored results of conditions.

use wardian_value::Str;

/// The last result of all conditions of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// The kind of the block.
    pub kind: CheckKind,
    /// The address of the block: `module.m.aws_x.y`, `check.c`, `output.o`, `var.v`.
    pub config_address: Str,
    /// The combined result of all objects.
    pub status: CheckStatus,
    /// The results of the individual objects; `None` if they are unknown.
    pub objects: Option<Vec<CheckObject>>,
}

/// The last result of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckObject {
    pub address: Str,
    pub status: CheckStatus,
    /// The messages of the conditions that failed.
    pub failure_messages: Vec<String>,
}

/// The kind of a block with conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckKind {
    /// `resource`, `data` or `ephemeral`.
    Resource,
    /// `output`.
    Output,
    /// `check`.
    Check,
    /// `variable`.
    Variable,
}

/// Whether conditions are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckStatus {
    /// All conditions are met.
    Pass,
    /// A condition is not met.
    Fail,
    /// A condition could not be evaluated.
    Error,
    /// The result is not known yet.
    Unknown,
}

impl CheckKind {
    /// Returns the stored form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Output => "output",
            Self::Check => "check",
            Self::Variable => "var",
        }
    }

    /// Parses the stored form; `None` if it is not a kind.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Resource, Self::Output, Self::Check, Self::Variable]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

impl CheckStatus {
    /// Returns the stored form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }

    /// Parses the stored form; `None` if it is not a status.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Pass, Self::Fail, Self::Error, Self::Unknown]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}
