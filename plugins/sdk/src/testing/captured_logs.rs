//! The log lines that a provider writes in a test.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::log::Level;

/// Number of lines that are retained.
const MAX_LINES: usize = 100_000;

/// A line that a provider has written to the log.
///
/// ```
/// use wardian_sdk::log;
/// use wardian_sdk::testing::CapturedLogs;
///
/// let logs = CapturedLogs::new();
/// logs.capture(|| log::info("started"));
/// assert_eq!(logs.lines()[0].message, "started");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The severity.
    pub level: Level,
    /// The message.
    pub message: String,
    /// The names and values of the fields.
    pub fields: Vec<(String, String)>,
}

impl LogLine {
    /// Returns the value of a field.
    ///
    /// ```
    /// use wardian_sdk::log::{self, Level};
    /// use wardian_sdk::testing::CapturedLogs;
    ///
    /// let logs = CapturedLogs::new();
    /// logs.capture(|| log::write(Level::Debug, "request", &[("id", "7")]));
    /// assert_eq!(logs.lines()[0].field("id"), Some("7"));
    /// ```
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Formats the line as `WARN message name=value`.
impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Trace => "TRACE",
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        };
        write!(f, "{level} {}", self.message)?;
        self.fields.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// The log of a test. Clones share the lines.
///
/// ```
/// use wardian_sdk::log::{self, Level};
/// use wardian_sdk::testing::CapturedLogs;
///
/// let logs = CapturedLogs::new();
/// logs.capture(|| log::warn("the server responds slowly"));
/// logs.assert_contains(Level::Warn, "responds slowly");
/// logs.assert_lacks("password");
/// ```
#[derive(Clone, Debug, Default)]
pub struct CapturedLogs(Arc<Mutex<Vec<LogLine>>>);

impl CapturedLogs {
    /// Creates an empty log.
    ///
    /// ```
    /// assert!(wardian_sdk::testing::CapturedLogs::new().lines().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a function, and retains the lines that it writes on this thread.
    ///
    /// ```
    /// let logs = wardian_sdk::testing::CapturedLogs::new();
    /// logs.capture(|| wardian_sdk::log::info("started"));
    /// assert_eq!(logs.lines()[0].to_string(), "INFO started");
    /// ```
    pub fn capture<R>(&self, run: impl FnOnce() -> R) -> R {
        SINKS.with_borrow_mut(|sinks| sinks.push(self.clone()));
        let _guard = SinkGuard;
        run()
    }

    /// Returns the lines in the order in which they were written.
    ///
    /// ```
    /// assert_eq!(wardian_sdk::testing::CapturedLogs::new().lines(), []);
    /// ```
    pub fn lines(&self) -> Vec<LogLine> {
        self.lock().clone()
    }

    /// Asserts that a line of this level contains the text in its message or in a field.
    ///
    /// # Panics
    /// Panics if there is no such line. The message contains the log.
    ///
    /// ```
    /// # use wardian_sdk::{log, testing::CapturedLogs};
    /// let logs = CapturedLogs::new();
    /// logs.capture(|| log::debug("GET /servers"));
    /// logs.assert_contains(log::Level::Debug, "/servers");
    /// ```
    #[track_caller]
    pub fn assert_contains(&self, level: Level, text: &str) {
        let lines = self.lock();
        assert!(
            lines.iter().any(|line| line.level == level && contains(line, text)),
            "no line of the log has level {level:?} and contains {text:?}; the log is:\n{}",
            Shown(&lines)
        );
    }

    /// Asserts that no line contains the text, for example a secret.
    ///
    /// # Panics
    /// Panics if a line contains the text. The message does not repeat the line.
    ///
    /// ```
    /// # use wardian_sdk::testing::CapturedLogs;
    /// CapturedLogs::new().assert_lacks("hunter2");
    /// ```
    #[track_caller]
    pub fn assert_lacks(&self, text: &str) {
        let lines = self.lock();
        let found = lines.iter().position(|line| contains(line, text));
        assert!(found.is_none(), "line {} of the log contains the text", found.map_or(0, |index| index + 1));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<LogLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn contains(line: &LogLine, text: &str) -> bool {
    line.message.contains(text) || line.fields.iter().any(|(_, value)| value.contains(text))
}

struct Shown<'a>(&'a [LogLine]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("  (empty)");
        }
        self.0.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

thread_local! {
    static SINKS: RefCell<Vec<CapturedLogs>> = const { RefCell::new(Vec::new()) };
}

/// Removes the log when the function ends, even if it panics.
struct SinkGuard;

impl Drop for SinkGuard {
    fn drop(&mut self) {
        SINKS.with_borrow_mut(Vec::pop);
    }
}

/// Returns whether a test captures the log of this thread.
pub(crate) fn captures_log() -> bool {
    SINKS.with_borrow(|sinks| !sinks.is_empty())
}

/// Adds a line to the innermost log of this thread.
pub(crate) fn capture_line(level: Level, message: &str, fields: &[(&str, &str)]) {
    let Some(sink) = SINKS.with_borrow(|sinks| sinks.last().cloned()) else { return };
    let mut lines = sink.lock();
    if lines.len() < MAX_LINES {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        lines.push(LogLine { level, message: message.to_owned(), fields });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log;

    #[test]
    fn lines_are_captured_only_inside() {
        let logs = CapturedLogs::new();
        log::info("before");
        logs.capture(|| log::write(Level::Error, "failed", &[("status", "503")]));
        log::info("after");
        let shown: Vec<String> = logs.lines().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["ERROR failed status=503"]);
        logs.assert_contains(Level::Error, "503");
        assert!(!log::enabled(Level::Error));
    }

    #[test]
    #[should_panic(expected = "INFO started")]
    fn missing_line_shows_log() {
        let logs = CapturedLogs::new();
        logs.capture(|| log::info("started"));
        logs.assert_contains(Level::Warn, "started");
    }

    #[test]
    #[should_panic(expected = "line 1 of the log contains the text")]
    fn secret_in_log_is_found_but_not_repeated() {
        let logs = CapturedLogs::new();
        logs.capture(|| log::info("token=hunter2"));
        logs.assert_lacks("hunter2");
    }
}
