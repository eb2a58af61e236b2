//! Values in the format of Terraform's machine-readable plans.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};
use wardian_value::{Type, Value, View, json};

/// Returns the known values. Unknown values are omitted from objects, and null in collections.
pub fn known(value: &Value) -> Option<Json> {
    if value.is_wholly_known() {
        let text = json::encode_simple(&value.unmark_deep()).unwrap();
        return Some(serde_json::from_str(&text).unwrap());
    }
    match value.view() {
        View::List(parts) | View::Set(parts) | View::Tuple(parts) => {
            Some(parts.iter().map(|part| known(part).unwrap_or_default()).collect())
        }
        View::Map(parts) | View::Object(parts) => {
            let shown = parts.iter().filter_map(|(name, part)| Some((name.to_string(), known(part)?)));
            Some(Json::Object(shown.collect()))
        }
        _ => None,
    }
}

/// Returns a structure that contains `true` for each unknown value.
pub fn unknown(value: &Value) -> Json {
    tree(value, &|value| !value.is_known())
}

/// Returns a structure that contains `true` for each sensitive value.
pub fn sensitive(value: &Value) -> Json {
    tree(value, &|value| value.marks().is_sensitive())
}

fn tree(value: &Value, holds: &dyn Fn(&Value) -> bool) -> Json {
    if holds(value) {
        return Json::Bool(true);
    }
    match value.view() {
        View::List(parts) | View::Set(parts) | View::Tuple(parts) => {
            parts.iter().map(|part| tree(part, holds)).collect()
        }
        View::Map(parts) | View::Object(parts) => {
            let all = parts.iter().map(|(name, part)| (name.to_string(), tree(part, holds)));
            Json::Object(all.filter(|(_, part)| *part != Json::Bool(false)).collect::<Map<_, _>>())
        }
        // An unknown value of a structural type has an empty structure.
        View::Unknown => match value.ty() {
            Type::List(_) | Type::Set(_) | Type::Tuple(_) => Json::Array(Vec::new()),
            Type::Map(_) | Type::Object(_) => Json::Object(Map::new()),
            _ => Json::Bool(false),
        },
        _ => Json::Bool(false),
    }
}

/// Lists the positions at which two documents differ, one per line.
pub fn differences(recorded: &Json, ours: &Json) -> String {
    let mut found = String::new();
    compare("", recorded, ours, &mut found);
    found
}

fn compare(place: &str, recorded: &Json, ours: &Json, found: &mut String) {
    match (recorded, ours) {
        (Json::Object(recorded), Json::Object(ours)) => {
            let names: std::collections::BTreeSet<_> = recorded.keys().chain(ours.keys()).collect();
            for name in names {
                let part =
                    |object: &Map<String, Json>| object.get(name).cloned().unwrap_or("(absent)".into());
                compare(&format!("{place}.{name}"), &part(recorded), &part(ours), found);
            }
        }
        (Json::Array(recorded), Json::Array(ours)) if recorded.len() == ours.len() => {
            for (position, (recorded, ours)) in recorded.iter().zip(ours).enumerate() {
                compare(&format!("{place}[{position}]"), recorded, ours, found);
            }
        }
        (recorded, ours) if recorded == ours => {}
        (recorded, ours) => {
            let _ = writeln!(found, "  {place}: recorded {recorded}, ours {ours}");
        }
    }
}
