//! What a plugin asks for, in one form.
//!
//! A request is made of what the plugin said, and what cannot be brought into one form
//! is no request: the [`RequestError`] is the denial. So nothing is matched that could
//! be read in two ways.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::host::{Host, HostProblem};
use crate::path::{PathProblem, normalised};

/// The most arguments of a program.
const MOST_ARGUMENTS: usize = 10_000;

/// One use of a capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// To send something somewhere.
    Network(NetworkRequest),
    /// To know a name's addresses.
    LookUp(Host),
    /// To read or write below a directory.
    File(FileAccess),
    /// To know a variable of the environment.
    Environment(EnvironmentName),
    /// To run a program.
    Process(ProcessStart),
    /// To be connected with the machine that is provisioned.
    Communicator(CommunicatorConnection),
}

/// How something is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// HTTP over TLS.
    Https,
    /// HTTP in clear.
    Http,
    /// A stream of bytes.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Scheme {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Https, Self::Http, Self::Tcp, Self::Udp];

    /// The word in a policy.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }

    /// The port that is meant where none is said.
    pub(crate) const fn port(self) -> Option<u16> {
        match self {
            Self::Https => Some(443),
            Self::Http => Some(80),
            Self::Tcp | Self::Udp => None,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// A request over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRequest {
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// Of HTTP, in capitals.
    pub(crate) method: Option<Box<str>>,
}

impl NetworkRequest {
    /// A request of HTTP: `https`, `api.example.com:8443`, `GET`.
    ///
    /// # Errors
    /// Where the scheme is not `http` or `https`, or authority or method are none. An
    /// authority with a user in it is none: what stands before an `@` has misled readers
    /// before.
    pub fn http(scheme: &str, authority: &str, method: &str) -> Result<Self, RequestError> {
        let scheme = [Scheme::Https, Scheme::Http]
            .into_iter()
            .find(|known| known.word().eq_ignore_ascii_case(scheme))
            .ok_or_else(|| RequestError::Scheme(shortened(scheme)))?;
        if authority.contains('@') {
            return Err(RequestError::User);
        }
        let (host, port) = split_authority(authority);
        let port = match port {
            // An empty port is the scheme's own, in every implementation.
            None | Some("") => scheme.port().unwrap_or_default(),
            Some(port) => port_number(port).ok_or_else(|| RequestError::Port(shortened(port)))?,
        };
        let is_token = !method.is_empty() && method.len() <= 64 && method.bytes().all(is_token_byte);
        if !is_token {
            return Err(RequestError::Method(shortened(method)));
        }
        let method = Some(method.to_ascii_uppercase().into());
        Ok(Self { scheme, host: parse_host(host)?, port, method })
    }

    /// A connection of TCP.
    ///
    /// # Errors
    /// Where host or port are none.
    pub fn tcp(host: &str, port: u16) -> Result<Self, RequestError> {
        Self::socket(Scheme::Tcp, host, port)
    }

    /// Datagrams of UDP.
    ///
    /// # Errors
    /// Where host or port are none.
    pub fn udp(host: &str, port: u16) -> Result<Self, RequestError> {
        Self::socket(Scheme::Udp, host, port)
    }

    fn socket(scheme: Scheme, host: &str, port: u16) -> Result<Self, RequestError> {
        let host = parse_host(host)?;
        if port == 0 {
            return Err(RequestError::Port("0".to_owned()));
        }
        Ok(Self { scheme, host, port, method: None })
    }

    /// How it is sent.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Where it goes.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port there.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The method of HTTP, in capitals; none of a socket.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Scheme, host and, where it is not the scheme's own, port: `https://api.example.com`.
    pub fn destination(&self) -> String {
        let host = match &self.host {
            Host::Address(address @ std::net::IpAddr::V6(_)) => format!("[{address}]"),
            host => host.to_string(),
        };
        let scheme = self.scheme;
        if scheme.port() == Some(self.port) {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{}", self.port)
        }
    }
}

impl fmt::Display for NetworkRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = &self.method {
            write!(formatter, "{method} ")?;
        }
        formatter.write_str(&self.destination())
    }
}

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// To look at it, or at what is in a directory.
    Read,
    /// To make, change, rename or remove it.
    Write,
}

