//! Converts plugin diagnostics.

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{PluginDiagnostic, PluginDiagnostics, Severity};

/// Converts a plugin diagnostic that is not about an object.
pub fn from_plugin(diagnostic: &PluginDiagnostic) -> Diagnostic {
    let mut converted = match diagnostic.severity {
        Severity::Error => Diagnostic::error(&diagnostic.summary, &diagnostic.detail),
        Severity::Warning => Diagnostic::warning(&diagnostic.summary, &diagnostic.detail),
    };
    converted.attribute.clone_from(&diagnostic.attribute);
    converted
}

/// Converts a plugin's diagnostics about an object.
pub fn from_plugin_about(diagnostics: &PluginDiagnostics, address: &str) -> Diagnostics {
    diagnostics.iter().map(|diagnostic| from_plugin(diagnostic).for_address(address)).collect()
}
