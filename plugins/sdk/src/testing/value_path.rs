//! Paths in the text of tests, such as `disk[0].size` or `tags["a b"]`, and the values at them. Shared with
//! `wardian-acceptance`; not part of the SDK's interface.

#![allow(missing_docs, reason = "not part of the interface")]

use std::fmt;

use serde_json::Value as Json;
use wardian_value::{Marks, Path, PathStep, Value, View, json};

/// The error of a path that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    text: String,
    problem: &'static str,
}

impl std::error::Error for PathError {}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, problem } = self;
        write!(f, "{text:?} is not a path: {problem}. Write it as in disk[0].size or tags[\"key\"].")
    }
}

/// A path of names and indices. A name stands for an attribute or a key of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuePath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(u64),
}

impl ValuePath {
    /// Parses a path; an empty text is the path of the complete object.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let invalid = |problem| PathError { text: text.to_owned(), problem };
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inside) = rest.strip_prefix('[') {
                let (step, after) = bracket(inside).map_err(invalid)?;
                steps.push(step);
                rest = after;
            } else {
                let name = match (rest.strip_prefix('.'), steps.is_empty()) {
                    (Some(name), false) => name,
                    (None, true) => rest,
                    (Some(_), true) => return Err(invalid("it starts with a dot")),
                    (None, false) => return Err(invalid("a dot or a bracket is missing")),
                };
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let (name, after) = name.split_at(end);
                if name.is_empty() {
                    return Err(invalid("a name is missing"));
                }
                steps.push(name.parse().map_or_else(|_| Step::Name(name.to_owned()), Step::Index));
                rest = after;
            }
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the value at the path, and whether it is part of a sensitive value. Returns [`None`] if
    /// there is no value at the path.
    pub fn find<'a>(&self, root: &'a Value) -> Option<(&'a Value, bool)> {
        let mut value = root;
        let mut is_sensitive = value.marks() != Marks::NONE;
        for step in &self.steps {
            value = match (step, value.view()) {
                (Step::Name(name), View::Object(parts) | View::Map(parts)) => parts.get(name.as_str())?,
                (Step::Index(index), View::Object(parts) | View::Map(parts)) => {
                    parts.get(index.to_string().as_str())?
                }
                (Step::Index(index), View::List(parts) | View::Tuple(parts) | View::Set(parts)) => {
                    parts.get(usize::try_from(*index).ok()?)?
                }
                _ => return None,
            };
            is_sensitive |= value.marks() != Marks::NONE;
        }
        Some((value, is_sensitive))
    }

    /// Returns whether a path of a diagnostic is this path.
    pub fn matches(&self, path: &Path) -> bool {
        self.steps.len() == path.steps().len()
            && self.steps.iter().zip(path.steps()).all(|(step, other)| match (step, other) {
                (Step::Name(name), PathStep::Attribute(other) | PathStep::Key(other)) => {
                    name == other.as_str()
                }
                (Step::Index(index), PathStep::Index(other)) => index == other,
                (Step::Index(index), PathStep::Attribute(other) | PathStep::Key(other)) => {
                    index.to_string() == other.as_str()
                }
                (Step::Name(_), PathStep::Index(_)) => false,
            })
    }
}

fn bracket(inside: &str) -> Result<(Step, &str), &'static str> {
    if let Some(quoted) = inside.strip_prefix('"') {
        let (key, after) = quoted.split_once("\"]").ok_or("the end \"] of a key is missing")?;
        return Ok((Step::Name(key.to_owned()), after));
    }
    let (index, after) = inside.split_once(']').ok_or("a closing bracket is missing")?;
    let index = index.parse().map_err(|_| "an index is not a number")?;
    Ok((Step::Index(index), after))
}

/// Returns a path of a diagnostic as text: `disk[0].size`.
pub fn path_text(path: &Path) -> String {
    path.to_string().trim_start_matches('.').to_owned()
}

/// Returns a value for a message: as JSON, or a placeholder if it is unknown or sensitive.
pub fn shown(value: &Value, is_sensitive: bool) -> String {
    if is_sensitive || !value.inside_marks().is_empty() {
        return "(sensitive value)".to_owned();
    }
    if !value.is_known() {
        return "(known after apply)".to_owned();
    }
    json::to_json_value(value).to_string()
}

/// Returns whether a value is equal to JSON. Numbers are compared by value, and the elements of a set in
/// any order.
pub fn equals(value: &Value, expected: &Json) -> bool {
    match (value.view(), expected) {
        (View::Null, Json::Null) => true,
        (View::Bool(value), Json::Bool(expected)) => value == *expected,
        (View::String(value), Json::String(expected)) => value.as_str() == expected,
        (View::Number(value), Json::Number(expected)) => {
            wardian_value::Number::parse(&expected.to_string()).is_ok_and(|expected| *value == expected)
        }
        (View::List(values) | View::Tuple(values), Json::Array(expected)) => {
            values.len() == expected.len()
                && values.iter().zip(expected).all(|(value, expected)| equals(value, expected))
        }
        (View::Set(values), Json::Array(expected)) => {
            let mut left: Vec<&Value> = values.iter().collect();
            left.len() == expected.len()
                && expected.iter().all(|expected| {
                    let found = left.iter().position(|value| equals(value, expected));
                    found.map(|place| left.swap_remove(place)).is_some()
                })
        }
        (View::Map(values) | View::Object(values), Json::Object(expected)) => {
            values.len() == expected.len()
                && values
                    .iter()
                    .all(|(key, value)| expected.get(key.as_str()).is_some_and(|one| equals(value, one)))
        }
        _ => false,
    }
}

