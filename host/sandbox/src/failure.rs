//! How a call fails in the plugin's or the sandbox's own way, and how that is
//! told: as an error diagnostic that names plugin, call and resource, with the
//! whole chain of causes.

use std::time::Duration;

use wardian_plugin::{FunctionError, PluginCall, PluginDiagnostic, PluginDiagnostics};
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::computation::OutOfTime;
use crate::error::chain;
use crate::limits::{Bound, Refusal, WroteTooMuch};

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The guest's code came to an end that it should not have.
    Trapped(Trapped),
    /// The guest waited, or made the host wait, for too long.
    TimedOut(Bound<Duration>),
    /// The guest computed for too long.
    OutOfTime(OutOfTime),
    /// The answer, or what the guest handed to the host, was too large.
    TooMuchData(usize),
    /// The guest wrote more to files than a policy allows.
    WroteTooMuch(WroteTooMuch),
    /// The guest ended itself.
    Exited(i32),
    /// The answer does not mean anything.
    BadAnswer(String),
    /// The request could not be written down.
    BadRequest(String),
    /// No instance could be made.
    NotStarted(String),
    /// A further instance refused the configuration that the first one took.
    NotConfigured(PluginDiagnostics),
    /// The provider was closed before.
    Closed,
}

/// A trap with all that is known about it.
#[derive(Debug)]
pub(crate) struct Trapped {
    pub(crate) causes: String,
    /// The guest's functions, innermost first, as far as they have names.
    pub(crate) functions: Vec<String>,
    /// The end of the guest's standard error.
    pub(crate) last_words: Option<String>,
    pub(crate) refusal: Option<Refusal>,
}

/// How many functions of a backtrace are shown.
const SHOWN_FUNCTIONS: usize = 12;

impl Failure {
    /// What an error of wasmtime's, out of a guest, stands for.
    pub(crate) fn of_guest(
        error: &wasmtime::Error,
        last_words: Option<String>,
        refusal: Option<Refusal>,
        answer_limit: usize,
    ) -> Self {
        if let Some(out_of_time) = error.downcast_ref::<OutOfTime>() {
            return Self::OutOfTime(out_of_time.clone());
        }
        if let Some(too_much) = error.downcast_ref::<WroteTooMuch>() {
            return Self::WroteTooMuch(too_much.clone());
        }
        if let Some(exit) = error.downcast_ref::<I32Exit>() {
            return Self::Exited(exit.0);
        }
        let (functions, causes) = match error.downcast_ref::<WasmBacktrace>() {
            Some(backtrace) => (functions(backtrace), causes_without(backtrace, error)),
            None => (Vec::new(), chain(error)),
        };
        // The error's type is private to wasmtime.
        if causes.contains("fuel allocated for hostcalls has been exhausted") {
            return Self::TooMuchData(answer_limit);
        }
        let causes = match error.downcast_ref::<Trap>() {
            Some(Trap::UnreachableCodeReached) if last_words.is_some() => "it panicked".into(),
            _ => causes,
        };
        Self::Trapped(Trapped { causes, functions, last_words, refusal })
    }

    /// For the person.
    pub(crate) fn into_diagnostics(self, call: &PluginCall) -> PluginDiagnostics {
        if let Self::NotConfigured(diagnostics) = self {
            return diagnostics;
        }
        let (summary, detail) = self.describe(call);
        vec![PluginDiagnostic::error(summary, detail)]
    }

    pub(crate) fn into_function_error(self, call: &PluginCall) -> FunctionError {
        let (summary, detail) = self.describe(call);
        FunctionError { text: format!("{summary}: {detail}"), argument: None }
    }

    fn describe(self, call: &PluginCall) -> (&'static str, String) {
        match self {
            Self::Trapped(trapped) => ("Plugin crashed", trapped.describe(call)),
            Self::TimedOut(limit) => (
                "Plugin timed out",
                format!(
                    "{call}: no answer came within {}{}. The instance was ended.",
                    seconds(limit.value),
                    limit.origin()
                ),
            ),
            Self::OutOfTime(OutOfTime(limit)) => (
                "Plugin timed out",
                format!(
                    "{call}: it computed for longer than {}{}. The instance was ended.",
                    seconds(limit.value),
                    limit.origin()
                ),
            ),
            Self::TooMuchData(limit) => (
                "Plugin answered too much",
                format!("{call}: it handed over more than {limit} bytes, which is its limit."),
            ),
            Self::WroteTooMuch(too_much) => {
                ("Plugin wrote too much", format!("{call}: {too_much}. The instance was ended."))
            }
            Self::Exited(status) => (
                "Plugin crashed",
                format!("{call}: it ended itself with exit status {status} instead of answering."),
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
            Self::NotStarted(reason) => ("Plugin could not be started", format!("{call}: {reason}")),
            Self::NotConfigured(diagnostics) => (
                "Plugin could not be configured",
                format!(
                    "{call}: {}",
                    diagnostics.iter().map(|d| d.summary.as_str()).collect::<Vec<_>>().join("; ")
                ),
            ),
            Self::Closed => ("Plugin was closed", format!("{call}: the call came after the plugin's end.")),
        }
    }
}

impl Trapped {
    fn describe(self, call: &PluginCall) -> String {
        let mut text = format!("{call}: {}.", self.causes.trim_end_matches('.'));
        if let Some(refusal) = self.refusal {
            text += "\n\nBefore that, ";
            text += &refusal.to_string();
            text.push('.');
        }
        if let Some(words) = self.last_words {
            text += "\n\nWhat it said last:";
            // A backtrace of the guest's own is not to be had by a variable here.
            for line in words.lines().filter(|line| !line.starts_with("note: run with `RUST_BACKTRACE")) {
                text += "\n  ";
                text += line;
            }
        }
        if !self.functions.is_empty() {
            text += "\n\nWhere it was, innermost first:";
            for function in &self.functions {
                text += "\n  ";
                text += function;
            }
        }
        text
    }
}

/// Functions without names (of a stripped plugin) say nothing to anybody.
fn functions(backtrace: &WasmBacktrace) -> Vec<String> {
    backtrace
        .frames()
        .iter()
        .filter_map(|frame| frame.func_name())
        .take(SHOWN_FUNCTIONS)
        .map(crate::output::printable)
        .collect()
}

/// The chain without the link that is the rendered backtrace.
fn causes_without(backtrace: &WasmBacktrace, error: &wasmtime::Error) -> String {
    let rendered = backtrace.to_string();
    let rendered = rendered.trim();
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let cause = cause.trim();
        if cause.is_empty() || cause == rendered || text.contains(cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(cause);
    }
    crate::output::printable(&text)
}

fn seconds(limit: Duration) -> String {
    if limit.subsec_millis() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{:.1} s", limit.as_secs_f64())
    }
}