impl Access {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// The word in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Which one a word means.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|access| access.word() == word)
    }
}

/// An access to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAccess {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) extent: Extent,
}

/// How much of a tree an access is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What is at the path.
    Path,
    /// That, and whatever lies below it.
    Tree,
}

impl FileAccess {
    /// An access to a path, which is relative to the root module's directory or absolute.
    ///
    /// # Errors
    /// Where it leaves that directory by `..`, or is none.
    pub fn new(root_module: &Path, path: &Path, access: Access) -> Result<Self, RequestError> {
        Ok(Self { path: normalised(root_module, path)?, access, extent: Extent::Path })
    }

    /// The same access to everything below the path too. A directory that is renamed
    /// takes along what lies in it, so that nothing in it may be denied.
    #[must_use]
    pub fn with_all_below(mut self) -> Self {
        self.extent = Extent::Tree;
        self
    }

    /// The path, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is done.
    pub fn access(&self) -> Access {
        self.access
    }
}

/// A name of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentName(pub(crate) Box<str>);

impl EnvironmentName {
    /// A name of a variable.
    ///
    /// # Errors
    /// Where no variable can have it.
    pub fn new(name: &str) -> Result<Self, RequestError> {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(RequestError::Variable(shortened(name)));
        }
        Ok(Self(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStart {
    pub(crate) program: Box<str>,
    pub(crate) arguments: Box<[String]>,
}

impl ProcessStart {
    /// A program, by its bare name or its absolute path without `.` and `..`, and its
    /// arguments without the program's name.
    ///
    /// # Errors
    /// Where it is named otherwise, or no system could start it.
    pub fn new(program: &str, arguments: impl IntoIterator<Item = String>) -> Result<Self, RequestError> {
        let arguments: Box<[String]> = arguments.into_iter().take(MOST_ARGUMENTS + 1).collect();
        if arguments.len() > MOST_ARGUMENTS {
            return Err(RequestError::Arguments);
        }
        if program.contains('\0') || arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(RequestError::Zero);
        }
        let is_bare = !program.is_empty() && !program.contains(['/', '\\']) && !matches!(program, "." | "..");
        let is_absolute = Path::new(program).is_absolute()
            && Path::new(program).file_name().is_some()
            && normalised(Path::new("/"), Path::new(program))
                .is_ok_and(|path| path.to_str() == Some(program));
        if !is_bare && !is_absolute {
            return Err(RequestError::Program(shortened(program)));
        }
        Ok(Self { program: program.into(), arguments })
    }

    /// The program.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

/// A connection with a machine that is provisioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicatorConnection {
    pub(crate) host: Host,
    pub(crate) port: u16,
}

impl CommunicatorConnection {
    /// A connection with a host.
    ///
    /// # Errors
    /// Where host or port are none.
    pub fn new(host: &str, port: u16) -> Result<Self, RequestError> {
        if port == 0 {
            return Err(RequestError::Port("0".to_owned()));
        }
        Ok(Self { host: parse_host(host)?, port })
    }

    /// The machine.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port there.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// What is asked for, as part of a sentence. What the plugin chose stands in quotes, with
/// control characters escaped.
impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(request) => write!(formatter, "the request {request}"),
            Self::LookUp(host) => write!(formatter, "looking up the name {host}"),
            Self::File(FileAccess { path, access: Access::Read, .. }) => {
                write!(formatter, "reading {:?}", path.to_string_lossy())
            }
            Self::File(FileAccess { path, access: Access::Write, .. }) => {
                write!(formatter, "writing to {:?}", path.to_string_lossy())
            }
            Self::Environment(name) => write!(formatter, "the environment variable {:?}", name.0),
            Self::Process(start) => write!(formatter, "running the program {:?}", start.program),
            Self::Communicator(connection) => {
                write!(formatter, "a connection with {}, port {}", connection.host, connection.port)
            }
        }
    }
}

