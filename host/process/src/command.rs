//! The description of a program to run.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
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
    /// The complete environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The standard input.
    pub input: Vec<u8>,
    /// Time limit after which the program and its descendants are killed.
    pub timeout: Option<Duration>,
    /// How the two outputs are read.
    pub streams: Streams,
    /// What happens to descendants that are still running when the program has exited.
    pub descendants: DescendantPolicy,
}

impl Command {
    /// Creates a command without environment, input and time limit.
    pub fn new(program: impl Into<String>, arguments: Vec<String>, directory: PathBuf) -> Self {
        Self {
            program: program.into(),
            arguments,
            directory,
            environment: Vec::new(),
            input: Vec::new(),
            timeout: None,
            streams: Streams::default(),
            descendants: DescendantPolicy::default(),
        }
    }
}

/// Omits arguments, environment and input, which may be sensitive.
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

/// How the two outputs of a program are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// As two streams, with an unknown order between them.
    #[default]
    Separate,
    /// As one stream in the order of writing, reported as standard output.
    Combined,
}

/// What happens to descendants that are still running when the program has exited by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DescendantPolicy {
    /// They continue, such as a daemon that was started on purpose, but their output is not read
    /// any more.
    #[default]
    Detach,
    /// They are killed, unless they have left the session.
    Kill,
}
