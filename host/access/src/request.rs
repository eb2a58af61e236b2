//! Access requests in their canonical form.
//!
//! A request is built from a plugin's input. Input without a canonical form results in an
//! [`AccessRequestError`], which is treated as a denial, so rules never match ambiguous input.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::file_operation::FileOperation;
use crate::host::{Host, HostProblem};
use crate::http::is_token_byte;
use crate::path::{PathProblem, normalize};
use crate::protected::ProtectedClasses;

/// The maximum number of arguments of a program.
const MAX_ARGUMENTS: usize = 10_000;

/// The maximum number of variables that are set for a program.
const MAX_VARIABLES: usize = 1_000;

/// An access: one use of a capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessRequest {
    /// Sends data to a host.
    Network(NetworkRequest),
    /// Resolves a host name.
    LookUp(Host),
    /// Reads or writes a file or directory, or connects to a socket.
    File(FileAccess),
    /// Reads an environment variable.
    Environment(EnvironmentName),
    /// Runs a program.
    Process(ProcessStart),
    /// Connects to a provisioned machine.
    Communicator(CommunicatorConnection),
}

/// The protocol of a network request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// HTTP over TLS.
    Https,
    /// HTTP without TLS.
    Http,
    /// A TCP stream.
    Tcp,
    /// UDP datagrams.
    Udp,
}

impl Scheme {
    pub const ALL: [Self; 4] = [Self::Https, Self::Http, Self::Tcp, Self::Udp];

    /// Returns the keyword in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }

    /// Whether requests have HTTP methods.
    pub const fn has_methods(self) -> bool {
        matches!(self, Self::Https | Self::Http)
    }

    pub const fn port(self) -> Option<u16> {
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

/// An HTTP request, a TCP connection or a UDP exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRequest {
    scheme: Scheme,
    host: Host,
    port: u16,
    /// The HTTP method in upper case; `None` if it is unknown or the scheme has no methods.
    method: Option<Box<str>>,
}

impl NetworkRequest {
    /// Creates an HTTP request: `https`, `api.example.com:8443`, `GET`.
    ///
    /// # Errors
    /// Returns an error if the scheme is not `http` or `https`, or if the authority or the method
    /// is not valid. An authority with user information is not valid, since the text before the `@`
    /// can be mistaken for the host.
    pub fn http(scheme: &str, authority: &str, method: &str) -> Result<Self, AccessRequestError> {
        let scheme = [Scheme::Https, Scheme::Http]
            .into_iter()
            .find(|known| known.word().eq_ignore_ascii_case(scheme))
            .ok_or_else(|| AccessRequestError::Scheme(truncate(scheme)))?;
        if authority.contains('@') {
            return Err(AccessRequestError::User);
        }
        let (host, port) = split_authority(authority);
        let port = match port {
            // All implementations treat an empty port as the default port.
            None | Some("") => scheme.port().unwrap_or_default(),
            Some(port) => parse_port(port).ok_or_else(|| AccessRequestError::Port(truncate(port)))?,
        };
        let is_token = !method.is_empty() && method.len() <= 64 && method.bytes().all(is_token_byte);
        if !is_token {
            return Err(AccessRequestError::Method(truncate(method)));
        }
        let method = Some(method.to_ascii_uppercase().into());
        Ok(Self { scheme, host: parse_host(host)?, port, method })
    }

    /// Creates a TCP connection.
    ///
    /// # Errors
    /// Returns an error if the host or the port is not valid.
    pub fn tcp(host: &str, port: u16) -> Result<Self, AccessRequestError> {
        Self::connection(Scheme::Tcp, host, port)
    }

    /// Creates a UDP exchange.
    ///
    /// # Errors
    /// Returns an error if the host or the port is not valid.
    pub fn udp(host: &str, port: u16) -> Result<Self, AccessRequestError> {
        Self::connection(Scheme::Udp, host, port)
    }

