//! What a plugin tells the person.

use wardian_value::Path;

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The call failed.
    Error,
    /// The call succeeded.
    Warning,
}

/// Something that a plugin, or the host in its place, has to say about a call.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginDiagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// One line.
    pub summary: String,
    /// The body, maybe empty.
    pub detail: String,
    /// The part of the configuration concerned.
    pub attribute: Option<Path>,
}

impl PluginDiagnostic {
    /// An error about the whole object.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Error, summary: summary.into(), detail: detail.into(), attribute: None }
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Diagnostics of one call.
pub type PluginDiagnostics = Vec<PluginDiagnostic>;

/// Whether the call failed.
pub fn has_errors(diagnostics: &[PluginDiagnostic]) -> bool {
    diagnostics.iter().any(PluginDiagnostic::is_error)
}
