//! The message of a crash. Its reason can quote text from outside of this program.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;

use wardian_printable::{PrintableText, append_line, printable};

/// Makes all later panics print their message as printable text.
pub(crate) fn print_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut text = message(panic);
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text.append_lines(&backtrace.to_string());
        }
        // Nobody is left to get an error.
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
