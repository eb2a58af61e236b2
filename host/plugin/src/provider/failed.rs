//! The responses to failed calls. They contain only diagnostics. Implementations of
//! [`Provider`](super::Provider) over a transport return them if the transport or the plugin
//! failed.

use super::{
    ApplyResponse, FunctionError, GenerateConfigResponse, ImportResponse, MoveResponse,
    OpenEphemeralResponse, PlanActionResponse, PlanResponse, PrivateBytes, ReadDataSourceResponse,
    ReadResourceResponse, RenewEphemeralResponse, UpgradeStateResponse,
};
use crate::diagnostic::{PluginDiagnostic, PluginDiagnostics};

impl From<PluginDiagnostics> for UpgradeStateResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self { upgraded: None, diagnostics }
    }
}

impl From<PluginDiagnostics> for ReadResourceResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self {
            new_state: None,
            private: PrivateBytes::default(),
            new_identity: None,
            deferred: None,
            diagnostics,
        }
    }
}

impl From<PluginDiagnostics> for PlanResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self {
            planned_state: None,
            requires_replace: Vec::new(),
            planned_private: PrivateBytes::default(),
            legacy_type_system: false,
            deferred: None,
            planned_identity: None,
            diagnostics,
        }
    }
}

impl From<PluginDiagnostics> for ApplyResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self {
            new_state: None,
            private: PrivateBytes::default(),
            legacy_type_system: false,
            new_identity: None,
            diagnostics,
        }
    }
}

impl From<PluginDiagnostics> for ImportResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self { imported: Vec::new(), deferred: None, diagnostics }
    }
}

impl From<PluginDiagnostics> for MoveResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self {
            target_state: None,
            target_private: PrivateBytes::default(),
            target_identity: None,
            diagnostics,
        }
    }
}

impl From<PluginDiagnostics> for GenerateConfigResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self { config: None, diagnostics }
    }
}

impl From<PluginDiagnostics> for ReadDataSourceResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self { state: None, deferred: None, diagnostics }
    }
}

impl From<PluginDiagnostics> for OpenEphemeralResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self { result: None, renew_at: None, private: PrivateBytes::default(), deferred: None, diagnostics }
    }
}

impl From<PluginDiagnostics> for RenewEphemeralResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self { renew_at: None, private: PrivateBytes::default(), diagnostics }
    }
}

impl From<PluginDiagnostics> for PlanActionResponse {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        Self { deferred: None, diagnostics }
    }
}

impl From<PluginDiagnostics> for FunctionError {
    fn from(diagnostics: PluginDiagnostics) -> Self {
        let one = |one: &PluginDiagnostic| format!("{}: {}", one.summary, one.detail);
        Self { text: diagnostics.iter().map(one).collect::<Vec<_>>().join("; "), argument: None }
    }
}
