//! The context of a provisioner call.

use std::fmt;

use super::lines::Lines;
use super::machine::{Machine, MachineApi, RemoteError};

/// Number of bytes of a program's output that error messages can contain.
const MAX_OUTPUT_TAIL: usize = 8 << 10;

/// The context of a provisioner call. It shows text, runs programs, and provides access to the
/// provisioned machine.
///
/// ```
/// use wardian_sdk::provisioner::ProvisionContext;
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
///
/// let mut harness = ProvisionerHarness::new();
/// ProvisionContext::new(&mut harness).show("Waiting for the machine");
/// assert_eq!(harness.shown, ["Waiting for the machine"]);
/// ```
pub struct ProvisionContext<'a> {
    host: &'a mut dyn HostApi,
}

/// The operations that the host provides to a provisioner. The host bindings and
/// [`testing::ProvisionerHarness`](super::testing::ProvisionerHarness) implement this trait.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{Command, HostApi as _};
///
/// let mut harness = ProvisionerHarness::new().with_program("1.2.3\n", 0);
/// assert!(harness.start(&Command::new("git", ["version"])).is_ok());
/// assert!(harness.machine().is_none());
/// ```
pub trait HostApi {
    /// Shows text to the user.
    fn show(&mut self, text: &str);

    /// Starts a program.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningProgram>, SpawnError>;

    /// Returns the machine in the connection block; `None` without such a block.
    fn machine(&mut self) -> Option<&mut dyn MachineApi>;
}

/// A running program. Dropping it kills the program.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{Command, HostApi as _, ProcessEvent};
///
/// let mut harness = ProvisionerHarness::new().with_program("1.2.3\n", 0);
/// let mut program = harness.start(&Command::new("git", ["version"]))?;
/// assert_eq!(program.next_event(), Some(ProcessEvent::Output(b"1.2.3\n".to_vec())));
/// # Ok::<(), wardian_sdk::provisioner::SpawnError>(())
/// ```
pub trait RunningProgram {
    /// Waits for the next event; `None` after the program has exited.
    fn next_event(&mut self) -> Option<ProcessEvent>;
}

/// An event of a running program.
///
/// ```
/// use wardian_sdk::provisioner::{ExitStatus, ProcessEvent};
///
/// let is_end = |event: &ProcessEvent| matches!(event, ProcessEvent::Exited(_));
/// assert!(is_end(&ProcessEvent::Exited(ExitStatus::Code(0))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// Output on standard output or standard error.
    Output(Vec<u8>),
    /// The program exited.
    Exited(ExitStatus),
}

/// The exit status of a program.
///
/// ```
/// use wardian_sdk::provisioner::ExitStatus;
///
/// assert!(ExitStatus::Code(0).is_success());
/// assert_eq!(ExitStatus::Signal(9).to_string(), "signal 9");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// The exit code.
    Code(i32),
    /// The number of the signal that terminated the program.
    Signal(i32),
    /// The program was killed after its timeout.
    TimedOut,
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit status {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::TimedOut => formatter.write_str("a timeout"),
        }
    }
}

/// The reason why a program was not started, as text for users.
///
/// ```
/// use wardian_sdk::provisioner::SpawnError;
///
/// assert_eq!(SpawnError::NotFound("there is no program git".to_owned()).to_string(), "there is no program git");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnError {
    /// Policy does not allow the program.
    Denied(String),
    /// The program or its working directory does not exist.
    NotFound(String),
    /// Any other failure.
    Failed(String),
}

impl fmt::Display for SpawnError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Denied(text) | Self::NotFound(text) | Self::Failed(text)) = self;
        formatter.write_str(text)
    }
}

impl std::error::Error for SpawnError {}

/// A program with its arguments, working directory and environment.
///
/// ```
/// use wardian_sdk::provisioner::Command;
///
/// let command = Command { directory: Some("modules".to_owned()), ..Command::new("git", ["status"]) };
/// assert_eq!(command.arguments, ["status"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// A name, which the host searches for in `PATH`, or a path.
    pub program: String,
    /// The arguments, without the program's name.
    pub arguments: Vec<String>,
    /// The working directory. Default: the root module's directory.
    pub directory: Option<String>,
    /// Environment variables, which take precedence over the variables that policy grants.
    pub environment: Vec<(String, String)>,
}

impl Command {
    /// Creates a command.
    pub fn new(program: impl Into<String>, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: None,
            environment: Vec::new(),
        }
    }
}

/// The exit status and the output of a program.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{Command, ProvisionContext};
///
/// let mut harness = ProvisionerHarness::new().with_program("not found\n", 1);
/// let result = ProvisionContext::new(&mut harness).run(&Command::new("git", ["status"]))?;
/// assert!(!result.is_success());
/// assert_eq!(result.output, "not found\n");
/// # Ok::<(), wardian_sdk::provisioner::SpawnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// The exit status.
    pub status: ExitStatus,
    /// The end of the output.
    pub output: String,
}

impl CommandOutput {
    /// Returns whether the program succeeded.
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }
}

impl<'a> ProvisionContext<'a> {
    /// Creates a context that uses the given host.
    pub fn new(host: &'a mut dyn HostApi) -> Self {
        Self { host }
    }

    /// Shows one or more lines of text to the user, prefixed with the object's address.
    pub fn show(&mut self, text: &str) {
        self.host.show(text);
    }

    /// Returns the machine in the connection block.
    ///
    /// # Errors
    /// Returns an error if there is no connection block.
    pub fn machine(&mut self) -> Result<Machine<'_>, RemoteError> {
        Machine::new(self.host)
    }

    /// Runs a program until it exits, and shows its output line by line.
    ///
    /// # Errors
    /// Returns an error if the program could not be started.
    pub fn run(&mut self, command: &Command) -> Result<CommandOutput, SpawnError> {
        let mut program = self.host.start(command)?;
        let mut lines = Lines::default();
        let mut tail = OutputTail::default();
        let mut status = None;
        while let Some(event) = program.next_event() {
            match event {
                ProcessEvent::Output(bytes) => {
                    tail.add(&bytes);
                    lines.add(&bytes, &mut |line| self.host.show(line));
                }
                ProcessEvent::Exited(how) => status = Some(how),
            }
        }
        lines.finish(&mut |line| self.host.show(line));
        let status = status.ok_or_else(|| {
            SpawnError::Failed(
                "the host did not report the program's exit \
            status"
                    .into(),
            )
        })?;
        Ok(CommandOutput { status, output: tail.text() })
    }
}

/// The end of a program's output.
#[derive(Default)]
pub(super) struct OutputTail(Vec<u8>);

impl OutputTail {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(bytes.len().saturating_sub(MAX_OUTPUT_TAIL)..).unwrap_or_default();
        self.0.extend_from_slice(bytes);
        let surplus = self.0.len().saturating_sub(MAX_OUTPUT_TAIL);
        self.0.drain(..surplus);
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}
