//! Findings about a plan: the results of checks, warnings of the run, and the accesses of plugins.

use std::sync::Arc;

use crate::configuration::SourcePosition;

/// A condition that failed, or that could not be evaluated because of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewFinding {
    pub subject: FindingSubject,
    /// The address of the object with the condition.
    pub address: Arc<str>,
    /// Whether the condition could not be evaluated.
    pub is_error: bool,
    pub messages: Vec<Arc<str>>,
}

impl ReviewFinding {
    /// Returns the result in words: `Check failed`.
    pub fn title(&self) -> &'static str {
        match (self.subject, self.is_error) {
            (FindingSubject::Check, false) => "Check failed",
            (FindingSubject::Check, true) => "Check could not be evaluated",
            (FindingSubject::Resource, false) => "Condition of a resource failed",
            (FindingSubject::Resource, true) => "Condition of a resource could not be evaluated",
            (FindingSubject::Output, false) => "Condition of an output failed",
            (FindingSubject::Output, true) => "Condition of an output could not be evaluated",
            (FindingSubject::Variable, false) => "Validation of a variable failed",
            (FindingSubject::Variable, true) => "Validation of a variable could not be evaluated",
        }
    }
}

/// The object to which a condition belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingSubject {
    /// A `check` block.
    Check,
    /// A precondition or a postcondition of a resource.
    Resource,
    /// A precondition of an output.
    Output,
    /// A validation of a variable.
    Variable,
}

impl FindingSubject {
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "resource" => Self::Resource,
            "output_value" => Self::Output,
            "var" => Self::Variable,
            _ => Self::Check,
        }
    }
}

/// The numbers of checked objects by their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    pub passed: usize,
    pub failed: usize,
    /// Objects with a condition that could not be evaluated.
    pub errors: usize,
    /// Objects with conditions that are evaluated during the apply.
    pub unknown: usize,
}

impl CheckCounts {
    pub fn total(&self) -> usize {
        self.passed + self.failed + self.errors + self.unknown
    }

    /// Returns the numbers that are not zero, each with its words, such as ` passed`.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let parts = [
            (self.passed, " passed"),
            (self.failed, " failed"),
            (self.errors, " could not be evaluated"),
            (self.unknown, " evaluated during the apply"),
        ];
        parts.into_iter().filter(|(count, _)| *count > 0)
    }
}

/// A warning of the run that created the plan, for example about a native plugin that is not confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewWarning {
    pub summary: Arc<str>,
    pub detail: Arc<str>,
    pub source: Option<SourcePosition>,
}

/// Accesses of a plugin with the same target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PluginAccess {
    /// Whether policy denied the accesses.
    pub is_denied: bool,
    pub plugin: Arc<str>,
    /// The capability, such as `network`.
    pub capability: Arc<str>,
    /// The host, path, variable or program.
    pub target: Arc<str>,
    pub count: u64,
    /// The reason for the first denial.
    pub reason: Option<Arc<str>>,
    /// The policy line that determined the first decision: `wardian.policy.hcl:3`.
    pub rule: Option<Arc<str>>,
    /// The first objects for which the accesses were made.
    pub objects: Box<[Arc<str>]>,
}
