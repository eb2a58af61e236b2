//! The connection string of PostgreSQL, and the variables that libpq reads.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use url::Url;
use wardian_access::{HostConnections, HostPeer};
use wardian_files::read_regular;
use wardian_network::{TlsSettings, Verification};

use crate::backend::BackendError;
use crate::config::Settings;

/// Maximum size of a file with certificates or passwords.
const MAX_FILE_BYTES: u64 = 4 << 20;
const DEFAULT_PORT: u16 = 5432;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Parameters that are not sent to the server.
const CLIENT_PARAMETERS: &[&str] = &[
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslinline",
    "connect_timeout",
    "passfile",
    "fallback_application_name",
    "application_name",
    "binary_parameters",
    "disable_prepared_binary_result",
    "krbsrvname",
    "krbspn",
];

/// The variables of libpq and the parameters that they set.
const VARIABLES: &[(&str, &str)] = &[
    ("PGHOST", "host"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGDATABASE", "dbname"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGPASSFILE", "passfile"),
    ("PGAPPNAME", "application_name"),
    ("PGOPTIONS", "options"),
];

/// The server and the credentials. `Debug` output contains no secrets.
pub(crate) struct ConnectionSettings {
    pub(crate) server: Server,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    pub(crate) tls: Option<TlsSettings>,
    /// Time limit for connecting and for each response.
    pub(crate) timeout: Duration,
    pub(crate) application_name: String,
    /// Other settings of the session.
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) connections: Option<Arc<dyn HostConnections>>,
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Tcp {
        host: String,
        port: u16,
    },
    /// A Unix domain socket.
    Socket(PathBuf),
}

impl Server {
    pub(super) fn peer(&self) -> HostPeer {
        match self {
            Self::Tcp { host, port } => HostPeer::Tcp { host: host.clone(), port: *port },
            Self::Socket(path) => HostPeer::Socket(path.clone()),
        }
    }
}

impl fmt::Debug for ConnectionSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConnectionSettings")
            .field("server", &self.server)
            .field("user", &self.user)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for ConnectionSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Server::Tcp { host, port } => write!(formatter, "postgres://{host}:{port}/{}", self.database),
            Server::Socket(path) => write!(formatter, "{} ({})", path.display(), self.database),
        }
    }
}

impl ConnectionSettings {
    pub(crate) fn new(settings: Settings<'_>) -> Result<Self, BackendError> {
        let text = settings.text("conn_str", &["PG_CONN_STR"]).unwrap_or_default();
        let mut parameters = parse(&text).map_err(|reason| {
            invalid(&format!(
                "The connection string is not valid: {reason}. It is not shown, because it may contain a \
                              password."
            ))
        })?;
        for (variable, parameter) in VARIABLES {
            if let Some(value) = settings.host.variable(variable) {
                parameters.entry((*parameter).to_owned()).or_insert(value);
            }
        }
        Self::from_parameters(settings, &parameters)
    }

    fn from_parameters(
        settings: Settings<'_>,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Self, BackendError> {
        let text = |name: &str| parameters.get(name).map(String::as_str).filter(|text| !text.is_empty());
        let host = text("host").or_else(|| text("hostaddr")).unwrap_or("localhost");
        if host.contains(',') {
            return Err(invalid(
                "Several hosts in one connection string are not supported. Specify one host.",
            ));
        }
        let port = match text("port") {
            None => DEFAULT_PORT,
            Some(port) => port.parse().map_err(|_| invalid(&format!("\"{port}\" is not a port.")))?,
        };
        let server = if host.starts_with('/') {
            Server::Socket(PathBuf::from(format!("{host}/.s.PGSQL.{port}")))
        } else {
            Server::Tcp { host: host.trim_start_matches('[').trim_end_matches(']').to_owned(), port }
        };
        let account = settings.host.variable("USER").or_else(|| settings.host.variable("LOGNAME"));
        let user = text("user").map(str::to_owned).or(account).unwrap_or_else(|| "postgres".to_owned());
        let database = text("dbname").unwrap_or(&user).to_owned();
        let seconds =
            text("connect_timeout").and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
        let others = parameters.iter().filter(|(name, _)| !CLIENT_PARAMETERS.contains(&name.as_str()));
        let password = match text("password") {
            Some(password) => Some(password.to_owned()),
            None => password_from_file(settings, text("passfile"), &server, &database, &user),
        };
        Ok(Self {
            tls: tls(settings, parameters, &server)?,
            timeout: seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs),
            application_name: text("application_name").unwrap_or("wardian").to_owned(),
            parameters: others.map(|(name, value)| (name.clone(), value.clone())).collect(),
            connections: settings.host.connections.clone(),
            server,
            user,
            password,
            database,
        })
    }
}

fn invalid(detail: &str) -> BackendError {
    BackendError::for_argument("conn_str", "Invalid connection string", detail)
}

