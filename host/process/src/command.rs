//! What to run.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What to run, and how.
#[derive(Clone)]
pub struct Command {
    /// A bare name, an absolute path, or a path below `directory`.
    pub program: String,
    /// Its arguments, each as one.
    pub arguments: Vec<String>,
    /// An absolute path: the directory that it begins in.
    pub directory: PathBuf,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads from its standard input, which then ends.
    pub input: Vec<u8>,
    /// When it is killed with all that it started.
    pub timeout: Option<Duration>,
    /// How its two outputs are read.
    pub streams: Streams,
    /// What becomes of those that it started and that are there when it has ended.
    pub leftovers: Leftovers,
}

impl Command {
    /// A program with these arguments: no environment, no input, no end but its own.
    pub fn new(program: impl Into<String>, arguments: Vec<String>, directory: PathBuf) -> Self {
        Self {
            program: program.into(),
            arguments,
            directory,
            environment: Vec::new(),
            input: Vec::new(),
            timeout: None,
            streams: Streams::default(),
            leftovers: Leftovers::default(),
        }
    }
}

/// Arguments, environment and input may hold secrets.
impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Command")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .field("timeout", &self.timeout)
            .field("streams", &self.streams)
            .field("leftovers", &self.leftovers)
            .finish_non_exhaustive()
    }
}

/// How the two outputs of a program are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// Each by itself. What was written to one before the other is not known.
    #[default]
    Apart,
    /// As one, in the order in which they were written; all of it is standard output.
    Together,
}

/// What becomes of programs that are still there when the one that started them has
/// ended by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftovers {
    /// They go on. A daemon that was started on purpose is one of them. Their output is
    /// not listened to any more.
    #[default]
    GoOn,
    /// They are killed, unless they have left the session.
    Killed,
}
