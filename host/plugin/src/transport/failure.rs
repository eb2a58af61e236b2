//! Converts failed calls to diagnostics.

use std::time::Duration;

use crate::call_context::PluginCall;
use crate::diagnostic::{PluginDiagnostic, PluginDiagnostics};
use crate::provider::FunctionError;

/// The reason why a call failed. The diagnostics created from it identify the plugin, the call and
/// the resource.
#[derive(Clone, Debug)]
pub enum PluginFailure {
    /// The request could not be encoded.
    InvalidRequest(String),
    /// The response does not follow the protocol or the plugin's schema.
    InvalidResponse(String),
    /// The plugin could not be started.
    NotStarted(String),
    /// The plugin does not implement the call.
    Unsupported(String),
    /// The provider was closed before the call.
    Closed,
    /// The plugin was started again and rejected its configuration.
    NotConfigured(PluginDiagnostics),
    /// A failure that is specific to the transport.
    Transport {
        /// The summary of the diagnostic.
        summary: &'static str,
        /// The details, in full sentences. They follow the name of the call.
        problem: String,
    },
}

impl PluginFailure {
    /// Returns a failure of the transport.
    pub fn transport(summary: &'static str, problem: impl Into<String>) -> Self {
        Self::Transport { summary, problem: problem.into() }
    }

    /// Returns the diagnostics of a call that failed.
    pub fn into_diagnostics(self, call: &PluginCall) -> PluginDiagnostics {
        match self {
            Self::NotConfigured(diagnostics) => diagnostics,
            failure => {
                let (summary, problem) = failure.into_parts();
                vec![PluginDiagnostic::error(summary, format!("{call}: {problem}"))]
            }
        }
    }

    /// Returns the error of a function call that failed.
    pub fn into_function_error(self, call: &PluginCall) -> FunctionError {
        let (summary, problem) = self.into_parts();
        FunctionError { text: format!("{summary}: {call}: {problem}"), argument: None }
    }

    fn into_parts(self) -> (&'static str, String) {
        match self {
            Self::InvalidRequest(problem) => ("Value cannot be passed to the plugin", problem),
            Self::InvalidResponse(problem) => (
                "Plugin returned an invalid response",
                format!("{problem}\n\nThis is a bug in the plugin, which should be reported to its author."),
            ),
            Self::NotStarted(reason) => ("Plugin could not be started", reason),
            Self::Unsupported(problem) => ("Unsupported plugin call", problem),
            Self::Closed => ("Plugin was closed", "the plugin was closed before the call.".to_owned()),
            Self::NotConfigured(diagnostics) => {
                let summaries: Vec<&str> = diagnostics.iter().map(|one| one.summary.as_str()).collect();
                ("Plugin could not be configured", summaries.join("; "))
            }
            Self::Transport { summary, problem } => (summary, problem),
        }
    }
}

/// Returns the result, with a failure converted to diagnostics of the call.
///
/// # Errors
/// Returns an error if the result is an error.
pub fn or_diagnostics<T>(
    call: &PluginCall,
    result: Result<T, impl Into<PluginFailure>>,
) -> Result<T, PluginDiagnostics> {
    result.map_err(|failure| failure.into().into_diagnostics(call))
}

/// Returns a field of a response. If the field cannot be decoded, an error is reported and the
/// field is absent, but the other fields are still used. For example, the result of an apply must
/// not be lost because its identity is invalid.
pub fn decode_field<T>(
    call: &PluginCall,
    diagnostics: &mut PluginDiagnostics,
    field: Result<Option<T>, PluginFailure>,
) -> Option<T> {
    field.unwrap_or_else(|failure| {
        diagnostics.extend(failure.into_diagnostics(call));
        None
    })
}

/// Formats a duration for messages: `2 s`, `0.5 s`.
pub fn format_seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}