/// Maximum number of differences that a message contains.
const MAX_DIFFERENCES: usize = 8;

/// Returns the attributes in which two objects differ, one a line, as `size: 1 -> 2`.
pub fn differences(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(before, after, &mut Path::root(), false, &mut found);
    let left_out = found.len().saturating_sub(MAX_DIFFERENCES);
    if left_out > 0 {
        found.truncate(MAX_DIFFERENCES);
        found.push(format!("and {left_out} more"));
    }
    found
}

fn compare(before: &Value, after: &Value, path: &mut Path, is_sensitive: bool, found: &mut Vec<String>) {
    if before.unmark_deep() == after.unmark_deep() {
        return;
    }
    let is_sensitive = is_sensitive || before.marks() != Marks::NONE || after.marks() != Marks::NONE;
    match (before.view(), after.view()) {
        (View::Object(befores), View::Object(afters)) | (View::Map(befores), View::Map(afters))
            if befores.keys().eq(afters.keys()) =>
        {
            for ((key, before), after) in befores.iter().zip(afters.values()) {
                path.push(PathStep::Attribute(key.clone()));
                compare(before, after, path, is_sensitive, found);
                path.pop();
            }
        }
        (View::List(befores), View::List(afters)) | (View::Tuple(befores), View::Tuple(afters))
            if befores.len() == afters.len() =>
        {
            for (index, (before, after)) in (0..).zip(befores.iter().zip(afters)) {
                path.push(PathStep::Index(index));
                compare(before, after, path, is_sensitive, found);
                path.pop();
            }
        }
        _ => {
            let name = path_text(path);
            let (before, after) = (shown(before, is_sensitive), shown(after, is_sensitive));
            found.push(if name.is_empty() {
                format!("{before} -> {after}")
            } else {
                format!("{name}: {before} -> {after}")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wardian_value::Type;

    use super::*;

    fn server() -> Value {
        Value::object([
            ("name", Value::from("a")),
            (
                "disk",
                Value::list(
                    Type::object([("size", Type::Number)]),
                    [Value::object([("size", Value::number(8))])],
                ),
            ),
            (
                "tags",
                Value::map(Type::String, [("a b".into(), Value::from("x")), ("1".into(), Value::from("y"))]),
            ),
            ("ports", Value::set(Type::Number, [Value::number(80), Value::number(443)])),
            ("key", Value::from("hunter2").with_marks(Marks::SENSITIVE)),
            ("id", Value::unknown(Type::String)),
        ])
    }

    fn at(text: &str) -> Option<String> {
        let server = server();
        let path = ValuePath::parse(text).unwrap();
        path.find(&server).map(|(value, is_sensitive)| shown(value, is_sensitive))
    }

    #[test]
    fn values_are_found_by_path() {
        assert_eq!(at("name").as_deref(), Some("\"a\""));
        assert_eq!(at("disk[0].size").as_deref(), Some("8"));
        assert_eq!(at("disk.0.size").as_deref(), Some("8"));
        assert_eq!(at("tags[\"a b\"]").as_deref(), Some("\"x\""));
        assert_eq!(at("tags.1").as_deref(), Some("\"y\""));
        assert_eq!(at("key").as_deref(), Some("(sensitive value)"));
        assert_eq!(at("id").as_deref(), Some("(known after apply)"));
        assert_eq!(at("disk[1].size"), None);
        assert_eq!(at("colour"), None);
    }

    #[test]
    fn invalid_paths_are_rejected() {
        for (text, problem) in [
            (".a", "it starts with a dot"),
            ("a..b", "a name is missing"),
            ("a[0]b", "a dot or a bracket is missing"),
            ("a[0", "a closing bracket is missing"),
            ("a[x]", "an index is not a number"),
            ("a[\"x]", "the end \"] of a key is missing"),
        ] {
            assert_eq!(ValuePath::parse(text).unwrap_err().problem, problem, "{text}");
        }
    }

    #[test]
    fn json_is_compared_by_value() {
        let server = server();
        let is = |path: &str, expected: Json| {
            equals(ValuePath::parse(path).unwrap().find(&server).unwrap().0, &expected)
        };
        assert!(is("disk", json!([{ "size": 8.0 }])));
        assert!(is("ports", json!([443, 80])));
        assert!(!is("ports", json!([443, 443])));
        assert!(is("tags", json!({ "a b": "x", "1": "y" })));
        assert!(!is("id", json!(null)));
    }

    #[test]
    fn differences_hide_sensitive_values() {
        let after = server()
            .with_attribute("name", Value::from("b"))
            .with_attribute("key", Value::from("other").with_marks(Marks::SENSITIVE));
        let found = differences(&server(), &after);
        assert_eq!(found, ["key: (sensitive value) -> (sensitive value)", "name: \"a\" -> \"b\""]);
    }

    #[test]
    fn diagnostic_paths_match() {
        let path = Path::root().attribute("disk").index(0).attribute("size");
        assert!(ValuePath::parse("disk[0].size").unwrap().matches(&path));
        assert!(!ValuePath::parse("disk[1].size").unwrap().matches(&path));
        assert_eq!(path_text(&path), "disk[0].size");
    }
}
