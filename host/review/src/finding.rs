//! Findings about a plan: failed checks, and the accesses of plugins.

use std::sync::Arc;

/// A condition that failed, or that could not be evaluated because of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewFinding {
    /// The address of the object with the condition.
    pub address: Arc<str>,
    /// Whether the condition could not be evaluated.
    pub is_error: bool,
    pub messages: Vec<Arc<str>>,
}

/// Accesses of a plugin with the same target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PluginAccess {
    /// Whether policy denied the accesses.
    pub is_denied: bool,
    pub plugin: Arc<str>,
    /// The capability, such as `http`.
    pub capability: Arc<str>,
    /// The host, path, variable or program.
    pub target: Arc<str>,
    pub count: u64,
}
