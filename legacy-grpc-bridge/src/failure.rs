//! Converts call failures that originate in the bridge to diagnostics: terminated processes, lost
//! connections, timeouts, and the gRPC statuses that plugins return.

use std::time::Duration;

use tonic::Code;
use wardian_plugin::printable;
use wardian_plugin::transport::{PluginFailure, format_seconds};

/// The state of a plugin's process after a call without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aftermath {
    /// The bridge terminated the process.
    Ended,
    /// The bridge did not start the process, and did not terminate it.
    LeftAlone,
}

/// A terminated process.
pub(crate) struct EndedProcess {
    /// The exit status of the process: `exit status: 2`.
    pub(crate) status: String,
    /// The end of the process's standard error, without log lines.
    pub(crate) last_output: Option<String>,
    /// The reason why the bridge terminated the process, if it did.
    pub(crate) reason: Option<String>,
}

impl From<EndedProcess> for PluginFailure {
    fn from(process: EndedProcess) -> Self {
        if let Some(reason) = process.reason {
            return Self::transport("Plugin was ended", format!("its process was killed, since {reason}."));
        }
        let mut problem = format!("its process terminated ({}) instead of responding.", process.status);
        if let Some(output) = &process.last_output {
            problem.push_str("\n\nIts output:\n");
            problem.push_str(output);
        }
        problem.push_str("\n\nThis is a bug in the plugin, which should be reported to its author.");
        Self::transport("Plugin crashed", problem)
    }
}

/// Returns the failure for a connection that was closed although the process is still running.
pub(crate) fn lost_connection(reason: &str, aftermath: Aftermath) -> PluginFailure {
    let then = match aftermath {
        Aftermath::Ended => "Its process was still running and was killed.",
        Aftermath::LeftAlone => {
            "Its process was not started by Wardian; look for the reason in its own \
            output."
        }
    };
    PluginFailure::transport("Plugin did not respond", format!("{reason}. {then}"))
}

/// Returns the failure for a call without a response within the time limit.
pub(crate) fn timed_out(limit: Duration, aftermath: Aftermath) -> PluginFailure {
    let then = match aftermath {
        Aftermath::Ended => "Its process was killed.",
        Aftermath::LeftAlone => "Its process was not started by Wardian and was left running.",
    };
    let limit = format_seconds(limit);
    PluginFailure::transport("Plugin timed out", format!("it did not respond within {limit}. {then}"))
}

/// Returns the failure for a response that was larger than this number of bytes.
pub(crate) fn too_much_data(limit: usize) -> PluginFailure {
    let problem = format!("its response is larger than the limit of {limit} bytes.");
    PluginFailure::transport("Plugin response is too large", problem)
}

/// Returns the failure for a gRPC status that is an error.
pub(crate) fn error_status(code: Code, message: &str) -> PluginFailure {
    let quoted = quote(message);
    match code {
        Code::Unimplemented => PluginFailure::Unsupported(format!(
            "the plugin does not implement this call{quoted}. A newer version may implement it."
        )),
        Code::Cancelled => {
            PluginFailure::transport("Call was cancelled", format!("the plugin abandoned the call{quoted}."))
        }
        code => PluginFailure::transport(
            "Plugin failed",
            format!("instead of a response it returned the error {code:?}{quoted}."),
        ),
    }
}

fn quote(message: &str) -> String {
    let message = printable(message.trim());
    let message = message.trim_end_matches('.');
    if message.is_empty() { String::new() } else { format!(": {message}") }
}
