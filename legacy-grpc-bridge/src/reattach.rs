//! Plugins that somebody else started, such as a provider under a debugger.
//!
//! `TF_REATTACH_PROVIDERS` says where they are: an object of JSON with one member for each
//! provider, by address. A provider in its debug mode prints the whole text.
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
//! Nothing is launched, nothing compared with a hash, nothing secured with TLS, and the
//! process is not ended by us, whatever `Test` says: who started it ends it. Calls have
//! the longest time that there is, since the process may stand at a breakpoint.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Map, Value};
use wardian_address::ProviderAddress;

use crate::ProtocolVersion;
use crate::handshake::{PluginAddress, shown};

/// Where a plugin is that somebody else started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reattachment {
    pub(crate) version: ProtocolVersion,
    pub(crate) address: PluginAddress,
    /// For messages.
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

/// Why the variable's text cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReattachError {
    /// It is no JSON.
    #[error("it is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It is something else than an object.
    #[error("it has to be an object of JSON with one member for each provider")]
    NotAnObject,
    /// A member's name is not the address of a provider.
    #[error("{name:?} is not the address of a provider: {reason}")]
    Address {
        /// The name.
        name: String,
        /// Why.
        reason: String,
    },
    /// Two members mean the same provider.
    #[error("{} is there twice", .0.for_display())]
    Twice(ProviderAddress),
    /// A member says something that cannot be.
    #[error("{}: {problem}", provider.for_display())]
    Member {
        /// Of which provider.
        provider: ProviderAddress,
        /// What is wrong.
        problem: String,
    },
}

/// Reads the variable's text. One that is empty names no plugin.
///
/// # Errors
/// What about it is wrong, and for which provider.
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
    let Value::Object(member) = member else { return Err("it has to be an object".into()) };
    match text(member, "Protocol")? {
        Some("grpc") | None => {}
        Some(other) => return Err(format!("it speaks {:?}, where only gRPC is supported", shown(other))),
    }
    // Providers of before 0.15 do not say their version.
    let version = match member.get("ProtocolVersion") {
        None | Some(Value::Null) => ProtocolVersion::Five,
        Some(Value::Number(number)) => match number.as_u64() {
            Some(0 | 5) => ProtocolVersion::Five,
            Some(6) => ProtocolVersion::Six,
            _ => return Err(format!("\"ProtocolVersion\" is {number}; versions 5 and 6 are known here")),
        },
        Some(_) => return Err("\"ProtocolVersion\" has to be a number".into()),
    };
    let process = match member.get("Pid") {
        None | Some(Value::Null) => None,
        Some(number) => Some(number.as_u64().ok_or("\"Pid\" has to be the number of a process")?),
    };
    let Some(Value::Object(place)) = member.get("Addr") else {
        return Err("\"Addr\" is missing: an object that says where it listens".into());
    };
    let at = text(place, "String")?.unwrap_or_default();
    let address = match text(place, "Network")? {
        Some("unix") if !at.is_empty() => PluginAddress::Unix(PathBuf::from(at)),
        Some("tcp") => PluginAddress::Tcp(socket_address(at).ok_or_else(|| {
            format!(
                "\"String\" is {:?}, where an address and a port have to be, as in 127.0.0.1:4711",
                shown(at)
            )
        })?),
        Some("unix") => return Err("\"String\" has to be the path of its socket".into()),
        other => {
            let other = shown(other.unwrap_or_default());
            return Err(format!("\"Network\" is {other:?}, where only \"unix\" and \"tcp\" are known"));
        }
    };
    Ok(Reattachment { version, address, process })
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("\"{name}\" has to be a text")),
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
    fn what_a_provider_prints_is_understood() {
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
    fn what_is_wrong_is_said() {
        let error = |text: &str| parse_reattachments(text).unwrap_err().to_string();
        assert!(error("{").starts_with("it is not JSON: "));
        assert_eq!(error("[]"), "it has to be an object of JSON with one member for each provider");
        assert!(error(r#"{"a/b/c/d": {}}"#).starts_with("\"a/b/c/d\" is not the address of a provider: "));
        let place = r#"{"Addr":{"Network":"unix","String":"/a"}}"#;
        let twice = format!(r#"{{"hashicorp/random": {place}, "random": {place}}}"#);
        assert_eq!(error(&twice), "hashicorp/random is there twice");
        for (member, problem) in [
            ("1", "it has to be an object"),
            ("{}", "\"Addr\" is missing: an object that says where it listens"),
            (r#"{"Protocol":"netrpc"}"#, "it speaks \"netrpc\", where only gRPC is supported"),
            (r#"{"ProtocolVersion":4}"#, "\"ProtocolVersion\" is 4; versions 5 and 6 are known here"),
            (r#"{"ProtocolVersion":"6"}"#, "\"ProtocolVersion\" has to be a number"),
            (r#"{"Pid":-1}"#, "\"Pid\" has to be the number of a process"),
            (r#"{"Addr":{"Network":1}}"#, "\"Network\" has to be a text"),
            (r#"{"Addr":{}}"#, "\"Network\" is \"\", where only \"unix\" and \"tcp\" are known"),
            (r#"{"Addr":{"Network":"unix"}}"#, "\"String\" has to be the path of its socket"),
            (
                r#"{"Addr":{"Network":"tcp","String":"example.com"}}"#,
                "\"String\" is \"example.com\", where an address and a port have to be, as in 127.0.0.1:4711",
            ),
        ] {
            assert_eq!(one(member).unwrap_err(), format!("example.com/acme/dns: {problem}"), "{member}");
        }
    }
}
