//! A guest's output: log lines, standard output, standard error.
//!
//! All output is logged as tracing events with the target `wardian::plugin`, each with the call
//! that produced it. The end of standard error is also retained, because a guest that aborts
//! reports the reason there. Text is limited per call and shown without control characters: a guest
//! can neither fill the disk with log lines nor control a terminal. A line remains one line, and
//! therefore cannot imitate lines from another source. The call's sensitive values are redacted.

use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::bytes::Bytes;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{DynOutputStream, OutputStream, StreamResult};

pub(crate) use wardian_plugin::printable;
use wardian_plugin::{MAX_SENSITIVE_LENGTH, PluginCall, printable_line};

/// Maximum length of a line that is not split.
const MAX_LINE_LENGTH: usize = MAX_SENSITIVE_LENGTH + (8 << 10);
/// Number of bytes of standard error that are retained for the message about a trap.
const MAX_LAST_OUTPUT: usize = 8 << 10;
/// Maximum number of bytes in one write.
const MAX_WRITE_LENGTH: usize = 64 << 10;

/// Standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Error,
}

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// One instance's output. Clones share it.
#[derive(Clone)]
pub(crate) struct Output(Arc<Mutex<OutputState>>);

struct OutputState {
    call: PluginCall,
    budget: usize,
    left: usize,
    out: Vec<u8>,
    error: Vec<u8>,
    last_output: Vec<u8>,
}

impl Output {
    pub(crate) fn new(call: PluginCall, budget: usize) -> Self {
        Self(Arc::new(Mutex::new(OutputState {
            call,
            budget,
            left: budget,
            out: Vec::new(),
            error: Vec::new(),
            last_output: Vec::new(),
        })))
    }

    /// Begins a call, to which subsequent output belongs.
    pub(crate) fn begin(&self, call: PluginCall) {
        let mut spoken = self.lock();
        spoken.finish_lines();
        spoken.last_output.clear();
        spoken.left = spoken.budget;
        spoken.call = call;
    }

    /// Returns the call to which the output belongs.
    pub(crate) fn call(&self) -> PluginCall {
        self.lock().call.clone()
    }

    /// Ends the call and returns the end of its standard error, if any.
    pub(crate) fn last_output(&self) -> Option<String> {
        let mut spoken = self.lock();
        spoken.finish_lines();
        let reported = String::from_utf8_lossy(&spoken.last_output);
        let words =
            printable(spoken.call.sensitive_values().redact_end(reported.trim(), MAX_LAST_OUTPUT).trim());
        (!words.is_empty()).then_some(words)
    }

    /// Logs a line. It is charged to the budget before it is formatted.
    pub(crate) fn log(&self, severity: Severity, module: &str, message: String, fields: &[(String, String)]) {
        let lengths = fields.iter().map(|(name, value)| name.len() + value.len() + " =\"\"".len());
        let mut spoken = self.lock();
        if !spoken.afford(module.len() + message.len() + lengths.sum::<usize>()) {
            return;
        }
        let mut text = message;
        for (name, value) in fields {
            // Writing into a string cannot fail.
            let _ = write!(text, " {name}={:?}", spoken.call.sensitive_values().redact(value));
        }
        spoken.say(severity, module, &text);
    }

    pub(crate) fn stream(&self, stream: Stream) -> impl StdoutStream + use<> {
        GuestStream { output: self.clone(), stream }
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputState {
    fn afford(&mut self, length: usize) -> bool {
        match self.left.checked_sub(length) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                if self.left > 0 {
                    self.left = 0;
                    self.say(Severity::Warn, "", "additional output of this call is dropped");
                }
                false
            }
        }
    }