    /// Creates a connection whose data the host does not interpret. The method of an HTTP request
    /// on it is unknown.
    ///
    /// # Errors
    /// Returns an error if the host or the port is not valid.
    pub fn connection(scheme: Scheme, host: &str, port: u16) -> Result<Self, AccessRequestError> {
        let host = parse_host(host)?;
        if port == 0 {
            return Err(AccessRequestError::Port("0".to_owned()));
        }
        Ok(Self { scheme, host, port, method: None })
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the HTTP method in upper case; `None` if the host does not know it, or for a scheme
    /// without methods.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Returns the scheme, the host, and the port unless it is the default one:
    /// `https://api.example.com`.
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessExtent {
    /// The existence, type, size and times of the file, but not its content.
    Metadata,
    /// A directory that is created at the path.
    NewDirectory,
    /// The file or directory at the path.
    #[default]
    Path,
    /// The file or directory at the path, and everything below it. Renaming a directory also moves
    /// its content, so access to none of the content may be denied.
    Tree,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAccess {
    path: PathBuf,
    operation: FileOperation,
    extent: AccessExtent,
    classes: ProtectedClasses,
}

impl FileAccess {
    /// Creates an access to a path, which is absolute or relative to the root module's
    /// directory.
    ///
    /// # Errors
    /// Returns an error if a relative path leads out of that directory, or if the path is not
    /// valid.
    pub fn new(
        root_module: &Path,
        path: &Path,
        operation: FileOperation,
    ) -> Result<Self, AccessRequestError> {
        Ok(Self::from_normalized(normalize(root_module, path)?, operation))
    }

    /// Creates an access to a path that [`normalize`](crate::normalize) returned.
    pub fn from_normalized(path: PathBuf, operation: FileOperation) -> Self {
        Self { path, operation, extent: AccessExtent::Path, classes: ProtectedClasses::NONE }
    }

    #[must_use]
    pub fn with_extent(self, extent: AccessExtent) -> Self {
        Self { extent, ..self }
    }

    /// Extends the access to everything below the path.
    #[must_use]
    pub fn with_descendants(self) -> Self {
        self.with_extent(AccessExtent::Tree)
    }

    /// Adds classes of protected files that the file, or a file below the path, belongs to for a
    /// reason other than its path.
    #[must_use]
    pub fn with_classes(self, classes: ProtectedClasses) -> Self {
        Self { classes: self.classes.union(classes), ..self }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn operation(&self) -> FileOperation {
        self.operation
    }

    pub fn extent(&self) -> AccessExtent {
        self.extent
    }

    pub fn classes(&self) -> ProtectedClasses {
        self.classes
    }

    /// Returns whether the access extends to everything below the path.
    pub fn includes_descendants(&self) -> bool {
        self.extent == AccessExtent::Tree
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EnvironmentName(Box<str>);

impl EnvironmentName {
    /// Creates a name.
    ///
    /// # Errors
    /// Returns an error if an environment variable cannot have this name.
    pub fn new(name: &str) -> Result<Self, AccessRequestError> {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(AccessRequestError::Variable(truncate(name)));
        }
        Ok(Self(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A program with its arguments, the names of the variables that are set for it, and its working
/// directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStart {
    program: Box<str>,
    arguments: Box<[String]>,
    variables: Box<[EnvironmentName]>,
    directory: Option<PathBuf>,
    replaceable: Option<PathBuf>,
}

impl ProcessStart {
    /// Creates a process start from the program's bare name, or its absolute path without `.` and
    /// `..`, and its arguments without the program's name.
    ///
    /// # Errors
    /// Returns an error if the program is given in any other form, or if no operating system can
    /// start it with these arguments.
    pub fn new(
        program: &str,
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<Self, AccessRequestError> {
        let arguments: Box<[String]> = arguments.into_iter().take(MAX_ARGUMENTS + 1).collect();
        if arguments.len() > MAX_ARGUMENTS {
            return Err(AccessRequestError::Arguments);
        }
        if program.contains('\0') || arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(AccessRequestError::NulByte);
        }
        let is_bare = !program.is_empty() && !program.contains(['/', '\\']) && !matches!(program, "." | "..");
        let is_absolute = Path::new(program).is_absolute()
            && Path::new(program).file_name().is_some()
            && normalize(Path::new("/"), Path::new(program)).is_ok_and(|path| path.to_str() == Some(program));
        if !is_bare && !is_absolute {
            return Err(AccessRequestError::Program(truncate(program)));
        }
        Ok(Self {
            program: program.into(),
            arguments,
            variables: Box::default(),
            directory: None,
            replaceable: None,
        })
    }

    /// Adds the names of the variables that the plugin sets for the program. Variables that the
    /// host passes on because policy grants them are not included.
    ///
    /// # Errors
    /// Returns an error if a name is invalid, or if a name occurs twice, since programs differ in
    /// which of the values they use.
    pub fn with_variables<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, AccessRequestError> {
        let mut variables = Vec::new();
        for name in names {
            if variables.len() >= MAX_VARIABLES {
                return Err(AccessRequestError::Variables);
            }
            variables.push(EnvironmentName::new(name)?);
        }
        variables.sort();
        if let Some([name, _]) = variables.array_windows().find(|[one, two]| one == two) {
            return Err(AccessRequestError::RepeatedVariable(truncate(name.as_str())));
        }
        self.variables = variables.into();
        Ok(self)
    }

    /// Sets the working directory: absolute, without links.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// Sets the file to which the program's name resolves. Set only if plugins may write the file.
    #[must_use]
    pub fn with_replaceable_file(mut self, file: &Path) -> Self {
        self.replaceable = Some(file.to_owned());
        self
    }

    pub fn program(&self) -> &str {
        &self.program
    }

    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns the names of the variables that the plugin sets, sorted.
    pub fn variables(&self) -> &[EnvironmentName] {
        &self.variables
    }

    /// Returns the working directory, if it is known.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the program's file if plugins may write it.
    pub fn replaceable_file(&self) -> Option<&Path> {
        self.replaceable.as_deref()
    }
}

/// A connection to a provisioned machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicatorConnection {
    host: Host,
    port: u16,
}

impl CommunicatorConnection {
    /// Creates a connection to a host.
    ///
    /// # Errors
    /// Returns an error if the host or the port is not valid.
    pub fn new(host: &str, port: u16) -> Result<Self, AccessRequestError> {
        if port == 0 {
            return Err(AccessRequestError::Port("0".to_owned()));
        }
        Ok(Self { host: parse_host(host)?, port })
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Describes the access as part of a sentence. Text that the plugin chose is quoted, with control
/// characters escaped.
impl fmt::Display for AccessRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(request) => write!(formatter, "the request {request}"),
            Self::LookUp(host) => write!(formatter, "resolving the name {host}"),
            Self::File(FileAccess { path, operation: FileOperation::Read, .. }) => {
                write!(formatter, "reading {:?}", path.to_string_lossy())
            }
            Self::File(FileAccess { path, operation: FileOperation::Write, .. }) => {
                write!(formatter, "writing to {:?}", path.to_string_lossy())
            }
            Self::File(FileAccess { path, operation: FileOperation::Connect, .. }) => {
                write!(formatter, "connecting to the socket {:?}", path.to_string_lossy())
            }
            Self::Environment(name) => write!(formatter, "the environment variable {:?}", name.0),
            Self::Process(start) => {
                write!(formatter, "running the program {:?}", start.program)?;
                for (index, name) in start.variables.iter().enumerate() {
                    let before = match index {
                        0 if start.variables.len() == 1 => " with the environment variable ",
                        0 => " with the environment variables ",
                        _ => ", ",
                    };
                    write!(formatter, "{before}{:?}", name.0)?;
                }
                match &start.replaceable {
                    Some(file) => {
                        let file = file.to_string_lossy();
                        write!(formatter, ", found as {file:?} in a directory that plugins may write to")
                    }
                    None => Ok(()),
                }
            }
            Self::Communicator(connection) => {
                write!(formatter, "a connection to {}, port {}", connection.host, connection.port)
            }
        }
    }
}

/// The reason why input cannot be converted to an access request. The access is denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessRequestError {
    /// The scheme is neither `http` nor `https`.
    #[error("the scheme {0:?} is neither http nor https")]
    Scheme(String),
    #[error("{host:?} is not a host: {problem}")]
    Host {
        /// The input, truncated if it is long.
        host: String,
        problem: HostProblem,
    },
    /// The authority contains user information: `user@host`.
    #[error("a URL must not contain a user name")]
    User,
    #[error("{0:?} is not a port")]
    Port(String),
    #[error("{0:?} is not an HTTP method")]
    Method(String),
    #[error("invalid path: {0}")]
    Path(#[from] PathProblem),
    #[error("{0:?} is not a valid name of an environment variable")]
    Variable(String),
    #[error("the program {0:?} is neither a bare name nor an absolute path without \"..\"")]
    Program(String),
    #[error("there are more than {MAX_ARGUMENTS} arguments")]
    Arguments,
    #[error("there are more than {MAX_VARIABLES} environment variables")]
    Variables,
    /// A variable is set twice.
    #[error("the environment variable {0:?} is set twice")]
    RepeatedVariable(String),
    /// The input contains a NUL byte, which terminates strings in system calls.
    #[error("it contains a NUL byte")]
    NulByte,
}

fn parse_host(text: &str) -> Result<Host, AccessRequestError> {
    Host::parse(text).map_err(|problem| AccessRequestError::Host { host: truncate(text), problem })
}

/// Splits an authority into host and port. The brackets of an IPv6 address are preserved.
fn split_authority(authority: &str) -> (&str, Option<&str>) {
    let brackets_end = authority.rfind(']').map_or(0, |at| at + 1);
    match authority.get(brackets_end..).and_then(|rest| rest.rfind(':')) {
        Some(at) => {
            let (host, port) = authority.split_at(brackets_end + at);
            (host, port.get(1..))
        }
        None => (authority, None),
    }
}

/// Parses a port in decimal digits. Zero is not a valid port.
pub fn parse_port(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port != 0)
}

fn truncate(text: &str) -> String {
    const MAX_LENGTH: usize = 80;
    let mut truncated: String = text.chars().take(MAX_LENGTH).collect();
    if truncated.len() < text.len() {
        truncated.push_str("...");
    }
    truncated
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
    fn network_request_has_one_canonical_form() {
        assert_eq!(http("HTTPS", "API.example.com.:443", "get"), "GET https://api.example.com");
        assert_eq!(http("http", "api.example.com:", "GET"), "GET http://api.example.com");
        assert_eq!(http("https", "[::1]:8443", "GET"), "GET https://[::1]:8443");
        assert_eq!(http("https", "[::ffff:127.0.0.1]", "GET"), "GET https://127.0.0.1");
        assert_eq!(http("https", "0x7f.1:80", "GET"), "GET https://127.0.0.1:80");
    }

    #[test]
    fn connection_has_no_method() {
        for (scheme, port, expected) in [
            (Scheme::Https, 443, "https://api.example.com"),
            (Scheme::Http, 8080, "http://api.example.com:8080"),
            (Scheme::Tcp, 443, "tcp://api.example.com:443"),
        ] {
            let connection = NetworkRequest::connection(scheme, "API.example.com.", port).unwrap();
            assert_eq!((connection.to_string().as_str(), connection.method()), (expected, None));
        }
        assert!(NetworkRequest::connection(Scheme::Https, "api.example.com", 0).is_err());
        assert!(NetworkRequest::connection(Scheme::Https, "a b", 443).is_err());
    }

    #[test]
    fn rejects_ambiguous_http_requests() {
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
    fn rejects_ambiguous_program_names() {
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
            ProcessStart::new("git", std::iter::repeat_n(String::new(), MAX_ARGUMENTS + 1)),
            Err(AccessRequestError::Arguments)
        );
        assert_eq!(ProcessStart::new("git", ["a\0".to_owned()]), Err(AccessRequestError::NulByte));
    }

    #[test]
    fn rejects_invalid_variable_names() {
        assert!(EnvironmentName::new("A").is_ok());
        assert!(EnvironmentName::new("A=B").is_err());
        assert!(EnvironmentName::new("").is_err());
    }

    #[test]
    fn rejects_ambiguous_program_variables() {
        let start = |names: &[&str]| {
            let start = ProcessStart::new("git", []).unwrap();
            start.with_variables(names.iter().copied())
        };
        let names: Vec<String> =
            start(&["B", "A"]).unwrap().variables().iter().map(|name| name.as_str().to_owned()).collect();
        assert_eq!(names, ["A", "B"]);
        for bad in [&["A", "B", "A"][..], &[""], &["A=B"], &["A\0"], &["LD_PRELOAD=x", "LD_PRELOAD"]] {
            assert!(start(bad).is_err(), "{bad:?}");
        }
        let many: Vec<String> = (0..=MAX_VARIABLES).map(|number| format!("V{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(start(&many), Err(AccessRequestError::Variables));
    }
}