/// Returns the TLS settings; [`None`] if the connection is not encrypted.
fn tls(
    settings: Settings<'_>,
    parameters: &BTreeMap<String, String>,
    server: &Server,
) -> Result<Option<TlsSettings>, BackendError> {
    let text = |name: &str| parameters.get(name).map(String::as_str).filter(|text| !text.is_empty());
    let read = |name: &str| {
        let Some(path) = text(name) else { return Ok(None) };
        let path = settings.host.directory.join(path);
        read_regular(&path, MAX_FILE_BYTES).map(Some).map_err(|error| {
            invalid(&format!("The file {} in \"{name}\" cannot be read: {error}.", path.display()))
        })
    };
    let mode = text("sslmode").unwrap_or("require");
    if matches!(server, Server::Socket(_)) || mode == "disable" {
        return Ok(None);
    }
    let authorities = if text("sslrootcert") == Some("system") { None } else { read("sslrootcert")? };
    let verification = match mode {
        // As in libpq, a root certificate implies that the certificate is verified.
        "require" if authorities.is_some() => Verification::Authority,
        "require" => Verification::None,
        "verify-ca" => Verification::Authority,
        "verify-full" => Verification::Full,
        "allow" | "prefer" => {
            return Err(invalid(&format!(
                "The sslmode \"{mode}\" is not supported, because it does not determine whether the connection is \
                 encrypted. Use \"disable\", \"require\", \"verify-ca\" or \"verify-full\"."
            )));
        }
        _ => {
            return Err(invalid(&format!(
                "There is no sslmode \"{mode}\". Use \"disable\", \"require\", \"verify-ca\" or \"verify-full\"."
            )));
        }
    };
    let identity = match (read("sslcert")?, read("sslkey")?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(invalid("\"sslcert\" and \"sslkey\" must be set together.")),
    };
    Ok(Some(TlsSettings { authorities, identity, verification }))
}

/// Parses a connection string: a URL, or a list of `name=value`.
fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let text = text.trim();
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return parse_url(text);
    }
    parse_list(text)
}

fn parse_url(text: &str) -> Result<BTreeMap<String, String>, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    let decode = |text: &str| {
        let pairs = format!("x={}", text.replace('+', "%2B"));
        url::form_urlencoded::parse(pairs.as_bytes()).next().map(|(_, value)| value.into_owned())
    };
    let mut parameters = BTreeMap::new();
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            parameters.insert(name.to_owned(), value);
        }
    };
    set("host", url.host_str().and_then(decode));
    set("port", url.port().map(|port| port.to_string()));
    set("user", decode(url.username()));
    set("password", url.password().and_then(decode));
    set("dbname", decode(url.path().trim_start_matches('/')));
    for (name, value) in url.query_pairs() {
        set(&name, Some(value.into_owned()));
    }
    Ok(parameters)
}

fn parse_list(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut parameters = BTreeMap::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or("a parameter has no value")?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err("the name of a parameter contains white space or is empty".to_owned());
        }
        let (value, after) = parse_value(after.trim_start())?;
        parameters.insert(name.to_owned(), value);
        rest = after.trim_start();
    }
    Ok(parameters)
}

/// Parses a value, which may be in quotation marks, and returns the rest of the text.
fn parse_value(text: &str) -> Result<(String, &str), String> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(is_quoted));
    while let Some((position, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, character)| character)),
            '\'' if is_quoted => return Ok((value, text.get(position + 1..).unwrap_or_default())),
            _ if !is_quoted && character.is_whitespace() => {
                return Ok((value, text.get(position..).unwrap_or_default()));
            }
            _ => value.push(character),
        }
    }
    if is_quoted { Err("a quotation mark is not closed".to_owned()) } else { Ok((value, "")) }
}

/// Returns the password in the password file, whose lines are `host:port:database:user:password`.
fn password_from_file(
    settings: Settings<'_>,
    named: Option<&str>,
    server: &Server,
    database: &str,
    user: &str,
) -> Option<String> {
    let path = match named {
        Some(path) => PathBuf::from(path),
        None => settings.host.home.as_ref()?.join(".pgpass"),
    };
    let text = String::from_utf8(read_regular(&path, MAX_FILE_BYTES).ok()?).ok()?;
    let (host, port) = match server {
        Server::Tcp { host, port } => (host.as_str(), port.to_string()),
        Server::Socket(_) => ("localhost", DEFAULT_PORT.to_string()),
    };
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = split_fields(line);
        let [host_field, port_field, database_field, user_field, password] = fields.as_slice() else {
            return None;
        };
        let matches = |field: &str, value: &str| field == "*" || field == value;
        let is_match = matches(host_field, host)
            && matches(port_field, &port)
            && matches(database_field, database)
            && matches(user_field, user);
        is_match.then(|| password.clone())
    })
}

fn split_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let next = match character {
            '\\' => characters.next(),
            ':' => {
                fields.push(String::new());
                None
            }
            character => Some(character),
        };
        if let (Some(field), Some(next)) = (fields.last_mut(), next) {
            field.push(next);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn connection_strings_are_parsed() {
        assert_eq!(
            parsed("postgres://me:p%40s%2Bs+w@db.example:5433/states?sslmode=disable&options=-c%20x%3D1"),
            pairs(&[
                ("dbname", "states"),
                ("host", "db.example"),
                ("options", "-c x=1"),
                ("password", "p@s+s+w"),
                ("port", "5433"),
                ("sslmode", "disable"),
                ("user", "me"),
            ])
        );
        assert_eq!(
            parsed("host=/run/pg user='a b' password=it\\'s\\\\ dbname = 'x'"),
            pairs(&[("dbname", "x"), ("host", "/run/pg"), ("password", "it's\\"), ("user", "a b")])
                .into_iter()
                .collect::<Vec<_>>()
        );
        assert_eq!(parsed(""), []);
        for bad in ["postgres://[", "host", "a b=c", "x='y", "=z"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn fields_of_password_files_can_contain_escapes() {
        assert_eq!(split_fields("h:*:d\\:b:u:p\\\\w"), ["h", "*", "d:b", "u", "p\\w"]);
    }
}
