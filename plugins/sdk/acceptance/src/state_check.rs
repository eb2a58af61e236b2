//! Checks of the state after a step.

use std::fmt;

use regex::Regex;
use serde_json::Value as Json;

use crate::plan_check::compare;
use crate::tested_state::TestedState;
use wardian_sdk::testing::value_path::{ValuePath, shown};

type Custom = Box<dyn Fn(&TestedState) -> Result<(), String> + Send + Sync>;

/// A check of the state after a step. Paths have the form `disk[0].size`.
///
/// ```
/// use wardian_acceptance::{StateCheck, json};
///
/// let checks = [
///     StateCheck::value("cloud_server.web", "size", json!(8)),
///     StateCheck::matches("cloud_server.web", "id", "^srv-[0-9]+$"),
///     StateCheck::unchanged("cloud_server.web", "id"),
///     StateCheck::output("address", json!("10.0.0.1")),
///     StateCheck::objects(1),
/// ];
/// ```
pub struct StateCheck(Kind);

enum Kind {
    Value(String, String, Json),
    Matches(String, String, String),
    Set(String, String),
    Null(String, String),
    Same((String, String), (String, String)),
    Unchanged(String, String),
    Changed(String, String),
    Identity(String, Json),
    Output(String, Json),
    Objects(usize),
    Absent(String),
    Custom(Custom),
}

impl StateCheck {
    /// Checks that an attribute is equal to a value.
    ///
    /// ```
    /// use wardian_acceptance::{StateCheck, json};
    /// StateCheck::value("cloud_server.web", "tags.env", json!("test"));
    /// ```
    pub fn value(address: &str, path: &str, value: Json) -> Self {
        Self(Kind::Value(address.to_owned(), path.to_owned(), value))
    }

    /// Checks that a regular expression matches an attribute, which is a string.
    ///
    /// ```
    /// wardian_acceptance::StateCheck::matches("cloud_server.web", "id", "^srv-");
    /// ```
    pub fn matches(address: &str, path: &str, pattern: &str) -> Self {
        Self(Kind::Matches(address.to_owned(), path.to_owned(), pattern.to_owned()))
    }

    /// Checks that an attribute is not null.
    ///
    /// ```
    /// wardian_acceptance::StateCheck::set("cloud_server.web", "created_at");
    /// ```
    pub fn set(address: &str, path: &str) -> Self {
        Self(Kind::Set(address.to_owned(), path.to_owned()))
    }

    /// Checks that an attribute is null.
    ///
    /// ```
    /// wardian_acceptance::StateCheck::null("cloud_server.web", "description");
    /// ```
    pub fn null(address: &str, path: &str) -> Self {
        Self(Kind::Null(address.to_owned(), path.to_owned()))
    }

    /// Checks that two attributes have the same value.
    ///
    /// ```
    /// use wardian_acceptance::StateCheck;
    /// StateCheck::same(("cloud_disk.a", "server"), ("cloud_server.web", "id"));
    /// ```
    pub fn same(one: (&str, &str), other: (&str, &str)) -> Self {
        let owned = |(address, path): (&str, &str)| (address.to_owned(), path.to_owned());
        Self(Kind::Same(owned(one), owned(other)))
    }

    /// Checks that an attribute has the same value as before the step.
    ///
    /// ```
    /// wardian_acceptance::StateCheck::unchanged("cloud_server.web", "id");
    /// ```
    pub fn unchanged(address: &str, path: &str) -> Self {
        Self(Kind::Unchanged(address.to_owned(), path.to_owned()))
    }

    /// Checks that an attribute has another value than before the step.
    ///
    /// ```
    /// wardian_acceptance::StateCheck::changed("cloud_server.web", "id");
    /// ```
    pub fn changed(address: &str, path: &str) -> Self {
        Self(Kind::Changed(address.to_owned(), path.to_owned()))
    }

    /// Checks the identity of an object.
    ///
    /// ```
    /// use wardian_acceptance::{StateCheck, json};
    /// StateCheck::identity("cloud_server.web", json!({ "zone": "a", "name": "web" }));
    /// ```
    pub fn identity(address: &str, identity: Json) -> Self {
        Self(Kind::Identity(address.to_owned(), identity))
    }

    /// Checks that an output is equal to a value.
    ///
    /// ```
    /// use wardian_acceptance::{StateCheck, json};
    /// StateCheck::output("ports", json!([80, 443]));
    /// ```
    pub fn output(name: &str, value: Json) -> Self {
        Self(Kind::Output(name.to_owned(), value))
    }

    /// Checks the number of managed objects in the state.
    ///
    /// ```
    /// wardian_acceptance::StateCheck::objects(3);
    /// ```
    pub fn objects(number: usize) -> Self {
        Self(Kind::Objects(number))
    }

