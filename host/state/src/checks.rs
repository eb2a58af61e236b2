//! The stored results of conditions.

use wardian_value::Str;

/// The most recent results of all conditions of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// The kind of the block.
    pub kind: CheckKind,
    /// The address of the block: `module.m.aws_x.y`, `check.c`, `output.o`, `var.v`.
    pub config_address: Str,
    /// The combined status of all objects.
    pub status: CheckStatus,
    /// The results of the individual objects; `None` if they are unknown.
    pub objects: Option<Vec<CheckObject>>,
}

/// The most recent results of the conditions of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckObject {
    pub address: Str,
    pub status: CheckStatus,
    /// The error messages of the conditions that were false.
    pub failure_messages: Vec<String>,
}

/// The kind of a block with conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckKind {
    /// `resource`, `data` or `ephemeral`.
    Resource,
    Output,
    Check,
    Variable,
}

/// The status of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckStatus {
    /// All conditions are true.
    Pass,
    /// A condition is false.
    Fail,
    /// A condition could not be evaluated.
    Error,
    /// The result is not known yet.
    Unknown,
}

impl CheckKind {
    /// Returns the name used in the state file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Output => "output",
            Self::Check => "check",
            Self::Variable => "var",
        }
    }

    /// Parses the name used in the state file; `None` for an unknown kind.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Resource, Self::Output, Self::Check, Self::Variable]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

impl CheckStatus {
    /// Returns the name used in the state file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }

    /// Parses the name used in the state file; `None` for an unknown status.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Pass, Self::Fail, Self::Error, Self::Unknown]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}
