//! The definition of the service `login.v1` in a host's list of services.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use url::Url;

use super::LoginError;
use crate::services::{HostServices, LOGIN};

/// The ports of the temporary server, unless the host restricts them.
const PORTS: RangeInclusive<u16> = 1024..=65535;

const MAX_SCOPES: usize = 64;

/// The configuration of a host's token service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoginSettings {
    pub(super) client_id: String,
    /// The login page; `None` if the grant type `authz_code` is not allowed.
    pub(super) authorization_url: Option<Url>,
    pub(super) token_url: Url,
    pub(super) ports: RangeInclusive<u16>,
    pub(super) scopes: Vec<String>,
    pub(super) allows_password: bool,
}

impl LoginSettings {
    pub(super) fn parse(services: &HostServices, value: &Value) -> Result<Self, LoginError> {
        let invalid = |problem: &str| LoginError::Service {
            host: services.host().clone(),
            error: services.invalid(LOGIN, problem),
        };
        let definition = value.as_object().ok_or_else(|| invalid("it must be an object"))?;
        let required = |name: &str| {
            let text = definition.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.ok_or_else(|| invalid(&format!("it has no property \"{name}\"")))
        };
        let url = |name: &str| {
            let resolved = services.resolve(LOGIN, required(name)?);
            resolved.map_err(|error| LoginError::Service { host: services.host().clone(), error })
        };
        let grants = texts(definition, "grant_types").map_err(invalid)?;
        let allows =
            |grant: &str| grants.as_ref().is_some_and(|grants| grants.iter().any(|name| name == grant));
        let allows_code = grants.is_none() || allows("authz_code");
        Ok(Self {
            client_id: required("client")?.to_owned(),
            authorization_url: allows_code.then(|| url("authz")).transpose()?,
            token_url: url("token")?,
            ports: ports(definition).map_err(invalid)?,
            scopes: texts(definition, "scopes").map_err(invalid)?.unwrap_or_default(),
            allows_password: allows("password"),
        })
    }
}

fn texts(definition: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, &'static str> {
    const PROBLEM: &str = "\"grant_types\" and \"scopes\" must be lists of strings";
    match definition.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(values)) if values.len() <= MAX_SCOPES => {
            let texts: Option<Vec<String>> =
                values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
            texts.map(Some).ok_or(PROBLEM)
        }
        Some(_) => Err(PROBLEM),
    }
}

fn ports(definition: &Map<String, Value>) -> Result<RangeInclusive<u16>, &'static str> {
    let port = |value: &Value| {
        value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| PORTS.contains(port))
    };
    match definition.get("ports") {
        None | Some(Value::Null) => Ok(PORTS),
        Some(Value::Array(values)) => match values.as_slice() {
            [low, high] => match (port(low), port(high)) {
                (Some(low), Some(high)) if low <= high => Ok(low..=high),
                (Some(_), Some(_)) => Err("the first of its \"ports\" must not be larger than the second"),
                _ => Err("both of its \"ports\" must be whole numbers between 1024 and 65535"),
            },
            _ => Err("its \"ports\" must be a list of two numbers"),
        },
        Some(_) => Err("its \"ports\" must be a list of two numbers"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::service_host::ServiceHost;

    fn parse(definition: &Value) -> Result<LoginSettings, String> {
        let host = ServiceHost::parse("a.example").unwrap();
        let services = HostServices::from_override(host, std::collections::BTreeMap::new());
        LoginSettings::parse(&services, definition).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_have_defaults() {
        let settings = parse(&json!({"client": "c", "authz": "/a", "token": "https://b.example/t"})).unwrap();
        assert_eq!(settings.authorization_url.unwrap().as_str(), "https://a.example/a");
        assert_eq!(settings.token_url.as_str(), "https://b.example/t");
        assert_eq!((settings.ports, settings.scopes.len(), settings.allows_password), (PORTS, 0, false));
        let settings = parse(&json!({
            "client": "c", "token": "/t", "grant_types": ["password", "other"], "ports": [10000, 10010],
            "scopes": ["a", "b"],
        }))
        .unwrap();
        assert_eq!(settings.authorization_url, None);
        assert_eq!(settings.ports, 10_000..=10_010);
        assert!(settings.allows_password);
    }

    #[test]
    fn invalid_settings_are_rejected() {
        let with = |name: &str, value: Value| {
            let mut definition = json!({"client": "c", "authz": "/a", "token": "/t"});
            definition[name] = value;
            definition
        };
        for (definition, expected) in [
            (json!("https://a.example/"), "it must be an object"),
            (with("client", json!("")), "no property \"client\""),
            (with("token", json!(null)), "no property \"token\""),
            (with("authz", json!(1)), "no property \"authz\""),
            (with("authz", json!("javascript:alert(1)")), "must be an http or https URL"),
            (with("token", json!("https://u:p@a.example/")), "user name"),
            (with("ports", json!([1, 2])), "between 1024 and 65535"),
            (with("ports", json!([2000, 70_000])), "between 1024 and 65535"),
            (with("ports", json!([2000.5, 3000])), "between 1024 and 65535"),
            (with("ports", json!([3000, 2000])), "must not be larger"),
            (with("ports", json!([3000])), "list of two numbers"),
            (with("scopes", json!("a b")), "lists of strings"),
            (with("grant_types", json!([1])), "lists of strings"),
        ] {
            let error = parse(&definition).unwrap_err();
            assert!(error.contains(expected), "{definition}: {error}");
        }
    }
}
