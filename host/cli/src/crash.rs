//! Crashes: panics, and errors that only a bug in Wardian can cause.
//!
//! The first crash of the process writes a report to a file. A crash in one operation does not end
//! the process. This lets an apply save the state; the process then exits with
//! [`Status::Crashed`](crate::failure::Status). The file contains no values of the configuration,
//! the state or options.

mod recorder;
mod report;

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::PathBuf;
use std::sync::OnceLock;

use wardian_diagnostic::{Diagnostic, DiagnosticOrigin};
use wardian_printable::{PrintableText, append_line, printable};

pub(crate) use recorder::{layer, start};
use report::Report;

use crate::arguments::without_values;
use crate::shell::screen;

/// The file with the report of this process's first crash, or the reason why there is none.
static REPORTED: OnceLock<Result<PathBuf, String>> = OnceLock::new();

/// The arguments of the process.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets a panic hook that restores the terminal, and prints messages as printable text, because they can contain text from
/// outside of Wardian.
pub(crate) fn print_panics() {
    std::panic::set_hook(Box::new(|panic| {
        screen::restore();
        let mut text = message(panic);
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text.append_lines(&backtrace.to_string());
        }
        // If printing fails, the error cannot be reported.
        let _ = io::stderr().lock().write_all(text.as_str().as_bytes());
    }));
}

/// Extends the panic hook: the first panic of the process writes the report, which names the
/// command and the options in `arguments`.
pub(crate) fn report_panics(arguments: Vec<OsString>) {
    let _ = ARGUMENTS.set(arguments);
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        write(&description(panic), &Backtrace::force_capture().to_string());
    }));
}

/// Reports an error that only a bug in Wardian can cause. Other errors are ignored.
pub(crate) fn report_bug(diagnostic: &Diagnostic) {
    if diagnostic.origin == DiagnosticOrigin::Bug {
        write(&format!("error: {}", diagnostic.summary), "");
    }
}

/// Runs a function. Returns its result, or `None` if it panics.
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_: Box<dyn Any + Send>| ()).ok()
}

/// Returns the error that describes this process's crash; `None` if nothing crashed.
pub(crate) fn error() -> Option<Diagnostic> {
    let detail = match REPORTED.get()? {
        Ok(path) => format!(
            "This is a bug in Wardian. The file {} describes the crash; it contains no values of the \
             configuration, the state or the command line. Report the bug to the project with this file.",
            path.display()
        ),
        Err(problem) => format!(
            "This is a bug in Wardian. Report it to the project with the message above. A report could not be \
             written: {problem}."
        ),
    };
    Some(Diagnostic::error("Wardian crashed", detail))
}

fn write(what: &str, backtrace: &str) {
    let command = ARGUMENTS.get().map_or(String::new(), |arguments| without_values(arguments));
    REPORTED.get_or_init(|| Report::new(&command, what, backtrace).write());
}

fn message(panic: &PanicHookInfo<'_>) -> PrintableText {
    let reason = panic.payload_as_str().unwrap_or("the panic has no message");
    let mut text = printable!("{}:\n", position(panic));
    append_line!(text, "{reason}");
    text
}

fn position(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    match panic.location() {
        Some(place) => format!("thread '{name}' panicked at {place}"),
        None => format!("thread '{name}' panicked"),
    }
}

/// Returns the position of a panic, and its reason if it is a constant: a formatted reason can
/// contain values.
fn description(panic: &PanicHookInfo<'_>) -> String {
    let reason = panic.payload().downcast_ref::<&'static str>();
    let reason = reason.copied().unwrap_or("the reason is not stored, because it may contain values");
    format!("{}: {reason}", position(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_is_caught() {
        assert_eq!(catch(|| 1), Some(1));
        assert_eq!(catch(|| -> u8 { panic!("a test") }), None);
    }

    #[test]
    fn ordinary_error_is_not_reported_as_a_bug() {
        report_bug(&Diagnostic::error("a", "b"));
        assert!(error().is_none());
    }
}
