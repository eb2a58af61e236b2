//! Converts between the records of the WIT interface and the types of the plugin protocol.

use wardian_plugin::{PluginDiagnostic, PluginDiagnostics, printable};
use wardian_sdk::bindings::wardian::plugin::types as wit;

wardian_plugin::wit_conversions! {
    types: wardian_sdk::bindings::wardian::plugin::types,
    provider: wardian_sdk::bindings::exports::wardian::plugin::provider,
    diagnostics: diagnostics,
}

pub(super) fn diagnostics(reported: Vec<wit::Diagnostic>) -> PluginDiagnostics {
    reported
        .into_iter()
        .map(|diagnostic| PluginDiagnostic {
            severity: severity(diagnostic.severity),
            summary: printable(&diagnostic.summary),
            detail: printable(&diagnostic.detail),
            attribute: diagnostic.attribute.map(path),
        })
        .collect()
}
