//! Who decides what is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::child::ExitStatus;

/// Decides, and learns what became of it.
pub trait Authority: Send + Sync + 'static {
    /// Whether a program may be started, before it is looked up.
    ///
    /// # Errors
    /// Where it may not.
    fn may_start(&self, start: &Start<'_>) -> Result<(), Denied>;

    /// A program has ended, or did not start.
    fn ended(&self, ended: &Ended);
}

/// What is about to be started.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// A bare name, or an absolute path without `.` and `..`.
    pub program: &'a str,
    /// Its arguments, without its name.
    pub arguments: &'a [String],
    /// The directory that it begins in.
    pub directory: &'a Path,
    /// Its environment.
    pub environment: &'a [(OsString, OsString)],
}

/// Why something was not allowed, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Denied(pub String);

/// One program that was allowed, for the record.
#[derive(Clone, Debug)]
pub struct Ended {
    /// What was asked for: a bare name or an absolute path.
    pub program: String,
    /// The file that was run; `None` where there was none to run.
    pub executable: Option<PathBuf>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How it ended; `None` where it did not start, or the system did not say.
    pub status: Option<ExitStatus>,
    /// Bytes that it wrote and that were handed over.
    pub written: u64,
    /// From its start to its end.
    pub duration: Duration,
}