/// Why what a plugin said is no request. It is denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Not HTTP.
    #[error("the scheme {0:?} is neither http nor https")]
    Scheme(String),
    /// No host.
    #[error("{host:?} is no host: {problem}")]
    Host {
        /// What was said, cut short.
        host: String,
        /// What is wrong with it.
        problem: HostProblem,
    },
    /// `user@host`.
    #[error("an address with a user in it is not taken")]
    User,
    /// No port.
    #[error("{0:?} is no port")]
    Port(String),
    /// No method.
    #[error("{0:?} is no method of HTTP")]
    Method(String),
    /// No path.
    #[error("the path cannot be used: {0}")]
    Path(#[from] PathProblem),
    /// No variable.
    #[error("{0:?} is no name of an environment variable")]
    Variable(String),
    /// No program.
    #[error("the program {0:?} is named neither by a bare name nor by an absolute path without \"..\"")]
    Program(String),
    /// Too many arguments.
    #[error("there are more than {MOST_ARGUMENTS} arguments")]
    Arguments,
    /// A zero byte where systems end texts.
    #[error("there is a zero byte in it")]
    Zero,
}

fn parse_host(text: &str) -> Result<Host, RequestError> {
    Host::parse(text).map_err(|problem| RequestError::Host { host: shortened(text), problem })
}

/// Host and port; the brackets of IPv6 stay.
fn split_authority(authority: &str) -> (&str, Option<&str>) {
    let behind_brackets = authority.rfind(']').map_or(0, |at| at + 1);
    match authority.get(behind_brackets..).and_then(|rest| rest.rfind(':')) {
        Some(at) => {
            let (host, port) = authority.split_at(behind_brackets + at);
            (host, port.get(1..))
        }
        None => (authority, None),
    }
}

/// A port, written in digits.
pub(crate) fn port_number(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port != 0)
}

/// What a token of HTTP is made of.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(scheme: &str, authority: &str, method: &str) -> String {
        match NetworkRequest::http(scheme, authority, method) {
            Ok(request) => request.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn requests_have_one_form() {
        assert_eq!(http("HTTPS", "API.example.com.:443", "get"), "GET https://api.example.com");
        assert_eq!(http("http", "api.example.com:", "GET"), "GET http://api.example.com");
        assert_eq!(http("https", "[::1]:8443", "GET"), "GET https://[::1]:8443");
        assert_eq!(http("https", "[::ffff:127.0.0.1]", "GET"), "GET https://127.0.0.1");
        assert_eq!(http("https", "0x7f.1:80", "GET"), "GET https://127.0.0.1:80");
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_none() {
        for (scheme, authority, method) in [
            ("ftp", "a", "GET"),
            ("https", "", "GET"),
            ("https", "good.example@evil.example", "GET"),
            ("https", "a:0", "GET"),
            ("https", "a:65536", "GET"),
            ("https", "a:+80", "GET"),
            ("https", "a:80:80", "GET"),
            ("https", "a b", "GET"),
            ("https", "a\r\nHost: b", "GET"),
            ("https", "a#b", "GET"),
            ("https", "a\\b", "GET"),
            ("https", "a", ""),
            ("https", "a", "GET / HTTP/1.1\r\n"),
        ] {
            assert!(
                NetworkRequest::http(scheme, authority, method).is_err(),
                "{scheme} {authority} {method}"
            );
        }
    }

    #[test]
    fn programs_are_named_in_one_way() {
        let start = |program: &str| ProcessStart::new(program, []);
        for good in ["git", "/usr/bin/git"] {
            assert!(start(good).is_ok(), "{good}");
        }
        for bad in
            ["", "/", ".", "..", "./git", "bin/git", "/usr/../bin/git", "/usr//bin/git", "/usr/bin/", "a\0"]
        {
            assert!(start(bad).is_err(), "{bad}");
        }
        assert_eq!(
            ProcessStart::new("git", std::iter::repeat_n(String::new(), MOST_ARGUMENTS + 1)),
            Err(RequestError::Arguments)
        );
        assert_eq!(ProcessStart::new("git", ["a\0".to_owned()]), Err(RequestError::Zero));
    }

    #[test]
    fn names_of_variables_are_names() {
        assert!(EnvironmentName::new("A").is_ok());
        assert!(EnvironmentName::new("A=B").is_err());
        assert!(EnvironmentName::new("").is_err());
    }
}
