//! The provisioned machine. The host opens the connection to it.

use std::fmt;

use super::context::{CommandOutput, OutputTail, ProcessEvent};
use super::lines::Lines;
use super::{ExitStatus, HostApi};

/// The machine in the connection block. The host connects to it on first use, with credentials that
/// are not passed to the plugin. All provisioners of an object share the connection.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{Platform, ProvisionContext};
///
/// let mut harness = ProvisionerHarness::new().with_machine(Platform::Unix);
/// let mut context = ProvisionContext::new(&mut harness);
/// let mut machine = context.machine()?;
/// machine.upload("/etc/motd", b"hello", Some(0o644))?;
/// assert!(machine.run("systemctl restart web")?.is_success());
/// # Ok::<(), wardian_sdk::provisioner::RemoteError>(())
/// ```
pub struct Machine<'a> {
    host: &'a mut dyn HostApi,
}

/// The operations on the machine. The host bindings and
/// [`testing::MockMachine`](super::testing::MockMachine) implement it.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{HostApi as _, MachineApi as _, Platform};
///
/// let mut harness = ProvisionerHarness::new().with_machine(Platform::Windows);
/// assert_eq!(harness.machine().unwrap().platform(), Platform::Windows);
/// ```
pub trait MachineApi {
    /// Returns the machine's platform.
    fn platform(&self) -> Platform;

    /// Returns the path for a script on the machine.
    fn script_path(&self) -> String;

    /// Opens the connection.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be opened.
    fn connect(&mut self, output: ConnectionOutput) -> Result<(), RemoteError>;

    /// Starts a command in the machine's shell.
    ///
    /// # Errors
    /// Returns an error if the command cannot be started.
    fn execute(&mut self, command: &str) -> Result<Box<dyn RunningCommand>, RemoteError>;

    /// Writes a file on the machine.
    ///
    /// # Errors
    /// Returns an error if the file was not written.
    fn upload(&mut self, path: &str, content: &[u8], mode: Option<u32>) -> Result<(), RemoteError>;

    /// Copies a file or directory to the machine.
    ///
    /// # Errors
    /// Returns an error if not all files were copied.
    fn upload_path(&mut self, source: &str, destination: &str) -> Result<(), RemoteError>;
}

/// A command that runs on the machine. Dropping it cancels the command.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{HostApi as _, MachineApi as _, Platform, ProcessEvent};
///
/// let mut harness = ProvisionerHarness::new().with_machine(Platform::Unix).with_machine_result(Ok(("up\n", 0)));
/// let mut command = harness.machine().unwrap().execute("uptime")?;
/// assert_eq!(command.next_event()?, Some(ProcessEvent::Output(b"up\n".to_vec())));
/// # Ok::<(), wardian_sdk::provisioner::RemoteError>(())
/// ```
pub trait RunningCommand {
    /// Waits for the next event; `None` after the command has exited.
    ///
    /// # Errors
    /// Returns an error if the connection is lost.
    fn next_event(&mut self) -> Result<Option<ProcessEvent>, RemoteError>;
}

/// The platform of the machine.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{Platform, ProvisionContext};
///
/// let mut harness = ProvisionerHarness::new().with_machine(Platform::Unix);
/// let mut context = ProvisionContext::new(&mut harness);
/// let mut machine = context.machine()?;
/// let script = if machine.platform()? == Platform::Windows { "setup.ps1" } else { "setup.sh" };
/// assert_eq!(script, "setup.sh");
/// # Ok::<(), wardian_sdk::provisioner::RemoteError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// A Unix system.
    Unix,
    /// A Windows system.
    Windows,
}

/// Whether the host shows its connection attempts to the user.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{ConnectionOutput, Platform, ProvisionContext};
///
/// let mut harness = ProvisionerHarness::new().with_machine(Platform::Unix);
/// let mut context = ProvisionContext::new(&mut harness);
/// let mut machine = context.machine()?;
/// machine.connect(ConnectionOutput::Shown)?;
/// # Ok::<(), wardian_sdk::provisioner::RemoteError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionOutput {
    /// Connection attempts are not shown.
    Silent,
    /// The address and the authentication methods of each attempt are shown.
    Shown,
}

