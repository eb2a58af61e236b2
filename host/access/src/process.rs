//! The authority over programs that run on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Denied;

/// Checks whether programs may run, and records programs that ran.
pub trait ProcessAuthority: Send + Sync + 'static {
    /// Checks whether a program may be launched. Called before the program's name is looked up.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_start(&self, launch: &ProgramLaunch<'_>) -> Result<(), Denied>;

    /// Checks the file to which the name of a program resolves, after
    /// [`may_start`](Self::may_start) has allowed the program.
    ///
    /// # Errors
    /// Returns the denial.
    fn may_execute(&self, launch: &ProgramLaunch<'_>, executable: &Path) -> Result<(), Denied>;

    /// Records a program that terminated or failed to start.
    fn finished(&self, program: &FinishedProgram);
}

/// A program before its start.
#[derive(Clone, Copy, Debug)]
pub struct ProgramLaunch<'a> {
    /// A bare name, or an absolute path without `.` and `..`.
    pub program: &'a str,
    /// The arguments, without the program's name.
    pub arguments: &'a [String],
    /// The working directory: absolute.
    pub directory: &'a Path,
    /// The complete environment.
    pub environment: &'a [(OsString, OsString)],
}

/// The record of an allowed program.
#[derive(Clone, Debug)]
pub struct FinishedProgram {
    /// The requested program: a bare name or an absolute path.
    pub program: String,
    /// The file that was executed; `None` if no file was executed.
    pub executable: Option<PathBuf>,
    pub arguments: Vec<String>,
    /// The exit status; `None` if the program did not start, or the system did not report
    /// one.
    pub status: Option<ExitStatus>,
    /// The number of output bytes that the caller received.
    pub written: u64,
    /// The time from start to end.
    pub duration: Duration,
}

/// The way in which a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// With an exit code.
    Code(i32),
    /// By a signal with this number.
    Signal(i32),
    /// The program was killed after its time limit.
    TimedOut,
}
