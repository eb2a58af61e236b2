//! Echoes the inputs of the plugin `fake` in all its outputs, to test redaction.

use std::sync::{Mutex, PoisonError};

use wardian_legacy_grpc_bridge::protocol::tfplugin as m;

/// Whether the plugin echoes its inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    Nothing,
    Inputs,
}

/// The readable part of the configuration.
static CONFIGURED: Mutex<String> = Mutex::new(String::new());

impl Repeats {
    /// Echoes the inputs of a call and the configuration.
    pub(crate) fn log_inputs(self, rpc: &str, request: &[u8]) {
        if self == Self::Nothing {
            return;
        }
        let readable = |byte: &u8| byte.is_ascii_graphic() && !b"\"\\".contains(byte);
        let input: String =
            request.iter().map(|byte| if readable(byte) { char::from(*byte) } else { ' ' }).collect();
        let mut configured = CONFIGURED.lock().unwrap_or_else(PoisonError::into_inner);
        if rpc.starts_with("Configure") {
            configured.clone_from(&input);
        }
        eprintln!("{rpc} received {input}; configuration: {configured}");
        let line = serde_json::json!({
            "@level": "info",
            "@message": format!("{rpc} request: {input}"),
            "@module": "provider",
            "before": *configured,
        });
        eprintln!("{line}");
    }

    /// Returns a warning that echoes an input.
    pub(crate) fn warnings(self, input: Option<String>) -> Vec<m::Diagnostic> {
        let input = input.filter(|_| self == Self::Inputs);
        let warning = |input| m::Diagnostic {
            severity: m::diagnostic::Severity::Warning.into(),
            summary: format!("Received {input}"),
            detail: format!("Input: {input}"),
            attribute: None,
        };
        input.map(warning).into_iter().collect()
    }
}
