//! Why something on the other machine failed.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::authority::Denied;

/// Why something on the other machine failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommunicatorError {
    /// It is not allowed.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// None of the addresses that the host has is allowed.
    #[error("{host} leads to {address}: {denied}")]
    AddressDenied {
        /// What was looked up.
        host: String,
        /// One of its addresses.
        address: IpAddr,
        /// Why that is not allowed.
        denied: Denied,
    },
    /// Nobody knows the host.
    #[error("{host} cannot be looked up: {error}")]
    LookUp {
        /// What was looked up.
        host: String,
        /// What the system said.
        error: io::Error,
    },
    /// The host has no address.
    #[error("{0} has no address")]
    NoAddress(String),
    /// No connection.
    #[error("no connection to {place}: {error}")]
    Connect {
        /// Where to.
        place: String,
        /// What the system said.
        error: io::Error,
    },
    /// One attempt took too long.
    #[error("{0} did not answer")]
    Silent(String),
    /// The proxy does not let it through.
    #[error("the proxy {proxy} does not connect to {place}: {reason}")]
    Proxy {
        /// Which proxy.
        proxy: String,
        /// Where to.
        place: String,
        /// What it said.
        reason: String,
    },
    /// The time for connecting is over.
    #[error("no connection to {place} within {}{}; `timeout` in the connection block gives it more time", words(*limit), last(last_failure.as_deref()))]
    TimedOut {
        /// Where to.
        place: String,
        /// The time that there was.
        limit: Duration,
        /// Why the last attempt failed.
        last_failure: Option<Box<CommunicatorError>>,
    },
    /// The machine is not who it should be.
    #[error(
        "{place} showed {found}, and {argument} is {expected}. Either the machine has a new key, or this \
         is another machine; no credential was sent to it"
    )]
    HostKey {
        /// Who.
        place: String,
        /// The key that it showed.
        found: String,
        /// The argument that says which one it has.
        argument: &'static str,
        /// That key.
        expected: String,
    },
    /// The machine did not accept who we are.
    #[error("{place} did not accept the user {user:?}: {reason}")]
    Authentication {
        /// Which machine.
        place: String,
        /// As whom.
        user: String,
        /// What was tried.
        reason: String,
    },
    /// The agent that was asked for is not there, or does not answer.
    #[error("the SSH agent cannot be used: {0}")]
    Agent(String),
    /// The connection broke off.
    #[error("the connection with {place} was lost {doing}")]
    Lost {
        /// With whom.
        place: String,
        /// Meanwhile.
        doing: Doing,
    },
    /// The other side does not keep to its protocol, or speaks another one.
    #[error("{place} cannot be spoken with: {problem}")]
    Protocol {
        /// Who.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// There is no such file here.
    #[error("there is no file or directory {}", .0.display())]
    NoSource(PathBuf),
    /// A file of this machine cannot be read.
    #[error("could not read {}: {problem}", path.display())]
    Source {
        /// Which.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The other machine did not write a file.
    #[error("{place} did not take {path}: {reason}")]
    Upload {
        /// Which machine.
        place: String,
        /// Where it was to go.
        path: String,
        /// What the machine said.
        reason: String,
    },
    /// The other machine did not start a command.
    #[error("{place} did not start the command: {reason}")]
    Start {
        /// Which machine.
        place: String,
        /// What it said.
        reason: String,
    },
    /// What was asked for is not possible with this kind of connection.
    #[error("{0}")]
    Unsupported(String),
}

/// What was being done when a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doing {
    /// It was not there yet.
    Connecting,
    /// The bastion was to connect with the machine behind it.
    Passing,
    /// A command was to be started, and was not.
    Starting,
    /// A command ran, or may have run.
    Running,
    /// A file was copied.
    Copying,
}

impl fmt::Display for Doing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Connecting => "before it had said who it is",
            Self::Passing => "before it had connected with the machine behind it",
            Self::Starting => "before anything was started there",
            Self::Running => "while a command ran; how the command ended is not known",
            Self::Copying => "while something was copied there; the copy is not complete",
        })
    }
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Somebody does not allow it.
    Denied,
    /// The machine could not be reached, or the connection was lost.
    Disconnected,
    /// The machine refused who we are, or is not who it should be.
    Authentication,
    /// There is no such file.
    NotFound,
    /// Anything else.
    Failed,
}

impl CommunicatorError {
    /// What kind of failure it is.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Denied(_) | Self::AddressDenied { .. } => FailureKind::Denied,
            Self::TimedOut { last_failure: Some(last), .. } => match last.kind() {
                FailureKind::Authentication => FailureKind::Authentication,
                _ => FailureKind::Disconnected,
            },
            Self::LookUp { .. }
            | Self::NoAddress(_)
            | Self::Connect { .. }
            | Self::Silent(_)
            | Self::Proxy { .. }
            | Self::TimedOut { .. }
            | Self::Lost { .. } => FailureKind::Disconnected,
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

    /// Whether it makes no sense to try again in a moment. A machine that starts refuses
    /// connections, and knows no users yet; it does not show another key.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Denied(_) | Self::AddressDenied { .. } | Self::HostKey { .. } | Self::Agent(_))
    }
}

fn last(failure: Option<&CommunicatorError>) -> String {
    failure.map(|failure| format!(": {failure}")).unwrap_or_default()
}

fn words(duration: Duration) -> String {
    match (duration.as_secs(), duration.subsec_millis()) {
        (0, milliseconds) => format!("{milliseconds} ms"),
        (seconds, 0) if seconds % 60 == 0 => format!("{} min", seconds / 60),
        (seconds, _) => format!("{seconds} s"),
    }
}