    /// Checks that the state does not contain an object.
    ///
    /// ```
    /// wardian_acceptance::StateCheck::absent("cloud_server.old");
    /// ```
    pub fn absent(address: &str) -> Self {
        Self(Kind::Absent(address.to_owned()))
    }

    /// Checks the state with a function. Its error is reported.
    ///
    /// ```
    /// use wardian_acceptance::StateCheck;
    /// StateCheck::custom(|state| match state.text("cloud_server.web", "id")? {
    ///     id if id.len() == 12 => Ok(()),
    ///     id => Err(format!("the id {id} does not have 12 characters")),
    /// });
    /// ```
    pub fn custom(check: impl Fn(&TestedState) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Kind::Custom(Box::new(check)))
    }

    /// Checks a state. `before` is the state before the step.
    pub(crate) fn run(&self, state: &TestedState, before: &TestedState) -> Result<(), String> {
        match &self.0 {
            Kind::Value(address, path, expected) => {
                let path = parsed(path)?;
                compare(&subject(address, &path), path.find(&state.object(address)?.value), expected)
            }
            Kind::Matches(address, path, pattern) => {
                let regex =
                    Regex::new(pattern).map_err(|error| format!("invalid regular expression: {error}"))?;
                let path = parsed(path)?;
                let subject = subject(address, &path);
                match path.find(&state.object(address)?.value) {
                    Some((value, _)) if value.as_str().is_some_and(|text| regex.is_match(text)) => Ok(()),
                    Some((value, is_sensitive)) => Err(format!(
                        "{subject} is {}, expected a string that matches /{pattern}/",
                        shown(value, is_sensitive)
                    )),
                    None => Err(format!("{subject} does not exist")),
                }
            }
            Kind::Set(address, path) => {
                let path = parsed(path)?;
                let object = state.object(address)?;
                let found = path.find(&object.value).filter(|(value, _)| !value.is_null());
                found.map(drop).ok_or_else(|| format!("{} is null", subject(address, &path)))
            }
            Kind::Null(address, path) => {
                let path = parsed(path)?;
                match path.find(&state.object(address)?.value) {
                    Some((value, is_sensitive)) if !value.is_null() => Err(format!(
                        "{} is {}, expected null",
                        subject(address, &path),
                        shown(value, is_sensitive)
                    )),
                    _ => Ok(()),
                }
            }
            Kind::Same((address, path), (other_address, other_path)) => {
                let (one, other) = (state.shown(address, path)?, state.shown(other_address, other_path)?);
                if state.value(address, path)? == state.value(other_address, other_path)? {
                    return Ok(());
                }
                Err(format!("{address}.{path} is {one}, but {other_address}.{other_path} is {other}"))
            }
            Kind::Unchanged(address, path) => {
                if before.value(address, path)? == state.value(address, path)? {
                    return Ok(());
                }
                let (was, is) = (before.shown(address, path)?, state.shown(address, path)?);
                Err(format!("{address}.{path} changed from {was} to {is}"))
            }
            Kind::Changed(address, path) => {
                if before.value(address, path)? != state.value(address, path)? {
                    return Ok(());
                }
                Err(format!("{address}.{path} is still {}", state.shown(address, path)?))
            }
            Kind::Identity(address, expected) => {
                let identity = state.object(address)?.identity.as_ref();
                match identity {
                    Some(identity) if identity == expected => Ok(()),
                    Some(identity) => {
                        Err(format!("the identity of {address} is {identity}, expected {expected}"))
                    }
                    None => Err(format!("{address} has no identity")),
                }
            }
            Kind::Output(name, expected) => {
                let (value, is_sensitive) = state.output(name)?;
                compare(&format!("the output {name}"), Some((value, is_sensitive)), expected)
            }
            Kind::Objects(expected) => {
                let number = state.managed().count();
                if number == *expected {
                    return Ok(());
                }
                let known: Vec<&str> = state.managed().collect();
                Err(format!("the state has {number} objects, expected {expected}: {}", known.join(", ")))
            }
            Kind::Absent(address) => match state.object(address) {
                Ok(_) => Err(format!("the state still has {address}")),
                Err(_) => Ok(()),
            },
            Kind::Custom(check) => check(state),
        }
    }
}

impl fmt::Debug for StateCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateCheck").finish_non_exhaustive()
    }
}

fn parsed(path: &str) -> Result<ValuePath, String> {
    ValuePath::parse(path).map_err(|error| error.to_string())
}

fn subject(address: &str, path: &ValuePath) -> String {
    format!("{address}.{}", path.text())
}
