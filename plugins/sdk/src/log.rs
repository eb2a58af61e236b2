//! Log lines that the host keeps with the plugin and the call. Outside a sandbox,
//! as in unit tests, nothing is kept.

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Steps within a step.
    Trace,
    /// For the provider's author.
    Debug,
    /// For whoever operates.
    Info,
    /// Something is odd.
    Warn,
    /// Something failed.
    Error,
}

/// Whether lines of this level are kept at all: ask before costly formatting.
pub fn enabled(level: Level) -> bool {
    host::enabled(level)
}

/// Writes a line with further facts by name.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    host::write(level, message, fields);
}

/// Writes a line of steps within a step.
pub fn trace(message: &str) {
    write(Level::Trace, message, &[]);
}

/// Writes a line for the provider's author.
pub fn debug(message: &str) {
    write(Level::Debug, message, &[]);
}

/// Writes a line for whoever operates.
pub fn info(message: &str) {
    write(Level::Info, message, &[]);
}

/// Writes a line on something odd.
pub fn warn(message: &str) {
    write(Level::Warn, message, &[]);
}

/// Writes a line on something that failed.
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

    pub(super) fn write(at: Level, message: &str, fields: &[(&str, &str)]) {
        let fields: Vec<_> = fields.iter().map(|(name, fact)| ((*name).into(), (*fact).into())).collect();
        log::write(level(at), "", message, &fields);
    }
}

#[cfg(not(target_family = "wasm"))]
mod host {
    use super::Level;

    pub(super) fn enabled(_: Level) -> bool {
        false
    }

    pub(super) fn write(_: Level, _: &str, _: &[(&str, &str)]) {}
}
