//! Converts call failures that originate in the sandbox to diagnostics: traps with their chain of
//! causes, timeouts and exceeded limits.

use std::time::Duration;
use wardian_plugin::transport::{PluginFailure, format_seconds};

use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::cpu_budget::CpuTimeExceeded;
use crate::error_chain::chain;
use crate::limits::{Bound, Refusal, WroteTooMuch};
use crate::symbols::Symbols;

/// A trap with its details.
struct Trapped {
    causes: String,
    /// The guest's functions, innermost first, if they have names.
    functions: Vec<String>,
    /// The end of the guest's standard error.
    last_output: Option<String>,
    refusal: Option<Refusal>,
}

/// Maximum number of backtrace functions that a message contains.
const SHOWN_FUNCTIONS: usize = 12;

const CRASHED: &str = "Plugin crashed";

/// Converts a wasmtime error from a guest into a failure.
pub(crate) fn from_guest(
    error: &wasmtime::Error,
    last_output: Option<String>,
    refusal: Option<Refusal>,
    answer_limit: usize,
    symbols: Option<&Symbols>,
) -> PluginFailure {
    if let Some(CpuTimeExceeded(limit)) = error.downcast_ref::<CpuTimeExceeded>() {
        let (time, origin) = (format_seconds(limit.value), limit.origin());
        return PluginFailure::transport(
            "Plugin timed out",
            format!("it used more than {time} of CPU time{origin}. The instance was terminated."),
        );
    }
    if let Some(too_much) = error.downcast_ref::<WroteTooMuch>() {
        let problem = format!("{too_much}. The instance was terminated.");
        return PluginFailure::transport("Plugin wrote too much", problem);
    }
    if let Some(I32Exit(status)) = error.downcast_ref::<I32Exit>() {
        let problem = format!("it exited with status {status} instead of responding.");
        return PluginFailure::transport(CRASHED, problem);
    }
    let (functions, causes) = match error.downcast_ref::<WasmBacktrace>() {
        Some(backtrace) => {
            let frames = match symbols {
                Some(symbols) => symbols.frames(backtrace.frames()),
                None => functions(backtrace),
            };
            (frames, causes_without(backtrace, error))
        }
        None => (Vec::new(), chain(error)),
    };
    // The error's type is private to wasmtime, so its text is compared.
    if causes.contains("fuel allocated for hostcalls has been exhausted") {
        let problem = format!("it returned more than the limit of {answer_limit} bytes.");
        return PluginFailure::transport("Plugin response is too large", problem);
    }
    let causes = match error.downcast_ref::<Trap>() {
        Some(Trap::UnreachableCodeReached) if last_output.is_some() => "it panicked".into(),
        _ => causes,
    };
    let trapped = Trapped { causes, functions, last_output, refusal };
    PluginFailure::transport(CRASHED, trapped.describe())
}

/// Returns the failure of a call that took too long, in the guest or while it waited in the host.
pub(crate) fn timed_out(limit: &Bound<Duration>) -> PluginFailure {
    let (time, origin) = (format_seconds(limit.value), limit.origin());
    PluginFailure::transport(
        "Plugin timed out",
        format!("it did not respond within {time}{origin}. The instance was terminated."),
    )
}

impl Trapped {
    fn describe(self) -> String {
        let mut text = format!("{}.", self.causes.trim_end_matches('.'));
        if let Some(refusal) = self.refusal {
            text += "\n\nBefore that, ";
            text += &refusal.to_string();
            text.push('.');
        }
        if let Some(output) = self.last_output {
            text += "\n\nIts last output:";
            // The guest has no environment variable that enables a backtrace, so the hint is
            // useless.
            for line in output.lines().filter(|line| !line.starts_with("note: run with `RUST_BACKTRACE")) {
                text += "\n  ";
                text += line;
            }
        }
        if !self.functions.is_empty() {
            text += "\n\nGuest functions, innermost first:";
            for function in &self.functions {
                text += "\n  ";
                text += function;
            }
        }
        text
    }
}

/// Returns the names of the guest's functions. Functions without names are omitted, as in a
/// stripped plugin.
fn functions(backtrace: &WasmBacktrace) -> Vec<String> {
    backtrace
        .frames()
        .iter()
        .filter_map(|frame| frame.func_name())
        .take(SHOWN_FUNCTIONS)
        .map(crate::output::printable)
        .collect()
}

/// Returns the chain of causes without the rendered backtrace.
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
