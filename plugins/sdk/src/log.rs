//! Writes log lines. The host records them with the plugin and the call. Outside the sandbox, as in
//! unit tests, they are dropped unless [`CapturedLogs`](crate::testing::CapturedLogs) captures
//! them.

mod subsystem;

pub use subsystem::Subsystem;

/// The severity of a log line.
///
/// ```
/// use wardian_sdk::log::Level;
///
/// assert!(Level::Debug < Level::Warn);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Details of a step.
    Trace,
    /// Information for the author of the provider.
    Debug,
    /// Information for operators.
    Info,
    /// An unexpected event.
    Warn,
    /// A failure.
    Error,
}

/// Returns whether the host records lines of this level. If it does not, the caller can skip
/// expensive formatting.
///
/// ```
/// use wardian_sdk::log::{self, Level};
///
/// if log::enabled(Level::Trace) {
///     log::trace(&format!("{:?}", "an expensive description"));
/// }
/// ```
pub fn enabled(level: Level) -> bool {
    host::enabled(level)
}

/// Writes a log line with named fields.
///
/// ```
/// use wardian_sdk::log::{self, Level};
/// use wardian_sdk::testing::CapturedLogs;
///
/// let logs = CapturedLogs::new();
/// logs.capture(|| log::write(Level::Info, "request", &[("url", "/servers")]));
/// logs.assert_contains(Level::Info, "/servers");
/// ```
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    write_to("", level, message, fields);
}

fn write_to(target: &str, level: Level, message: &str, fields: &[(&str, &str)]) {
    host::write(target, level, message, fields);
}

/// Writes a line with details of a step.
///
/// ```
/// use wardian_sdk::log::{self, Level};
/// use wardian_sdk::testing::CapturedLogs;
///
/// let logs = CapturedLogs::new();
/// logs.capture(|| log::trace("the server is slow"));
/// logs.assert_contains(Level::Trace, "slow");
/// ```
pub fn trace(message: &str) {
    write(Level::Trace, message, &[]);
}

/// Writes a line for the author of the provider.
///
/// ```
/// use wardian_sdk::log::{self, Level};
/// use wardian_sdk::testing::CapturedLogs;
///
/// let logs = CapturedLogs::new();
/// logs.capture(|| log::debug("the server is slow"));
/// logs.assert_contains(Level::Debug, "slow");
/// ```
pub fn debug(message: &str) {
    write(Level::Debug, message, &[]);
}

/// Writes a line for operators.
///
/// ```
/// use wardian_sdk::log::{self, Level};
/// use wardian_sdk::testing::CapturedLogs;
///
/// let logs = CapturedLogs::new();
/// logs.capture(|| log::info("the server is slow"));
/// logs.assert_contains(Level::Info, "slow");
/// ```
pub fn info(message: &str) {
    write(Level::Info, message, &[]);
}

/// Writes a line about an unexpected event.
///
/// ```
/// use wardian_sdk::log::{self, Level};
/// use wardian_sdk::testing::CapturedLogs;
///
/// let logs = CapturedLogs::new();
/// logs.capture(|| log::warn("the server is slow"));
/// logs.assert_contains(Level::Warn, "slow");
/// ```
pub fn warn(message: &str) {
    write(Level::Warn, message, &[]);
}

/// Writes a line about a failure.
///
/// ```
/// use wardian_sdk::log::{self, Level};
/// use wardian_sdk::testing::CapturedLogs;
///
/// let logs = CapturedLogs::new();
/// logs.capture(|| log::error("the server is slow"));
/// logs.assert_contains(Level::Error, "slow");
/// ```
pub fn error(message: &str) {
    write(Level::Error, message, &[]);
}

#[cfg(target_family = "wasm")]
mod host {
    use super::Level;
    use crate::bindings::wardian::plugin::log;

    fn level(level: Level) -> log::Level {
        match level {
            Level::Trace => log::Level::Trace,
            Level::Debug => log::Level::Debug,
            Level::Info => log::Level::Info,
            Level::Warn => log::Level::Warn,
            Level::Error => log::Level::Error,
        }
    }

    pub(super) fn enabled(at: Level) -> bool {
        log::enabled(level(at))
    }

    pub(super) fn write(target: &str, at: Level, message: &str, fields: &[(&str, &str)]) {
        let fields: Vec<_> = fields.iter().map(|(name, fact)| ((*name).into(), (*fact).into())).collect();
        log::write(level(at), target, message, &fields);
    }
}

#[cfg(not(target_family = "wasm"))]
mod host {
    use super::Level;
    use crate::testing::{capture_line, captures_log};

    pub(super) fn enabled(_: Level) -> bool {
        captures_log()
    }

    pub(super) fn write(_: &str, at: Level, message: &str, fields: &[(&str, &str)]) {
        capture_line(at, message, fields);
    }
}
