//! Processes a plugin's standard error: log lines, and crash output.
//!
//! A log line is a JSON object in hclog's format. It is logged as a tracing event with the target
//! `wardian::plugin`, like the log lines of components. The bridge cannot add the call and the
//! resource type, since one process serves concurrent calls; only the plugin itself can add them.
//! Any other line is logged at the level that it begins with in brackets, or at debug; lines of a
//! Go panic are logged at error. Sensitive values that the process recently received are redacted
//! in all lines.
//!
//! The stream is always read to its end, in bounded memory, even if it is not logged.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt};
use wardian_plugin::{RecentSensitiveValues, printable, printable_line};

/// Maximum length of a line that is not split.
const MAX_LINE_LENGTH: usize = 64 << 10;
/// Number of bytes that are retained for the message about a crash.
const MAX_CRASH_OUTPUT: usize = 8 << 10;

/// The level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// The output of a process without log lines. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct CrashOutput(Arc<Mutex<OutputState>>);

#[derive(Default)]
struct OutputState {
    /// The beginning of a panic: its message, and the top of its stack.
    panic: Option<String>,
    /// The last lines, if no panic occurred.
    tail: VecDeque<String>,
    tail_length: usize,
}

impl CrashOutput {
    pub(crate) fn text(&self) -> Option<String> {
        let words = self.lock();
        let text = match &words.panic {
            Some(panic) => printable(panic.trim()),
            None => {
                let lines: Vec<&str> = words.tail.iter().map(String::as_str).collect();
                printable(lines.join("\n").trim())
            }
        };
        (!text.is_empty()).then_some(text)
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn feed(&self, line: &str) {
        let mut words = self.lock();
        if words.panic.is_none() && is_panic(line) {
            words.panic = Some(String::new());
        }
        match &mut words.panic {
            Some(panic) => {
                let room = MAX_CRASH_OUTPUT.saturating_sub(panic.len());
                panic.push_str(beginning(line, room));
                panic.push('\n');
                panic.truncate(panic.floor_char_boundary(MAX_CRASH_OUTPUT));
            }
            None => {
                let line = beginning(line, MAX_CRASH_OUTPUT);
                words.tail_length += line.len() + 1;
                words.tail.push_back(line.to_owned());
                while words.tail_length > MAX_CRASH_OUTPUT {
                    match words.tail.pop_front() {
                        Some(oldest) => words.tail_length -= oldest.len() + 1,
                        None => break,
                    }
                }
            }
        }
    }
}

fn beginning(line: &str, room: usize) -> &str {
    line.get(..line.floor_char_boundary(room)).unwrap_or_default()
}

fn is_panic(line: &str) -> bool {
    line.starts_with("panic: ") || line.starts_with("fatal error: ")
}

/// Reads a process's standard error to its end.
pub(crate) async fn listen(source: StderrSource, mut stream: impl AsyncRead + Unpin, words: CrashOutput) {
    let mut listener = StderrReader { source, words, line: Vec::new(), panicked: false };
    let mut buffer = vec![0; 8 << 10];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(length) => listener.feed(buffer.get(..length).unwrap_or_default()),
        }
    }
    listener.finish_line();
}

/// The source of the output.
#[derive(Clone)]
pub(crate) struct StderrSource {
    pub(crate) plugin: Arc<str>,
    /// The values that are redacted.
    pub(crate) secrets: RecentSensitiveValues,
}

struct StderrReader {
    source: StderrSource,
    words: CrashOutput,
    line: Vec<u8>,
    panicked: bool,
}

impl StderrReader {
    fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.finish_line();
            } else if self.line.len() >= MAX_LINE_LENGTH {
                self.begin_line_anew();
            }
        }
    }

    /// Processes a line that has become too long, except for its end if a secret could begin there.
    fn begin_line_anew(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let (settled, rest) = text.split_at(self.source.secrets.settled_length(&text));
        self.line.extend_from_slice(rest.as_bytes());
        self.line_said(settled);
    }

    fn finish_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        if !text.is_empty() {
            self.line_said(text);
        }
        self.line = line;
        self.line.clear();
    }

    fn line_said(&mut self, text: &str) {
        let is_object = text.starts_with('{');
        if is_object && !anybody_listens() {
            return;
        }
        let fields = if is_object { serde_json::from_str::<Map<String, Value>>(text).ok() } else { None };
        match fields {
            Some(fields) => self.structured(fields),
            None => {
                self.panicked |= is_panic(text);
                self.words.feed(&self.source.secrets.redact(text));
                let level = if self.panicked { Level::Error } else { level_in_brackets(text) };
                self.source.emit(level, "", "", "", text);
            }
        }
    }

    fn structured(&self, mut fields: Map<String, Value>) {
        let mut take = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let level = match &*take("@level") {
            "trace" => Level::Trace,
            "info" => Level::Info,
            "warn" => Level::Warn,
            "error" => Level::Error,
            _ => Level::Debug,
        };
        let mut message = take("@message");
        let module = take("@module");
        take("@timestamp");
        let call = take("tf_rpc");
        let resource_type = take("tf_resource_type");
        let resource = if resource_type.is_empty() { take("tf_data_source_type") } else { resource_type };
        for (name, value) in &fields {
            message.push(' ');
            message.push_str(name);
            message.push('=');
            message.push_str(&value.to_string());
        }
        self.source.emit(level, &call, &resource, &module, &message);
    }
}

