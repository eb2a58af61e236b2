//! The reason why an operation on a remote machine failed.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use wardian_access::{Denied, ReachError};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommunicatorError {
    /// The machine could not be reached, or connecting to it was denied.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// One attempt to connect timed out.
    #[error("{0} did not respond")]
    Silent(String),
    /// The timeout for connecting has expired.
    #[error("could not connect to {endpoint} within {}{}. Set a longer `timeout` in the connection block if \
        the machine needs more time", format_duration(*limit), format_last_failure(last_failure.as_deref()))]
    TimedOut {
        endpoint: String,
        limit: Duration,
        /// The reason why the last attempt failed.
        last_failure: Option<Box<CommunicatorError>>,
    },
    /// The machine's host key differs from the configured one.
    #[error(
        "{endpoint} presented {found}, but {argument} is {expected}. Either the machine has a new key, or a \
         different machine responded; no credential was sent to it"
    )]
    HostKey {
        endpoint: String,
        /// The key that the machine presented.
        found: String,
        /// The name of the argument with the expected key.
        argument: &'static str,
        expected: String,
    },
    /// The machine rejected the credentials.
    #[error("{endpoint} did not accept the user {user:?}: {reason}")]
    Authentication {
        endpoint: String,
        user: String,
        /// The methods that were tried.
        reason: String,
    },
    /// The required agent is missing or does not respond.
    #[error("the SSH agent cannot be used: {0}")]
    Agent(String),
    #[error("the connection to {endpoint} was lost {phase}")]
    Lost { endpoint: String, phase: ConnectionPhase },
    /// The peer violates the protocol, or uses another protocol.
    #[error("protocol error with {endpoint}: {problem}")]
    Protocol { endpoint: String, problem: String },
    /// A local file does not exist.
    #[error("there is no file or directory {}", .0.display())]
    NoSource(PathBuf),
    /// A local file cannot be read.
    #[error("could not read {}: {problem}", path.display())]
    Source { path: PathBuf, problem: String },
    /// The machine did not write a file.
    #[error("{endpoint} did not write {path}: {reason}")]
    Upload {
        endpoint: String,
        /// The remote path.
        path: String,
        /// The machine's response.
        reason: String,
    },
    /// The machine did not start a command.
    #[error("{endpoint} did not start the command: {reason}")]
    Start {
        endpoint: String,
        /// The machine's response.
        reason: String,
    },
    /// The connection method does not support the request.
    #[error("{0}")]
    Unsupported(String),
}

impl From<Denied> for CommunicatorError {
    fn from(denied: Denied) -> Self {
        Self::Reach(denied.into())
    }
}

/// The operation during which a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionPhase {
    /// Before the handshake was complete.
    Connecting,
    /// While the bastion connected to the target.
    Forwarding,
    /// Before a command was started.
    Starting,
    /// While a command ran, or may have run.
    Running,
    /// While a file was being copied.
    Copying,
}

impl fmt::Display for ConnectionPhase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Connecting => "before the handshake was complete",
            Self::Forwarding => "before it had connected to the target",
            Self::Starting => "before anything was started",
            Self::Running => "while a command was running; the command's exit status is unknown",
            Self::Copying => "while files were being copied; the copy is not complete",
        })
    }
}

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The access was denied.
    Denied,
    /// The machine could not be reached, or the connection was lost.
    Disconnected,
    /// The machine rejected the credentials, or presented another host key.
    Authentication,
    /// A local file does not exist.
    NotFound,
    /// Any other failure.
    Failed,
}

impl CommunicatorError {
    /// Returns the class of the failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Reach(error) if error.is_denial() => FailureKind::Denied,
            Self::TimedOut { last_failure: Some(last), .. } => match last.kind() {
                FailureKind::Authentication => FailureKind::Authentication,
                _ => FailureKind::Disconnected,
            },
            Self::Reach(_) | Self::Silent(_) | Self::TimedOut { .. } | Self::Lost { .. } => {
                FailureKind::Disconnected
            }
            Self::HostKey { .. } | Self::Authentication { .. } | Self::Agent(_) => {
                FailureKind::Authentication
            }
            Self::NoSource(_) => FailureKind::NotFound,
            Self::Protocol { .. }
            | Self::Source { .. }
            | Self::Upload { .. }
            | Self::Start { .. }
            | Self::Unsupported(_) => FailureKind::Failed,
        }
    }

    /// Returns whether a retry is pointless. A machine that is still booting may refuse connections
    /// and reject users, but it never presents a wrong host key.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Reach(error) => error.is_denial(),
            Self::HostKey { .. } | Self::Agent(_) => true,
            _ => false,
        }
    }
}

fn format_last_failure(failure: Option<&CommunicatorError>) -> String {
    failure.map(|failure| format!(": {failure}")).unwrap_or_default()
}

fn format_duration(duration: Duration) -> String {
    match (duration.as_secs(), duration.subsec_millis()) {
        (0, milliseconds) => format!("{milliseconds} ms"),
        (seconds, 0) if seconds % 60 == 0 => format!("{} min", seconds / 60),
        (seconds, _) => format!("{seconds} s"),
    }
}