/// The reason why an operation on the machine failed, as text for users.
///
/// ```
/// use wardian_sdk::provisioner::testing::ProvisionerHarness;
/// use wardian_sdk::provisioner::{ProvisionContext, RemoteError};
///
/// let mut harness = ProvisionerHarness::new();
/// let mut context = ProvisionContext::new(&mut harness);
/// assert_eq!(context.machine().err(), Some(RemoteError::NoConnection));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteError {
    /// The configuration has no connection block.
    NoConnection,
    /// Policy does not allow the operation.
    Denied(String),
    /// The machine could not be reached, or the connection was lost.
    Disconnected(String),
    /// The machine rejected the credentials, or its host key differs from the expected key.
    Authentication(String),
    /// The local file does not exist.
    NotFound(String),
    /// Any other failure.
    Failed(String),
}

impl fmt::Display for RemoteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoConnection => {
                "it needs a remote machine, but there is no connection block, neither in the provisioner \
                 nor in its resource"
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
    pub(super) fn new(host: &'a mut dyn HostApi) -> Result<Self, RemoteError> {
        host.machine().ok_or(RemoteError::NoConnection)?;
        Ok(Self { host })
    }

    fn remote(&mut self) -> Result<&mut dyn MachineApi, RemoteError> {
        self.host.machine().ok_or(RemoteError::NoConnection)
    }

    /// Returns the machine's platform.
    ///
    /// # Errors
    /// Returns an error if the configuration has no connection block.
    pub fn platform(&mut self) -> Result<Platform, RemoteError> {
        Ok(self.remote()?.platform())
    }

    /// Returns the path for a script on the machine. Each call returns a new path, unless the
    /// connection block sets the path.
    ///
    /// # Errors
    /// Returns an error if the configuration has no connection block.
    pub fn script_path(&mut self) -> Result<String, RemoteError> {
        Ok(self.remote()?.script_path())
    }

    /// Opens the connection if it is not open. All other operations also open the connection.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be opened.
    pub fn connect(&mut self, output: ConnectionOutput) -> Result<(), RemoteError> {
        self.remote()?.connect(output)
    }

    /// Runs a command on the machine until it exits, and shows its output line by line.
    ///
    /// # Errors
    /// Returns an error if the command could not be started, or its exit status is unknown.
    pub fn run(&mut self, command: &str) -> Result<CommandOutput, RemoteError> {
        self.run_with(command, |host, line| host.show(line))
    }

    /// Runs a command on the machine until it exits, without showing its output.
    ///
    /// # Errors
    /// Returns the same errors as [`Machine::run`].
    pub fn run_quietly(&mut self, command: &str) -> Result<CommandOutput, RemoteError> {
        self.run_with(command, |_, _| {})
    }

    fn run_with(
        &mut self,
        command: &str,
        on_line: impl Fn(&mut dyn HostApi, &str),
    ) -> Result<CommandOutput, RemoteError> {
        let mut program = self.remote()?.execute(command)?;
        let (mut lines, mut tail) = (Lines::default(), OutputTail::default());
        let mut status = None;
        let lost = loop {
            match program.next_event() {
                Ok(Some(ProcessEvent::Output(bytes))) => {
                    tail.add(&bytes);
                    lines.add(&bytes, &mut |line| on_line(self.host, line));
                }
                Ok(Some(ProcessEvent::Exited(how))) => status = Some(how),
                Ok(None) => break None,
                Err(lost) => break Some(lost),
            }
        };
        lines.finish(&mut |line| on_line(self.host, line));
        match (lost, status) {
            (Some(lost), _) => Err(lost),
            (None, Some(status)) => Ok(CommandOutput { status, output: tail.text() }),
            (None, None) => {
                Err(RemoteError::Failed("the host did not report the command's exit status".into()))
            }
        }
    }

    /// Writes a file on the machine. A new file has the mode, reduced by the machine's umask.
    ///
    /// # Errors
    /// Returns an error if the file was not written.
    pub fn upload(&mut self, path: &str, content: &[u8], mode: Option<u32>) -> Result<(), RemoteError> {
        self.remote()?.upload(path, content, mode)
    }

    /// Copies a local file or directory to the machine, if policy allows reading it. A directory is
    /// copied into the directory `destination` under its own name. If `source` ends with a slash,
    /// only the contents of the directory are copied.
    ///
    /// # Errors
    /// Returns an error if not all files were copied.
    pub fn upload_path(&mut self, source: &str, destination: &str) -> Result<(), RemoteError> {
        self.remote()?.upload_path(source, destination)
    }
}

impl ExitStatus {
    /// Returns whether the program succeeded.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}
