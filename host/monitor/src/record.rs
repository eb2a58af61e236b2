//! Audit records.
//!
//! A record is a JSON object on one line; absent fields are omitted. Readers ignore unknown fields,
//! which lets later versions add fields.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wardian_access::{
    AccessRequest, CommunicatorConnection, EnvironmentName, FileAccess, FileOperation, Host, NetworkRequest,
    ProcessStart, ProtectedClasses, Scheme,
};

/// The capability to which an access belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// An HTTP request or a connection.
    Network,
    /// A name lookup.
    NameLookUp,
    Filesystem,
    Environment,
    Process,
    /// A connection of a provisioner to a remote machine.
    Communicator,
    /// A system call of a native plugin that no policy can grant.
    SystemCall,
}

impl Capability {
    /// Returns the capability of a request.
    pub fn from_request(request: &AccessRequest) -> Self {
        match request {
            AccessRequest::Network(_) => Self::Network,
            AccessRequest::LookUp(_) => Self::NameLookUp,
            AccessRequest::File(_) => Self::Filesystem,
            AccessRequest::Environment(_) => Self::Environment,
            AccessRequest::Process(_) => Self::Process,
            AccessRequest::Communicator(_) => Self::Communicator,
        }
    }

    /// Returns the name in audit records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::NameLookUp => "name-look-up",
            Self::Filesystem => "filesystem",
            Self::Environment => "environment",
            Self::Process => "process",
            Self::Communicator => "communicator",
            Self::SystemCall => "system-call",
        }
    }
}

/// The decision on an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The access was allowed, and was performed or attempted.
    Allowed,
    Denied,
}

/// The record of one access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Start time: RFC 3339 in UTC with milliseconds.
    pub time: String,
    /// Address of the plugin.
    pub plugin: String,
    /// Version of the plugin, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of the component, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Address of the resource instance, or of another object, for which the call was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Addresses of the objects of all calls that a native plugin was executing, if there were
    /// several: the access belongs to one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<String>,
    /// The called function, with its name in `wit/` or in the protocol of native plugins. Several
    /// functions are separated by commas.
    pub call: String,
    /// The level of a native plugin's confinement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<String>,
    pub capability: Capability,
    /// The target: scheme, host and port; a path; a name; a program.
    pub target: String,
    /// The HTTP method, if it is known; `read`, `write` or `connect` for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The classes of protected files that the access concerns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// Arguments of a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// Names of the environment variables that the plugin set for a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Vec<String>>,
    /// Working directory of a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The resolved address, if it determined the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    pub decision: Outcome,
    /// The policy line that determined the decision, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason for the denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// HTTP response status, or exit code of a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// Bytes sent or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_sent: Option<u64>,
    /// Bytes received or read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_received: Option<u64>,
    /// Duration in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microseconds: Option<u64>,
}

/// Rebuilds the request of a record; `None` for a record of an invalid request.
pub(crate) fn parse_request(
    capability: Capability,
    target: &str,
    access: Option<&str>,
    arguments: Option<&[String]>,
    environment: Option<&[String]>,
) -> Option<AccessRequest> {
    match capability {
        Capability::Network => {
            let (scheme, authority) = target.split_once("://")?;
            let request = match access {
                Some(method) => NetworkRequest::http(scheme, authority, method),
                None => {
                    let scheme = Scheme::ALL.into_iter().find(|known| known.word() == scheme)?;
                    let (host, port) =
                        host_and_port(authority).or_else(|| Some((authority, scheme.port()?)))?;
                    NetworkRequest::connection(scheme, host, port)
                }
            };
            Some(AccessRequest::Network(request.ok()?))
        }
        Capability::NameLookUp => Host::parse(target).ok().map(AccessRequest::LookUp),
        Capability::Filesystem => {
            let access = FileOperation::from_word(access?)?;
            FileAccess::new(Path::new("/"), Path::new(target), access).ok().map(AccessRequest::File)
        }
        Capability::Environment => EnvironmentName::new(target).ok().map(AccessRequest::Environment),
        Capability::Process => {
            let arguments = arguments.unwrap_or_default().iter().cloned();
            let variables = environment.unwrap_or_default().iter().map(String::as_str);
            let start =
                ProcessStart::new(target, arguments).and_then(|start| start.with_variables(variables));
            start.ok().map(AccessRequest::Process)
        }
        Capability::Communicator => {
            let (host, port) = host_and_port(target)?;
            CommunicatorConnection::new(host, port).ok().map(AccessRequest::Communicator)
        }
        Capability::SystemCall => None,
    }
}

fn host_and_port(authority: &str) -> Option<(&str, u16)> {
    let (host, port) = authority.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

/// Returns the names of classes in a record.
pub(crate) fn class_names(classes: ProtectedClasses) -> Vec<String> {
    classes.iter().map(|class| class.word().to_owned()).collect()
}

/// The fields of a record that describe its request.
pub(crate) struct RecordedTarget {
    pub(crate) target: String,
    pub(crate) access: Option<String>,
    pub(crate) arguments: Option<Vec<String>>,
    pub(crate) environment: Option<Vec<String>>,
    pub(crate) directory: Option<String>,
}

impl RecordedTarget {
    pub(crate) fn new(target: String) -> Self {
        Self { target, access: None, arguments: None, environment: None, directory: None }
    }

    pub(crate) fn from_request(request: &AccessRequest) -> Self {
        let target = Self::new;
        match request {
            AccessRequest::Network(network) => {
                Self { access: network.method().map(str::to_owned), ..target(network.destination()) }
            }
            AccessRequest::LookUp(host) => target(host.to_string()),
            AccessRequest::File(file) => {
                let path = file.path().to_string_lossy().into_owned();
                Self { access: Some(file.operation().word().to_owned()), ..target(path) }
            }
            AccessRequest::Environment(name) => target(name.as_str().to_owned()),
            AccessRequest::Process(start) => {
                let names = start.variables().iter().map(|name| name.as_str().to_owned());
                Self {
                    arguments: Some(start.arguments().to_vec()),
                    environment: Some(names.collect()).filter(|names: &Vec<String>| !names.is_empty()),
                    directory: start.directory().map(|path| path.to_string_lossy().into_owned()),
                    ..target(start.program().to_owned())
                }
            }
            AccessRequest::Communicator(connection) => {
                let host = match connection.host() {
                    Host::Address(address @ std::net::IpAddr::V6(_)) => format!("[{address}]"),
                    host => host.to_string(),
                };
                target(format!("{host}:{}", connection.port()))
            }
        }
    }
}
