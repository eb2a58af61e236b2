//! One line of the log.
//!
//! A line is an object of JSON. Fields that say nothing are left out. Readers accept
//! fields that they do not know, so that newer programs can say more.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wardian_policy::{
    Access, CommunicatorConnection, EnvironmentName, FileAccess, Host, NetworkRequest, ProcessStart, Request,
};

/// What was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// A request, or a connection.
    Network,
    /// A name that was looked up.
    NameLookUp,
    /// A file or directory.
    Filesystem,
    /// A variable of the environment.
    Environment,
    /// A program.
    Process,
    /// A connection with a machine that is provisioned.
    Communicator,
}

impl Capability {
    /// Of a request.
    pub fn of(request: &Request) -> Self {
        match request {
            Request::Network(_) => Self::Network,
            Request::LookUp(_) => Self::NameLookUp,
            Request::File(_) => Self::Filesystem,
            Request::Environment(_) => Self::Environment,
            Request::Process(_) => Self::Process,
            Request::Communicator(_) => Self::Communicator,
        }
    }

    /// The word in a record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::NameLookUp => "name-look-up",
            Self::Filesystem => "filesystem",
            Self::Environment => "environment",
            Self::Process => "process",
            Self::Communicator => "communicator",
        }
    }
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was allowed, and was done or tried.
    Allowed,
    /// It was denied, and not done.
    Denied,
}

/// One use of a capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When it began: RFC 3339, in UTC, with milliseconds.
    pub time: String,
    /// The plugin's address.
    pub plugin: String,
    /// Its version, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The SHA-256 of the component, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The address of the resource instance, or what else the call was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The function that was called, as `wit/` names it.
    pub call: String,
    /// What was used.
    pub capability: Capability,
    /// What of it: scheme, host and port; a path; a name; a program.
    pub target: String,
    /// The method of HTTP; `read` or `write` of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The arguments of a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// Where the name led to, where that decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What was decided.
    pub decision: Outcome,
    /// The line of the policy that settled it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why it was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The status of an answer of HTTP, or the code that a program ended with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// Bytes that were sent or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_sent: Option<u64>,
    /// Bytes that were received or read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_received: Option<u64>,
    /// How long it took, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microseconds: Option<u64>,
}

/// What a record is about, where that can be told: what was refused since it is no host or
/// path cannot.
pub(crate) fn request(
    capability: Capability,
    target: &str,
    access: Option<&str>,
    arguments: Option<&[String]>,
) -> Option<Request> {
    match capability {
        Capability::Network => {
            let (scheme, authority) = target.split_once("://")?;
            let request = match scheme {
                "tcp" | "udp" => {
                    let (host, port) = host_and_port(authority)?;
                    let socket = if scheme == "tcp" { NetworkRequest::tcp } else { NetworkRequest::udp };
                    socket(host, port)
                }
                _ => NetworkRequest::http(scheme, authority, access?),
            };
            Some(Request::Network(request.ok()?))
        }
        Capability::NameLookUp => Host::parse(target).ok().map(Request::LookUp),
        Capability::Filesystem => {
            let access = Access::from_word(access?)?;
            FileAccess::new(Path::new("/"), Path::new(target), access).ok().map(Request::File)
        }
        Capability::Environment => EnvironmentName::new(target).ok().map(Request::Environment),
        Capability::Process => {
            let arguments = arguments.unwrap_or_default().iter().cloned();
            ProcessStart::new(target, arguments).ok().map(Request::Process)
        }
        Capability::Communicator => {
            let (host, port) = host_and_port(target)?;
            CommunicatorConnection::new(host, port).ok().map(Request::Communicator)
        }
    }
}

fn host_and_port(authority: &str) -> Option<(&str, u16)> {
    let (host, port) = authority.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

/// What a record says of a request.
pub(crate) struct Described {
    pub(crate) target: String,
    pub(crate) access: Option<String>,
    pub(crate) arguments: Option<Vec<String>>,
}

impl Described {
    pub(crate) fn of(request: &Request) -> Self {
        let target = |target: String| Self { target, access: None, arguments: None };
        match request {
            Request::Network(network) => {
                Self { access: network.method().map(str::to_owned), ..target(network.destination()) }
            }
            Request::LookUp(host) => target(host.to_string()),
            Request::File(file) => {
                let path = file.path().to_string_lossy().into_owned();
                Self { access: Some(file.access().word().to_owned()), ..target(path) }
            }
            Request::Environment(name) => target(name.as_str().to_owned()),
            Request::Process(start) => {
                Self { arguments: Some(start.arguments().to_vec()), ..target(start.program().to_owned()) }
            }
            Request::Communicator(connection) => {
                let host = match connection.host() {
                    Host::Address(address @ std::net::IpAddr::V6(_)) => format!("[{address}]"),
                    host => host.to_string(),
                };
                target(format!("{host}:{}", connection.port()))
            }
        }
    }
}
