//! Guesses the type of an attribute from the expressions of a configuration.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The partial knowledge about a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Guess {
    /// Nothing, as with `null`.
    #[default]
    Unknown,
    /// Several types. Only a dynamic type can accept all values.
    Any,
    Bool,
    Number,
    String,
    List(Box<Self>),
    Set(Box<Self>),
    Map(Box<Self>),
    Object(BTreeMap<String, Self>),
}

impl Guess {
    pub(crate) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(crate) fn set(element: Self) -> Self {
        Self::Set(Box::new(element))
    }

    pub(crate) fn map(element: Self) -> Self {
        Self::Map(Box::new(element))
    }

    /// Combines what two expressions reveal about the same type.
    pub(crate) fn join(self, other: Self) -> Self {
        use Guess::{Any, Bool, List, Map, Number, Object, Set, String, Unknown};
        match (self, other) {
            (Unknown, known) | (known, Unknown) => known,
            (left, right) if left == right => left,
            // The language converts numbers and bools to strings.
            (String, Number | Bool) | (Number | Bool, String) => String,
            (List(left), List(right)) => Self::list(left.join(*right)),
            (Set(left) | List(left), Set(right) | List(right)) => Self::set(left.join(*right)),
            (Map(left), Map(right)) => Self::map(left.join(*right)),
            (Map(element), Object(members)) | (Object(members), Map(element)) => {
                Self::map(members.into_values().fold(*element, Self::join))
            }
            (Object(mut left), Object(right)) => {
                for (name, guess) in right {
                    let known = left.remove(&name).unwrap_or_default();
                    left.insert(name, known.join(guess));
                }
                Object(left)
            }
            _ => Any,
        }
    }

    /// Returns the element type of a collection, with the known parts of the type.
    pub(crate) fn element(&self) -> Self {
        match self {
            Self::List(element) | Self::Set(element) | Self::Map(element) => (**element).clone(),
            Self::Object(members) => members.values().cloned().fold(Self::Unknown, Self::join),
            Self::Any => Self::Any,
            _ => Self::Unknown,
        }
    }

    /// Returns the type of a member.
    pub(crate) fn member(&self, name: &str) -> Self {
        match self {
            Self::Object(members) => members.get(name).cloned().unwrap_or_default(),
            Self::Map(element) => (**element).clone(),
            Self::Any => Self::Any,
            _ => Self::Unknown,
        }
    }

    /// Returns the type in the JSON form of a schema; `None` if a part of it is not known.
    pub(crate) fn to_type(&self) -> Option<Value> {
        Some(match self {
            Self::Unknown | Self::Any => return None,
            Self::Bool => json!("bool"),
            Self::Number => json!("number"),
            Self::String => json!("string"),
            Self::List(element) => json!(["list", element.to_type()?]),
            Self::Set(element) => json!(["set", element.to_type()?]),
            Self::Map(element) => json!(["map", element.to_type()?]),
            Self::Object(members) => {
                let types: Option<BTreeMap<&String, Value>> =
                    members.iter().map(|(name, member)| Some((name, member.to_type()?))).collect();
                json!(["object", types?])
            }
        })
    }
}

/// Guesses a type from the name of an attribute, following the conventions of public providers.
pub(crate) fn from_name(name: &str) -> Guess {
    let ends = |suffixes: &[&str]| {
        suffixes.iter().any(|suffix| {
            name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
        })
    };
    const MAPS: &[&str] = &["tags", "labels", "annotations", "metadata", "tags_all"];
    const LISTS: &[&str] = &[
        "ids",
        "arns",
        "names",
        "zones",
        "addresses",
        "cidrs",
        "blocks",
        "domains",
        "hosts",
        "members",
        "groups",
        "subnets",
        "emails",
        "roles",
        "permissions",
        "actions",
        "resources",
        "values",
    ];
    const STRINGS: &[&str] = &[
        "id",
        "arn",
        "name",
        "self_link",
        "email",
        "url",
        "uri",
        "endpoint",
        "fqdn",
        "host",
        "location",
        "region",
        "zone",
        "version",
        "key",
        "secret",
        "password",
        "token",
        "certificate",
        "address",
        "ip",
        "cidr",
        "description",
        "type",
        "path",
        "json",
        "role",
        "member",
        "domain",
        "project",
        "namespace",
        "status",
        "etag",
        "hash",
        "fingerprint",
        "prefix",
        "policy",
        "content",
        "image",
        "value",
        "user",
        "username",
        "account",
        "dns",
    ];
    const NUMBERS: &[&str] = &["count", "port", "size", "ttl", "number", "days", "seconds", "minutes"];
    if MAPS.contains(&name) {
        Guess::map(Guess::String)
    } else if ends(&["enabled"]) || name.starts_with("enable_") || name.starts_with("is_") {
        Guess::Bool
    } else if ends(LISTS) {
        Guess::list(Guess::String)
    } else if ends(STRINGS) {
        Guess::String
    } else if ends(NUMBERS) {
        Guess::Number
    } else {
        Guess::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_guesses_accept_both_values() {
        use Guess::{Any, Bool, Number, String, Unknown};
        for (left, right, joined) in [
            (Unknown, Bool, Bool),
            (String, Number, String),
            (Bool, Number, Any),
            (Guess::list(Unknown), Guess::list(String), Guess::list(String)),
            (Guess::list(String), Guess::set(Number), Guess::set(String)),
            (Guess::map(String), Guess::Object([("a".to_owned(), Number)].into()), Guess::map(String)),
            (Guess::list(String), String, Any),
        ] {
            assert_eq!(left.clone().join(right.clone()), joined, "{left:?} {right:?}");
            assert_eq!(right.clone().join(left.clone()), joined, "{right:?} {left:?}");
        }
    }

    #[test]
    fn incomplete_guess_has_no_type() {
        assert_eq!(Guess::list(Guess::Unknown).to_type(), None);
        let object = Guess::Object([("a".to_owned(), Guess::Bool)].into());
        assert_eq!(Guess::set(object).to_type(), Some(json!(["set", ["object", { "a": "bool" }]])));
    }

    #[test]
    fn types_are_guessed_from_names() {
        assert_eq!(from_name("vpc_id"), Guess::String);
        assert_eq!(from_name("subnet_ids"), Guess::list(Guess::String));
        assert_eq!(from_name("paid"), Guess::Unknown);
        assert_eq!(from_name("from_port"), Guess::Number);
        assert_eq!(from_name("enable_dns"), Guess::Bool);
    }
}
