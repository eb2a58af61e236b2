//! The denial of an access, with the rule that would allow the access.

/// A denied access.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// The access and the reason for its denial, as a sentence without a period.
    pub reason: String,
    /// A rule that would allow the access, if such a rule can be written.
    pub rule_to_add: Option<String>,
}

impl Denied {
    /// Creates a denial of an access that no rule can allow.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), rule_to_add: None }
    }
}
