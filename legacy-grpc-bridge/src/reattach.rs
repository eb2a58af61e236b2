//! Connects to plugins that were started externally, such as a provider under a debugger.
//!
//! `TF_REATTACH_PROVIDERS` contains their addresses: a JSON object with one member for each
//! provider, by provider address. A provider in debug mode prints the complete value.
//!
//! ```json
//! {
//!   "registry.terraform.io/acme/dns": {
//!     "Protocol": "grpc", "ProtocolVersion": 6, "Pid": 4711, "Test": true,
//!     "Addr": { "Network": "unix", "String": "/tmp/plugin1466867450" }
//!   }
//! }
//! ```
//!
//! The bridge does not launch the process, verify a hash, or use TLS. Only the program that started
//! the process terminates it, regardless of the value of `Test`. The longer of the two time limits
//! applies to all calls, since the process may be stopped at a breakpoint.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Map, Value};
use wardian_address::ProviderAddress;

use crate::ProtocolVersion;
use crate::handshake::{PluginAddress, shown};

/// The address of a plugin that was started externally.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reattachment {
    pub(crate) version: ProtocolVersion,
    pub(crate) address: PluginAddress,
    /// The process ID, for messages.
    process: Option<u64>,
}

impl std::fmt::Display for Reattachment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.process {
            Some(process) => write!(f, "process {process} at {}", self.address),
            None => write!(f, "{}", self.address),
        }
    }
}

/// An error in the variable's value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReattachError {
    /// The value is not JSON.
    #[error("it is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("it must be a JSON object with one member for each provider")]
    NotAnObject,
    /// A member's name is not a provider address.
    #[error("{name:?} is not the address of a provider: {reason}")]
    Address { name: String, reason: String },
    /// Two members name the same provider.
    #[error("{} occurs twice", .0.for_display())]
    Twice(ProviderAddress),
    /// A member has an invalid value.
    #[error("{}: {problem}", provider.for_display())]
    Member { provider: ProviderAddress, problem: String },
}

/// Parses the value of the variable. An empty value contains no plugins.
///
/// # Errors
/// Returns the error, and the provider that it concerns.
pub fn parse_reattachments(text: &str) -> Result<BTreeMap<ProviderAddress, Reattachment>, ReattachError> {
    let mut found = BTreeMap::new();
    if text.trim().is_empty() {
        return Ok(found);
    }
    let Value::Object(members) = serde_json::from_str(text)? else { return Err(ReattachError::NotAnObject) };
    for (name, member) in members {
        let provider = ProviderAddress::parse(&name)
            .map_err(|error| ReattachError::Address { name: shown(&name), reason: error.to_string() })?;
        match reattachment(&member) {
            Ok(reattachment) if !found.contains_key(&provider) => {
                found.insert(provider, reattachment);
            }
            Ok(_) => return Err(ReattachError::Twice(provider)),
            Err(problem) => return Err(ReattachError::Member { provider, problem }),
        }
    }
    Ok(found)
}

fn reattachment(member: &Value) -> Result<Reattachment, String> {
    let Value::Object(member) = member else { return Err("it must be an object".into()) };
    match text(member, "Protocol")? {
        Some("grpc") | None => {}
        Some(other) => return Err(format!("it uses {:?}, but only gRPC is supported", shown(other))),
    }
    // Providers before 0.15 do not report their protocol version.
    let version = match member.get("ProtocolVersion") {
        None | Some(Value::Null) => ProtocolVersion::Five,
        Some(Value::Number(number)) => match number.as_u64() {
            Some(0 | 5) => ProtocolVersion::Five,
            Some(6) => ProtocolVersion::Six,
            _ => {
                return Err(format!(
                    "\"ProtocolVersion\" is {number}, but only versions 5 and 6 are \
                supported"
                ));
            }
        },
        Some(_) => return Err("\"ProtocolVersion\" must be a number".into()),
    };
    let process = match member.get("Pid") {
        None | Some(Value::Null) => None,
        Some(number) => Some(number.as_u64().ok_or("\"Pid\" must be a process ID")?),
    };
    let Some(Value::Object(place)) = member.get("Addr") else {
        return Err("\"Addr\" is missing: an object with the address at which it listens".into());
    };
    let at = text(place, "String")?.unwrap_or_default();
    let address = match text(place, "Network")? {
        Some("unix") if !at.is_empty() => PluginAddress::Unix(PathBuf::from(at)),
        Some("tcp") => PluginAddress::Tcp(socket_address(at).ok_or_else(|| {
            format!(
                "\"String\" is {:?}, but it must be an address and a port, as in 127.0.0.1:4711",
                shown(at)
            )
        })?),
        Some("unix") => return Err("\"String\" must be the path of its socket".into()),
        other => {
            let other = shown(other.unwrap_or_default());
            return Err(format!("\"Network\" is {other:?}, but only \"unix\" and \"tcp\" are supported"));
        }
    };
    Ok(Reattachment { version, address, process })
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("\"{name}\" must be a string")),
    }
}

