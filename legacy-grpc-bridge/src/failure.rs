//! How a call fails in the plugin's or the bridge's own way, and how that is told:
//! as an error diagnostic that names plugin, call and resource.

use std::sync::Arc;
use std::time::Duration;

use tonic::Code;
use wardian_plugin::{FunctionError, PluginCall, PluginDiagnostic, PluginDiagnostics, printable};

use crate::launch::LaunchError;

/// Why a call has no answer.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The process is gone.
    Ended(Ended),
    /// The connection is gone and the process is not.
    Lost(String, Aftermath),
    /// No answer came in time.
    TimedOut(Duration, Aftermath),
    /// The plugin answered that it cannot answer.
    Refused { code: Code, message: String },
    /// The answer was too large.
    TooMuchData(usize),
    /// The answer does not mean anything.
    BadAnswer(String),
    /// The request could not be written down.
    BadRequest(String),
    /// The process could not be started.
    NotStarted(Arc<LaunchError>),
    /// The provider was closed before.
    Closed,
}

/// What became of a process that did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aftermath {
    /// We ended it.
    Ended,
    /// It is not ours to end.
    LeftAlone,
}

/// A process that is gone.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// `exit status: 2`
    pub(crate) how: String,
    /// What it said last that was no log line.
    pub(crate) last_words: Option<String>,
    /// Why we ended it, where we did.
    pub(crate) by_us: Option<String>,
}

impl Failure {
    /// For the person.
    pub(crate) fn into_diagnostics(self, call: &PluginCall) -> PluginDiagnostics {
        let (summary, detail) = self.describe(call);
        vec![PluginDiagnostic::error(summary, detail)]
    }

    pub(crate) fn into_function_error(self, call: &PluginCall) -> FunctionError {
        let (summary, detail) = self.describe(call);
        FunctionError { text: format!("{summary}: {detail}"), argument: None }
    }

    fn describe(self, call: &PluginCall) -> (&'static str, String) {
        match self {
            Self::Ended(ended) => match ended.by_us {
                Some(reason) => {
                    ("Plugin was ended", format!("{call}: its process was ended, since {reason}."))
                }
                None => ("Plugin crashed", ended.describe(call)),
            },
            Self::Lost(reason, aftermath) => {
                let then = match aftermath {
                    Aftermath::Ended => "Its process was still there and was ended.",
                    Aftermath::LeftAlone => "Somebody else started its process; look there for the reason.",
                };
                ("Plugin did not respond", format!("{call}: {reason}. {then}"))
            }
            Self::TimedOut(limit, aftermath) => {
                let then = match aftermath {
                    Aftermath::Ended => "Its process was ended.",
                    Aftermath::LeftAlone => "Somebody else started its process, which was left alone.",
                };
                ("Plugin timed out", format!("{call}: no answer came within {}. {then}", seconds(limit)))
            }
            Self::Refused { code: Code::Unimplemented, message } => (
                "Unsupported plugin call",
                format!(
                    "{call}: the plugin does not have this call{}. A newer version of it may.",
                    in_its_words(&message)
                ),
            ),
            Self::Refused { code: Code::Cancelled, message } => (
                "Call was cancelled",
                format!("{call}: the plugin gave up the call{}.", in_its_words(&message)),
            ),
            Self::Refused { code, message } => (
                "Plugin failed",
                format!("{call}: instead of an answer it gave the error {code:?}{}.", in_its_words(&message)),
            ),
            Self::TooMuchData(limit) => (
                "Plugin answered too much",
                format!("{call}: its answer is larger than {limit} bytes, which is the limit."),
            ),
            Self::BadAnswer(problem) => (
                "Plugin gave an invalid answer",
                format!(
                    "{call}: {problem}\n\nThis is a bug in the plugin, which should be reported to its author."
                ),
            ),
            Self::BadRequest(problem) => {
                ("Value cannot be handed to the plugin", format!("{call}: {problem}"))
            }
            Self::NotStarted(error) => ("Plugin could not be started", format!("{call}: {error}")),
            Self::Closed => ("Plugin was closed", format!("{call}: the call came after the plugin's end.")),
        }
    }
}

impl Ended {
    fn describe(&self, call: &PluginCall) -> String {
        let mut text = format!("{call}: its process ended ({}) instead of answering.", self.how);
        if let Some(words) = &self.last_words {
            text.push_str("\n\nIt said:\n");
            text.push_str(words);
        }
        text.push_str("\n\nThis is a bug in the plugin, which should be reported to its author.");
        text
    }
}

fn in_its_words(message: &str) -> String {
    let message = printable(message.trim());
    let message = message.trim_end_matches('.');
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

pub(crate) fn seconds(limit: Duration) -> String {
    if limit.subsec_millis() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{:.1} s", limit.as_secs_f64())
    }
}
