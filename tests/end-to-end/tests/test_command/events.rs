//! Reduces JSON events to what is compared.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};
use wardian_end_to_end::diagnostics::summary;
use wardian_end_to_end::lay_out;

static UUID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b").unwrap()
});
static TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").unwrap());
/// Strings that a mock generates.
static GENERATED: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[a-z0-9]{8}$").unwrap());

/// Members that differ in every run, or that contain the program's version.
const OWN: [&str; 4] = ["elapsed", "elapsed_seconds", "terraform_version", "timestamp"];

/// Returns a line for each event, or [`None`] if the text does not consist of events.
pub fn lines(text: &str) -> Option<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).ok()?;
        event.get("@level")?;
        lines.extend(of_event(&event));
    }
    // Independent objects can fail in any order.
    for run in lines.chunk_by_mut(|(earlier, _), (later, _)| *earlier && *later) {
        run.sort();
    }
    (!lines.is_empty()).then(|| lines.into_iter().map(|(_, line)| line).collect())
}

/// Returns the text of an event, and whether it is a diagnostic. The version, and events that depend
/// on the speed of a run, have no text.
fn of_event(event: &Value) -> Option<(bool, String)> {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let kind = text("type");
    let mut place = format!("{} {}", text("@testfile"), text("@testrun"));
    place.truncate(place.trim_end().len());
    if kind == "diagnostic" {
        let line = diagnostic(&event["diagnostic"]);
        return Some((true, if place.is_empty() { line + "\n" } else { format!("{line}, in {place}\n") }));
    }
    let payload = &event[kind];
    if !kind.starts_with("test_") || ["running", "teardown"].contains(&progress_of_run(kind, payload)) {
        return None;
    }
    let mut line = format!("{kind} {place}: {}", text("@message"));
    let is_document = ["test_plan", "test_state"].contains(&kind);
    let payload = neutral(payload, is_document);
    if is_document {
        let _ = write!(line, "\n{}", lay_out(&payload, 2));
    } else {
        let _ = writeln!(line, " {payload}");
    }
    Some((false, line))
}

fn progress_of_run<'a>(kind: &str, payload: &'a Value) -> &'a str {
    if kind == "test_run" { payload["progress"].as_str().unwrap_or_default() } else { "" }
}

/// Returns the severity, position and summary of a diagnostic.
pub fn diagnostic(diagnostic: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let range = &diagnostic["range"];
    let place = if range.is_object() {
        format!("{}:{} ", text(&range["filename"]), range["start"]["line"])
    } else {
        String::new()
    };
    format!("{} {place}{}", text(&diagnostic["severity"]), summary(&text(&diagnostic["summary"])))
}

/// Removes what differs in every run. A document is a plan or a state, which contains values of mocks,
/// and the schemas of providers; only the addresses of these providers are kept.
fn neutral(value: &Value, is_document: bool) -> Value {
    match value {
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, member) in members.iter().filter(|(name, _)| !OWN.contains(&&***name)) {
                let member = match member {
                    Value::Object(schemas) if name == "provider_schemas" => {
                        Value::from(schemas.keys().cloned().collect::<Vec<String>>())
                    }
                    member => neutral(member, is_document),
                };
                kept.insert(name.clone(), member);
            }
            Value::Object(kept)
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| neutral(item, is_document)).collect()),
        Value::String(text) if is_document && GENERATED.is_match(text) => Value::from("[GENERATED]"),
        Value::String(text) => {
            let text = UUID.replace_all(text, "[UUID]");
            Value::from(TIME.replace_all(&text, "[TIME]"))
        }
        other => other.clone(),
    }
}
