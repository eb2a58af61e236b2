//! Failures of calls that are the bridge's own: a process that ended, a lost connection, a
//! timeout, and the gRPC statuses that plugins answer with.

use std::time::Duration;

use tonic::Code;
use wardian_plugin::printable;
use wardian_plugin::transport::{PluginFailure, format_seconds};

/// What happened to the process of a plugin that did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aftermath {
    /// The bridge ended it.
    Ended,
    /// The bridge did not start it, and left it alone.
    LeftAlone,
}

/// A process that is gone.
pub(crate) struct EndedProcess {
    /// How it ended: `exit status: 2`.
    pub(crate) status: String,
    /// The end of its standard error, without log lines.
    pub(crate) last_output: Option<String>,
    /// Why the bridge ended it, if it did.
    pub(crate) reason: Option<String>,
}

impl From<EndedProcess> for PluginFailure {
    fn from(process: EndedProcess) -> Self {
        if let Some(reason) = process.reason {
            return Self::transport("Plugin was ended", format!("its process was ended, since {reason}."));
        }
        let mut problem = format!("its process ended ({}) instead of answering.", process.status);
        if let Some(output) = &process.last_output {
            problem.push_str("\n\nIt said:\n");
            problem.push_str(output);
        }
        problem.push_str("\n\nThis is a bug in the plugin, which should be reported to its author.");
        Self::transport("Plugin crashed", problem)
    }
}

/// The connection is gone and the process is not.
pub(crate) fn lost_connection(reason: &str, aftermath: Aftermath) -> PluginFailure {
    let then = match aftermath {
        Aftermath::Ended => "Its process was still there and was ended.",
        Aftermath::LeftAlone => "Somebody else started its process; look there for the reason.",
    };
    PluginFailure::transport("Plugin did not respond", format!("{reason}. {then}"))
}

/// No response came in time.
pub(crate) fn timed_out(limit: Duration, aftermath: Aftermath) -> PluginFailure {
    let then = match aftermath {
        Aftermath::Ended => "Its process was ended.",
        Aftermath::LeftAlone => "Somebody else started its process, which was left alone.",
    };
    let limit = format_seconds(limit);
    PluginFailure::transport("Plugin timed out", format!("no answer came within {limit}. {then}"))
}

/// The response was larger than this number of bytes.
pub(crate) fn too_much_data(limit: usize) -> PluginFailure {
    let problem = format!("its answer is larger than {limit} bytes, which is the limit.");
    PluginFailure::transport("Plugin answered too much", problem)
}

/// The plugin responded with a gRPC status that is an error.
pub(crate) fn error_status(code: Code, message: &str) -> PluginFailure {
    let quoted = quote(message);
    match code {
        Code::Unimplemented => PluginFailure::Unsupported(format!(
            "the plugin does not have this call{quoted}. A newer version of it may."
        )),
        Code::Cancelled => {
            PluginFailure::transport("Call was cancelled", format!("the plugin gave up the call{quoted}."))
        }
        code => PluginFailure::transport(
            "Plugin failed",
            format!("instead of an answer it gave the error {code:?}{quoted}."),
        ),
    }
}

fn quote(message: &str) -> String {
    let message = printable(message.trim());
    let message = message.trim_end_matches('.');
    if message.is_empty() { String::new() } else { format!(": {message}") }
}
