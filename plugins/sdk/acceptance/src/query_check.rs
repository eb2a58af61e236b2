//! Checks of the results of a query.

use std::fmt;

use serde_json::Value as Json;
use wardian_engine::{ListedObject, QueriedList};
use wardian_value::json;

use wardian_sdk::testing::value_path::{ValuePath, equals};

use crate::plan_check::{compare, missing};

/// A check of the objects that a list found.
///
/// ```
/// use wardian_acceptance::{QueryCheck, json};
///
/// let checks = [
///     QueryCheck::count("list.cloud_server.all", 2),
///     QueryCheck::identity("list.cloud_server.all", json!({ "id": "srv-1" })),
///     QueryCheck::object("list.cloud_server.all", "Server web", "size", json!(8)),
/// ];
/// ```
pub struct QueryCheck {
    list: String,
    kind: Kind,
}

enum Kind {
    Count(usize),
    Identity(Json),
    Named(String),
    Object { name: String, path: String, value: Json },
}

impl QueryCheck {
    fn new(list: &str, kind: Kind) -> Self {
        Self { list: list.to_owned(), kind }
    }

    /// Checks the number of objects.
    ///
    /// ```
    /// wardian_acceptance::QueryCheck::count("list.cloud_server.all", 2);
    /// ```
    pub fn count(list: &str, number: usize) -> Self {
        Self::new(list, Kind::Count(number))
    }

    /// Checks that an object with an identity was found.
    ///
    /// ```
    /// use wardian_acceptance::{QueryCheck, json};
    /// QueryCheck::identity("list.cloud_server.all", json!({ "zone": "a", "name": "web" }));
    /// ```
    pub fn identity(list: &str, identity: Json) -> Self {
        Self::new(list, Kind::Identity(identity))
    }

    /// Checks that an object with a display name was found.
    ///
    /// ```
    /// wardian_acceptance::QueryCheck::named("list.cloud_server.all", "Server web");
    /// ```
    pub fn named(list: &str, display_name: &str) -> Self {
        Self::new(list, Kind::Named(display_name.to_owned()))
    }

    /// Checks an attribute of the object with a display name. The list needs `include_resource = true`.
    ///
    /// ```
    /// use wardian_acceptance::{QueryCheck, json};
    /// QueryCheck::object("list.cloud_server.all", "Server web", "disk[0].size", json!(8));
    /// ```
    pub fn object(list: &str, display_name: &str, path: &str, value: Json) -> Self {
        Self::new(list, Kind::Object { name: display_name.to_owned(), path: path.to_owned(), value })
    }

    /// Checks the results of a query. The error describes the difference.
    pub(crate) fn run(&self, results: &[QueriedList]) -> Result<(), String> {
        let list = results.iter().find(|list| list.address.to_string() == self.list).ok_or_else(|| {
            let known: Vec<String> = results.iter().map(|list| list.address.to_string()).collect();
            missing("the query", &self.list, &known)
        })?;
        let name = &self.list;
        match &self.kind {
            Kind::Count(expected) if list.found.len() == *expected => Ok(()),
            Kind::Count(expected) => Err(format!(
                "{name} found {} objects, expected {expected}: {}",
                list.found.len(),
                names(&list.found)
            )),
            Kind::Identity(expected) => {
                if list.found.iter().any(|one| equals(&one.identity, expected)) {
                    return Ok(());
                }
                let found: Vec<String> =
                    list.found.iter().map(|one| json::to_json_value(&one.identity).to_string()).collect();
                Err(format!("{name} found no object with the identity {expected}, only {}", found.join(", ")))
            }
            Kind::Named(expected) => named(name, &list.found, expected).map(drop),
            Kind::Object { name: display_name, path, value } => {
                let object = named(name, &list.found, display_name)?.object.as_ref().ok_or_else(|| {
                    format!("{name} returned no objects; add include_resource = true to the list block")
                })?;
                let path = ValuePath::parse(path).map_err(|error| error.to_string())?;
                let subject = format!("{} of {display_name:?}", path.text());
                compare(&subject, path.find(object), value)
            }
        }
    }
}

impl fmt::Debug for QueryCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryCheck({})", self.list)
    }
}

fn named<'f>(list: &str, found: &'f [ListedObject], name: &str) -> Result<&'f ListedObject, String> {
    found
        .iter()
        .find(|one| one.display_name == name)
        .ok_or_else(|| format!("{list} found no object with the name {name:?}, only {}", names(found)))
}

fn names(found: &[ListedObject]) -> String {
    if found.is_empty() {
        return "nothing".to_owned();
    }
    found.iter().map(|one| format!("{:?}", one.display_name)).collect::<Vec<_>>().join(", ")
}
