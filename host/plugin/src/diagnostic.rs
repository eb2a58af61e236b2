//! Diagnostics that a plugin returns, or that the host creates on behalf of a plugin.

use wardian_value::Path;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The call failed.
    Error,
    /// The call succeeded.
    Warning,
}

/// A diagnostic about a call, from a plugin or from the host on behalf of the plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginDiagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The summary, on one line.
    pub summary: String,
    /// The body, which may be empty.
    pub detail: String,
    /// The attribute of the configuration that caused the diagnostic.
    pub attribute: Option<Path>,
}

impl PluginDiagnostic {
    /// Returns an error about the object as a whole.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Error, summary: summary.into(), detail: detail.into(), attribute: None }
    }

    /// Creates a warning about the call as a whole.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(summary, detail) }
    }

    /// Whether the severity is [`Severity::Error`].
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The diagnostics of one call.
pub type PluginDiagnostics = Vec<PluginDiagnostic>;

/// Returns whether the call failed.
pub fn has_errors(diagnostics: &[PluginDiagnostic]) -> bool {
    diagnostics.iter().any(PluginDiagnostic::is_error)
}
