//! The results of conditions, as they are stored.

use wardian_value::Str;

/// What was last found of all conditions of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// What the block declares.
    pub kind: CheckKind,
    /// Its address: `module.m.aws_x.y`, `check.c`, `output.o`, `var.v`.
    pub config_address: Str,
    /// Of all objects together.
    pub status: CheckStatus,
    /// Of each object; `None` where they are not known.
    pub objects: Option<Vec<CheckObject>>,
}

/// What was last found of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckObject {
    /// Its address.
    pub address: Str,
    /// What was found.
    pub status: CheckStatus,
    /// The messages of the conditions that do not hold.
    pub failure_messages: Vec<String>,
}

/// What a block with conditions declares.
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

/// Whether conditions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckStatus {
    /// They do.
    Pass,
    /// They do not.
    Fail,
    /// They could not be evaluated.
    Error,
    /// Not known yet.
    Unknown,
}

impl CheckKind {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Output => "output",
            Self::Check => "check",
            Self::Variable => "var",
        }
    }

    /// From what is stored; `None` where there is no such thing.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Resource, Self::Output, Self::Check, Self::Variable]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

impl CheckStatus {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }

    /// From what is stored; `None` where there is no such thing.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Pass, Self::Fail, Self::Error, Self::Unknown]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}