fn socket_address(text: &str) -> Option<SocketAddr> {
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numeric.as_deref().unwrap_or(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(member: &str) -> Result<Reattachment, String> {
        let text = format!(r#"{{"example.com/acme/dns": {member}}}"#);
        let found = parse_reattachments(&text).map_err(|error| error.to_string())?;
        Ok(found.into_values().next().unwrap())
    }

    #[test]
    fn provider_debug_output_is_parsed() {
        let unix = r#"{"Protocol":"grpc","ProtocolVersion":6,"Pid":4711,"Test":true,
            "Addr":{"Network":"unix","String":"/tmp/plugin1"}}"#;
        let unix = one(unix).unwrap();
        assert_eq!(unix.version, ProtocolVersion::Six);
        assert_eq!(unix.to_string(), "process 4711 at /tmp/plugin1");
        let old = one(r#"{"Protocol":"grpc","Addr":{"Network":"tcp","String":"localhost:4711"}}"#).unwrap();
        assert_eq!(old.version, ProtocolVersion::Five);
        assert_eq!(old.to_string(), "127.0.0.1:4711");
        assert_eq!(parse_reattachments(" ").unwrap(), BTreeMap::new());
        let two = r#"{"random": {"Addr":{"Network":"unix","String":"/a"}},
            "acme/dns": {"Addr":{"Network":"unix","String":"/b"}}}"#;
        let addresses: Vec<String> =
            parse_reattachments(two).unwrap().keys().map(ToString::to_string).collect();
        assert_eq!(addresses, ["registry.terraform.io/acme/dns", "registry.terraform.io/hashicorp/random"]);
    }

    #[test]
    fn invalid_values_have_specific_errors() {
        let error = |text: &str| parse_reattachments(text).unwrap_err().to_string();
        assert!(error("{").starts_with("it is not JSON: "));
        assert_eq!(error("[]"), "it must be a JSON object with one member for each provider");
        assert!(error(r#"{"a/b/c/d": {}}"#).starts_with("\"a/b/c/d\" is not the address of a provider: "));
        let place = r#"{"Addr":{"Network":"unix","String":"/a"}}"#;
        let twice = format!(r#"{{"hashicorp/random": {place}, "random": {place}}}"#);
        assert_eq!(error(&twice), "hashicorp/random occurs twice");
        for (member, problem) in [
            ("1", "it must be an object"),
            ("{}", "\"Addr\" is missing: an object with the address at which it listens"),
            (r#"{"Protocol":"netrpc"}"#, "it uses \"netrpc\", but only gRPC is supported"),
            (r#"{"ProtocolVersion":4}"#, "\"ProtocolVersion\" is 4, but only versions 5 and 6 are supported"),
            (r#"{"ProtocolVersion":"6"}"#, "\"ProtocolVersion\" must be a number"),
            (r#"{"Pid":-1}"#, "\"Pid\" must be a process ID"),
            (r#"{"Addr":{"Network":1}}"#, "\"Network\" must be a string"),
            (r#"{"Addr":{}}"#, "\"Network\" is \"\", but only \"unix\" and \"tcp\" are supported"),
            (r#"{"Addr":{"Network":"unix"}}"#, "\"String\" must be the path of its socket"),
            (
                r#"{"Addr":{"Network":"tcp","String":"example.com"}}"#,
                "\"String\" is \"example.com\", but it must be an address and a port, as in 127.0.0.1:4711",
            ),
        ] {
            assert_eq!(one(member).unwrap_err(), format!("example.com/acme/dns: {problem}"), "{member}");
        }
    }
}
