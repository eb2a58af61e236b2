//! Describes a program to run.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A program to run, with its arguments and options.
#[derive(Clone)]
pub struct Command {
    /// A bare name, an absolute path, or a path relative to `directory`.
    pub program: String,
    /// The arguments, without the program's name.
    pub arguments: Vec<String>,
    /// The working directory, an absolute path.
    pub directory: PathBuf,
    /// The open working directory, if there is one. The program starts in this directory, even if
    /// its path now refers to a different directory.
    pub open_directory: Option<Arc<OwnedFd>>,
    /// The complete environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The standard input.
    pub input: Vec<u8>,
    /// Time limit after which the program and its descendants are killed.
    pub timeout: Option<Duration>,
    /// The method of reading standard output and standard error.
    pub streams: Streams,
    /// The treatment of descendants that are still running when the program has exited.
    pub descendants: DescendantPolicy,
}

impl Command {
    /// Creates a command without an environment, input or a time limit.
    pub fn new(program: impl Into<String>, arguments: Vec<String>, directory: PathBuf) -> Self {
        Self {
            program: program.into(),
            arguments,
            directory,
            open_directory: None,
            environment: Vec::new(),
            input: Vec::new(),
            timeout: None,
            streams: Streams::default(),
            descendants: DescendantPolicy::default(),
        }
    }
}

/// Omits arguments, environment and input, which may contain secrets.
impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Command")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .field("timeout", &self.timeout)
            .field("streams", &self.streams)
            .field("descendants", &self.descendants)
            .finish_non_exhaustive()
    }
}

/// The method of reading a program's standard output and standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// As two streams, whose relative order is unknown.
    #[default]
    Separate,
    /// As one stream in the order of writing. The stream is reported as standard output.
    Combined,
}

/// The treatment of descendants that are still running when the program has exited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DescendantPolicy {
    /// Descendants continue to run, which intentionally started daemons require, but their output
    /// is no longer read.
    #[default]
    Detach,
    /// Descendants are killed, unless they have left the session.
    Kill,
}