/// Logs text that a plugin writes to standard output while it serves.
pub(crate) fn unexpected_output(source: &StderrSource, data: &[u8]) {
    for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        source.emit(Level::Warn, "", "", "standard output", &String::from_utf8_lossy(line));
    }
}

fn level_in_brackets(line: &str) -> Level {
    let levels = [
        ("[TRACE]", Level::Trace),
        ("[INFO]", Level::Info),
        ("[WARN]", Level::Warn),
        ("[ERROR]", Level::Error),
    ];
    levels.into_iter().find(|(mark, _)| line.contains(mark)).map_or(Level::Debug, |(_, level)| level)
}

fn anybody_listens() -> bool {
    tracing::enabled!(target: "wardian::plugin", tracing::Level::ERROR)
}

impl StderrSource {
    fn emit(&self, level: Level, call: &str, resource: &str, module: &str, message: &str) {
        let plugin = &*self.plugin;
        let shown = |text: &str| printable_line(&self.secrets.redact(text));
        macro_rules! event {
            ($level:expr) => {
                if tracing::enabled!(target: "wardian::plugin", $level) {
                    let (call, resource) = (shown(call), shown(resource));
                    let (module, message) = (shown(module), shown(message));
                    tracing::event!(target: "wardian::plugin", $level, plugin, call, resource, module, "{message}");
                }
            };
        }
        match level {
            Level::Trace => event!(tracing::Level::TRACE),
            Level::Debug => event!(tracing::Level::DEBUG),
            Level::Info => event!(tracing::Level::INFO),
            Level::Warn => event!(tracing::Level::WARN),
            Level::Error => event!(tracing::Level::ERROR),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn words_after(reported: &[u8]) -> Option<String> {
        let words = CrashOutput::default();
        let source = StderrSource { plugin: "acme/x".into(), secrets: RecentSensitiveValues::default() };
        listen(source, reported, words.clone()).await;
        words.text()
    }

    #[tokio::test]
    async fn crash_output_excludes_log_lines() {
        let reported = b"starting\n{\"@level\":\"info\",\"@message\":\"log\"}\nout of \x1bfuel\n";
        assert_eq!(words_after(reported).await.as_deref(), Some("starting\nout of \\u{1b}fuel"));
        assert_eq!(words_after(b"").await, None);
    }

    #[tokio::test]
    async fn panic_is_retained_from_its_start() {
        let mut reported = b"before\npanic: the reason\n\ngoroutine 1 [running]:\n".to_vec();
        for frame in 0..10_000 {
            reported.extend_from_slice(format!("main.frame{frame}(...)\n").as_bytes());
        }
        let words = words_after(&reported).await.unwrap();
        assert!(words.starts_with("panic: the reason\ngoroutine 1"), "{words}");
        assert!(words.len() <= MAX_CRASH_OUTPUT);
    }

    #[tokio::test]
    async fn end_of_excessive_output_is_retained() {
        let mut reported = vec![b'x'; 10 * MAX_LINE_LENGTH];
        reported.extend_from_slice(b"\nthe reason");
        let words = words_after(&reported).await.unwrap();
        assert!(words.ends_with("the reason") && words.len() <= MAX_CRASH_OUTPUT + 1);
    }

    #[tokio::test]
    async fn secret_split_by_line_limit_is_redacted() {
        let secrets = RecentSensitiveValues::default();
        let told = wardian_plugin::SensitiveValues::default();
        told.add_text("correct horse");
        let call = secrets.begin(told);
        let words = CrashOutput::default();
        let source = StderrSource { plugin: "acme/x".into(), secrets };
        let mut reported = vec![b'x'; MAX_LINE_LENGTH - 7];
        reported.extend_from_slice(b"correct horse\nat last: correct horse\n");
        let (mut writer, reader) = tokio::io::duplex(8 << 10);
        let listening = tokio::spawn(listen(source, reader, words.clone()));
        tokio::io::AsyncWriteExt::write_all(&mut writer, &reported).await.unwrap();
        drop(writer);
        listening.await.unwrap();
        drop(call);
        let words = words.text().unwrap();
        assert!(words.ends_with("(sensitive value)\nat last: (sensitive value)"), "{words}");
        assert!(!words.contains("corr") && !words.contains("horse"), "{words}");
    }

    #[test]
    fn level_is_parsed_from_brackets() {
        assert_eq!(level_in_brackets("2024 [WARN] careful"), Level::Warn);
        assert_eq!(level_in_brackets("plain"), Level::Debug);
    }
}