    fn feed(&mut self, stream: Stream, bytes: &[u8]) {
        // The end of a panic message must be retained, regardless of the output before it. Enough
        // text before the end is retained to recognize a secret that would otherwise be truncated.
        if stream == Stream::Error {
            self.last_output.extend_from_slice(bytes);
            let surplus = self.last_output.len().saturating_sub(MAX_SENSITIVE_LENGTH + MAX_LAST_OUTPUT);
            self.last_output.drain(..surplus);
        }
        if !self.afford(bytes.len()) {
            return;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = self.line(stream);
            line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.finish_line(stream);
            } else if line.len() > MAX_LINE_LENGTH {
                self.begin_line_anew(stream);
            }
        }
    }

    fn line(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Error => &mut self.error,
        }
    }

    fn finish_lines(&mut self) {
        self.finish_line(Stream::Out);
        self.finish_line(Stream::Error);
    }

    /// Logs a line that has become too long, except for its end if a secret could begin there.
    fn begin_line_anew(&mut self, stream: Stream) {
        let line = std::mem::take(self.line(stream));
        if !is_heard(Severity::Debug) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let (settled, rest) = text.split_at(self.call.sensitive_values().settled_length(&text));
        self.line(stream).extend_from_slice(rest.as_bytes());
        self.say_line(stream, settled);
    }

    fn finish_line(&mut self, stream: Stream) {
        let line = std::mem::take(self.line(stream));
        self.say_line(stream, &String::from_utf8_lossy(&line));
    }

    fn say_line(&self, stream: Stream, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            let module = match stream {
                Stream::Out => "stdout",
                Stream::Error => "stderr",
            };
            self.say(Severity::Debug, module, text);
        }
    }

    fn say(&self, severity: Severity, module: &str, message: &str) {
        if !is_heard(severity) {
            return;
        }
        let shown = |text: &str| printable_line(&self.call.sensitive_values().redact(text));
        let (module, message) = (shown(module), shown(message));
        macro_rules! event {
            ($level:expr) => {
                tracing::event!(
                    target: "wardian::plugin",
                    $level,
                    plugin = &*self.call.plugin,
                    call = self.call.function,
                    resource = self.call.resource(),
                    module,
                    "{message}"
                )
            };
        }
        match severity {
            Severity::Trace => event!(tracing::Level::TRACE),
            Severity::Debug => event!(tracing::Level::DEBUG),
            Severity::Info => event!(tracing::Level::INFO),
            Severity::Warn => event!(tracing::Level::WARN),
            Severity::Error => event!(tracing::Level::ERROR),
        }
    }
}

/// Whether lines of a severity are logged.
pub(crate) fn is_heard(severity: Severity) -> bool {
    macro_rules! enabled {
        ($level:expr) => {
            tracing::enabled!(target: "wardian::plugin", $level)
        };
    }
    match severity {
        Severity::Trace => enabled!(tracing::Level::TRACE),
        Severity::Debug => enabled!(tracing::Level::DEBUG),
        Severity::Info => enabled!(tracing::Level::INFO),
        Severity::Warn => enabled!(tracing::Level::WARN),
        Severity::Error => enabled!(tracing::Level::ERROR),
    }
}

/// Standard output or error of an instance.
struct GuestStream {
    output: Output,
    stream: Stream,
}

impl IsTerminal for GuestStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(Self { output: self.output.clone(), stream: self.stream })
    }

    fn p2_stream(&self) -> DynOutputStream {
        Box::new(Self { output: self.output.clone(), stream: self.stream })
    }
}

impl OutputStream for GuestStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.output.lock().feed(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE_LENGTH)
    }
}

#[async_trait]
impl Pollable for GuestStream {
    async fn ready(&mut self) {}
}

impl AsyncWrite for GuestStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.output.lock().feed(self.stream, bytes);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(
        self: Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(budget: usize) -> Output {
        Output::new(PluginCall::outside_of_calls(&Arc::from("acme/x")), budget)
    }

    fn feed(output: &Output, text: &str) {
        output.lock().feed(Stream::Error, text.as_bytes());
    }

    #[test]
    fn last_output_excludes_previous_calls() {
        let output = output(1_000);
        feed(&output, "of the call before\n");
        output.begin(PluginCall::outside_of_calls(&Arc::from("acme/x")));
        assert_eq!(output.last_output(), None);
        feed(&output, "panicked at ");
        feed(&output, "lib.rs:1\n\u{1b}[31mred\n");
        assert_eq!(output.last_output().as_deref(), Some("panicked at lib.rs:1\n\\u{1b}[31mred"));
    }

    #[test]
    fn fields_are_charged_by_raw_length() {
        let fields = [("name".to_owned(), "\n".repeat(80))];
        let log = |budget, fields: &[_]| {
            let output = output(budget);
            output.log(Severity::Warn, "m", "message".into(), fields);
            output.lock().left
        };
        assert_eq!(log(100, &[]), 92);
        assert_eq!(log(100, &fields), 4);
        assert_eq!(log(95, &fields), 0, "it is dropped with all that comes after");
    }

    #[test]
    fn last_output_is_retained_after_excessive_output() {
        let output = output(10);
        feed(&output, &"x".repeat(3 * MAX_LAST_OUTPUT));
        feed(&output, "the reason");
        let words = output.last_output().unwrap();
        assert!(words.ends_with("the reason"));
        assert!(words.len() <= MAX_LAST_OUTPUT);
        assert_eq!(output.lock().left, 0);
        assert!(output.lock().error.is_empty());
    }
}
