//! The machine that is provisioned, as the host reaches it for a call.

use std::fmt;

use super::lines::Lines;
use super::work::{Ended, Event, KeptEnd};
use super::{Ending, Surroundings};

/// The machine that the connection block names. The host connects with it, by credentials
/// that only the host knows, at the first use; all provisioners of an object share the
/// connection.
pub struct Machine<'a> {
    surroundings: &'a mut dyn Surroundings,
}

/// What carries out what is done with the machine: the host, or a test.
pub trait Remote {
    /// What kind of machine it is.
    fn platform(&self) -> Platform;

    /// Where to put a script there.
    fn script_path(&self) -> String;

    /// Opens the connection.
    ///
    /// # Errors
    /// Why there is none.
    fn connect(&mut self, telling: Telling) -> Result<(), RemoteError>;

    /// Starts a command through the machine's shell.
    ///
    /// # Errors
    /// Why it does not run.
    fn execute(&mut self, command: &str) -> Result<Box<dyn RemoteProgram>, RemoteError>;

    /// Writes a file there.
    ///
    /// # Errors
    /// Why it was not written.
    fn upload(&mut self, path: &str, content: &[u8], mode: Option<u32>) -> Result<(), RemoteError>;

    /// Copies a file or a directory there.
    ///
    /// # Errors
    /// Why it was not copied, or not wholly.
    fn upload_path(&mut self, source: &str, destination: &str) -> Result<(), RemoteError>;
}

/// A command that runs there. Dropping it gives it up.
pub trait RemoteProgram {
    /// Waits for what it does next; none after its end.
    ///
    /// # Errors
    /// Where the connection is lost.
    fn next_event(&mut self) -> Result<Option<Event>, RemoteError>;
}

/// What kind of machine it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Unix.
    Unix,
    /// Windows.
    Windows,
}

/// Whether people are told of a connection that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// They are not.
    Silent,
    /// The host shows each attempt: with whom, and by which means.
    Shown,
}

/// Why something was not done there. The text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteError {
    /// There is no connection block.
    NoConnection,
    /// Policy does not grant it.
    Denied(String),
    /// The machine could not be reached, or the connection was lost.
    Disconnected(String),
    /// The machine refused who we are, or is not who it should be.
    Authentication(String),
    /// There is no such file here.
    NotFound(String),
    /// Anything else.
    Failed(String),
}

impl fmt::Display for RemoteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoConnection => {
                "it works on another machine, and nothing says on which: there is no connection block, neither in \
                 the provisioner nor in its resource"
            }
            Self::Denied(text)
            | Self::Disconnected(text)
            | Self::Authentication(text)
            | Self::NotFound(text)
            | Self::Failed(text) => text,
        })
    }
}

impl std::error::Error for RemoteError {}

impl<'a> Machine<'a> {
    pub(super) fn new(surroundings: &'a mut dyn Surroundings) -> Result<Self, RemoteError> {
        surroundings.machine().ok_or(RemoteError::NoConnection)?;
        Ok(Self { surroundings })
    }

    fn remote(&mut self) -> Result<&mut dyn Remote, RemoteError> {
        self.surroundings.machine().ok_or(RemoteError::NoConnection)
    }

    /// What kind of machine it is.
    ///
    /// # Errors
    /// Where there is no connection block.
    pub fn platform(&mut self) -> Result<Platform, RemoteError> {
        Ok(self.remote()?.platform())
    }

    /// Where to put a script there: another place each time, unless the connection block
    /// names one.
    ///
    /// # Errors
    /// Where there is no connection block.
    pub fn script_path(&mut self) -> Result<String, RemoteError> {
        Ok(self.remote()?.script_path())
    }

    /// Opens the connection, if it is not. Whatever else is done opens it as well.
    ///
    /// # Errors
    /// Why there is none.
    pub fn connect(&mut self, telling: Telling) -> Result<(), RemoteError> {
        self.remote()?.connect(telling)
    }

    /// Runs a command there to its end, and shows what it writes meanwhile, line by line.
    ///
    /// # Errors
    /// Why it did not run, or why nobody knows how it ended.
    pub fn run(&mut self, command: &str) -> Result<Ended, RemoteError> {
        self.run_heard(command, |surroundings, line| surroundings.show(line))
    }

    /// Runs a command there to its end, and shows nothing of it.
    ///
    /// # Errors
    /// As of [`Machine::run`].
    pub fn run_quietly(&mut self, command: &str) -> Result<Ended, RemoteError> {
        self.run_heard(command, |_, _| {})
    }

    fn run_heard(
        &mut self,
        command: &str,
        hear: impl Fn(&mut dyn Surroundings, &str),
    ) -> Result<Ended, RemoteError> {
        let mut program = self.remote()?.execute(command)?;
        let (mut lines, mut kept) = (Lines::default(), KeptEnd::default());
        let mut ending = None;
        let lost = loop {
            match program.next_event() {
                Ok(Some(Event::Output(bytes))) => {
                    kept.add(&bytes);
                    lines.add(&bytes, &mut |line| hear(self.surroundings, line));
                }
                Ok(Some(Event::Ended(how))) => ending = Some(how),
                Ok(None) => break None,
                Err(lost) => break Some(lost),
            }
        };
        lines.finish(&mut |line| hear(self.surroundings, line));
        match (lost, ending) {
            (Some(lost), _) => Err(lost),
            (None, Some(ending)) => Ok(Ended { ending, output: kept.text() }),
            (None, None) => Err(RemoteError::Failed("nobody said how the command ended".into())),
        }
    }

    /// Writes a file there. A new one has the mode, less the machine's umask.
    ///
    /// # Errors
    /// Why it was not written.
    pub fn upload(&mut self, path: &str, content: &[u8], mode: Option<u32>) -> Result<(), RemoteError> {
        self.remote()?.upload(path, content, mode)
    }

    /// Copies a file or a directory of the host's machine there, as far as policy lets it
    /// be read. A directory goes into the one that `destination` names, as one of its own
    /// name; only what is in it where `source` ends with a slash.
    ///
    /// # Errors
    /// Why it was not copied, or not wholly.
    pub fn upload_path(&mut self, source: &str, destination: &str) -> Result<(), RemoteError> {
        self.remote()?.upload_path(source, destination)
    }
}

impl Ending {
    /// Whether it is that of a program that did its work.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}
