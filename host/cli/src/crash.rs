//! Prints the message of a crash as printable text, because it can contain text from outside of
//! Wardian.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;

use wardian_printable::{PrintableText, append_line, printable};

/// Sets a panic hook that prints messages as printable text.
pub(crate) fn print_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut text = message(panic);
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text.append_lines(&backtrace.to_string());
        }
        // If printing fails, the error cannot be reported.
        let _ = io::stderr().lock().write_all(text.as_str().as_bytes());
    }));
}

fn message(panic: &PanicHookInfo<'_>) -> PrintableText {
    let reason = panic.payload_as_str().unwrap_or("no reason is known");
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let mut text = match panic.location() {
        Some(place) => printable!("thread '{name}' panicked at {place}:\n"),
        None => printable!("thread '{name}' panicked:\n"),
    };
    append_line!(text, "{reason}");
    text
}
