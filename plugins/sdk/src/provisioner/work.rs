//! What a provisioner can do in a call.

use std::fmt;

use super::lines::Lines;
use super::machine::{Machine, Remote, RemoteError};

/// How much of a program's output is kept for an error message, in bytes.
const KEPT_OUTPUT: usize = 8 << 10;

/// What a call may do.
pub struct Work<'a> {
    surroundings: &'a mut dyn Surroundings,
}

/// What carries out what a provisioner does: the host, or a test.
pub trait Surroundings {
    /// Shows text.
    fn show(&mut self, text: &str);

    /// Starts a program.
    ///
    /// # Errors
    /// Why it does not run.
    fn start(&mut self, command: &Command) -> Result<Box<dyn Program>, NotRun>;

    /// The machine that the connection block names; none where there is no such block.
    fn machine(&mut self) -> Option<&mut dyn Remote>;
}

/// A program that runs. Dropping it kills it.
pub trait Program {
    /// Waits for what it does next; none after its end.
    fn next_event(&mut self) -> Option<Event>;
}

/// Something that a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It wrote to one of its outputs.
    Output(Vec<u8>),
    /// It ended.
    Ended(Ending),
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a code.
    Code(i32),
    /// By a signal, of this number.
    Signal(i32),
    /// Killed when its time was over.
    TimedOut,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit status {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::TimedOut => formatter.write_str("its time being over"),
        }
    }
}

/// Why a program does not run. The text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// Policy does not grant it.
    Denied(String),
    /// There is no such program or directory.
    NotFound(String),
    /// Anything else.
    Failed(String),
}

impl fmt::Display for NotRun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Denied(text) | Self::NotFound(text) | Self::Failed(text)) = self;
        formatter.write_str(text)
    }
}

impl std::error::Error for NotRun {}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// A name, which the host looks up, or a path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The directory that it begins in; the root module's where absent.
    pub directory: Option<String>,
    /// Variables for it, over those that policy lets through.
    pub environment: Vec<(String, String)>,
}

impl Command {
    /// A program with arguments.
    pub fn new(program: impl Into<String>, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: None,
            environment: Vec::new(),
        }
    }
}

/// What is left of a program that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub ending: Ending,
    /// The end of what it wrote.
    pub output: String,
}

impl Ended {
    /// Whether it ended as a program does that did its work.
    pub fn is_success(&self) -> bool {
        self.ending.is_success()
    }
}

impl<'a> Work<'a> {
    /// Work with what carries it out.
    pub fn new(surroundings: &'a mut dyn Surroundings) -> Self {
        Self { surroundings }
    }

    /// Shows text: a line or several, under the object's address.
    pub fn show(&mut self, text: &str) {
        self.surroundings.show(text);
    }

    /// The machine that the connection block names.
    ///
    /// # Errors
    /// Where there is no such block.
    pub fn machine(&mut self) -> Result<Machine<'_>, RemoteError> {
        Machine::new(self.surroundings)
    }

    /// Runs a program to its end, and shows what it writes meanwhile, line by line.
    ///
    /// # Errors
    /// Why it did not run.
    pub fn run(&mut self, command: &Command) -> Result<Ended, NotRun> {
        let mut program = self.surroundings.start(command)?;
        let mut lines = Lines::default();
        let mut kept = KeptEnd::default();
        let mut ending = None;
        while let Some(event) = program.next_event() {
            match event {
                Event::Output(bytes) => {
                    kept.add(&bytes);
                    lines.add(&bytes, &mut |line| self.surroundings.show(line));
                }
                Event::Ended(how) => ending = Some(how),
            }
        }
        lines.finish(&mut |line| self.surroundings.show(line));
        let ending = ending.ok_or_else(|| NotRun::Failed("nobody said how the program ended".into()))?;
        Ok(Ended { ending, output: kept.text() })
    }
}

/// The end of what a program wrote.
#[derive(Default)]
pub(super) struct KeptEnd(Vec<u8>);

impl KeptEnd {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(bytes.len().saturating_sub(KEPT_OUTPUT)..).unwrap_or_default();
        self.0.extend_from_slice(bytes);
        let surplus = self.0.len().saturating_sub(KEPT_OUTPUT);
        self.0.drain(..surplus);
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}
