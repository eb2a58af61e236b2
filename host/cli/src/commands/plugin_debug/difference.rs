//! The differences between a recorded response and that of the repeated call, one line for each:
//!
//! ```text
//! ~ planned_state.size = 1 -> 2
//! + planned_state.tags["a b"] = "x"
//! - diagnostics = [..]
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use wardian_app::call_recording::RecordedValue;

/// Maximum number of differences that are listed.
const MAX_LISTED: usize = 100;

/// Maximum length of a value in a line, in characters.
const MAX_VALUE_LENGTH: usize = 200;

type Response = BTreeMap<String, RecordedValue>;

/// Returns the differences; none if the responses are the same. Cost: linear in the size of the responses.
pub(super) fn differences(recorded: &Response, repeated: &Response) -> Vec<String> {
    let mut found = Vec::new();
    let names: BTreeSet<&String> = recorded.keys().chain(repeated.keys()).collect();
    for name in names {
        let (before, after) = (recorded.get(name), repeated.get(name));
        let count = found.len();
        compare(name, before.map(RecordedValue::json), after.map(RecordedValue::json), &mut found);
        // An unknown value and a set have the same text as other values.
        if let (Some(before), Some(after)) = (before, after)
            && found.len() == count
            && !before.is_same(after)
        {
            found.push(format!("~ {name} has the same text, but another type, or values that are unknown"));
        }
    }
    let surplus = found.len().saturating_sub(MAX_LISTED);
    if surplus > 0 {
        found.truncate(MAX_LISTED);
        found.push(format!("and {surplus} more"));
    }
    found
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<String>) {
    match (before, after) {
        (Some(before), Some(after)) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            compare_objects(path, before, after, found);
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                compare(&format!("{path}[{index}]"), before.get(index), after.get(index), found);
            }
        }
        (Some(before), Some(after)) => {
            found.push(format!("~ {path} = {} -> {}", shortened(before), shortened(after)));
        }
        (None, Some(after)) => found.push(format!("+ {path} = {}", shortened(after))),
        (Some(before), None) => found.push(format!("- {path} = {}", shortened(before))),
        (None, None) => {}
    }
}

fn compare_objects(
    path: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let is_plain = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
        let inner = if !name.is_empty() && name.chars().all(is_plain) {
            format!("{path}.{name}")
        } else {
            format!("{path}[{}]", Value::from(name.as_str()))
        };
        compare(&inner, before.get(name), after.get(name), found);
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE_LENGTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(value: &Value) -> Response {
        serde_json::from_value(value.clone()).unwrap()
    }

    fn found(before: &Value, after: &Value) -> Vec<String> {
        differences(&response(before), &response(after))
    }

    #[test]
    fn each_difference_has_its_path_and_values() {
        let state = |value: Value| json!({ "value": value, "exact": "" });
        let before = json!({
            "new_state": state(json!({ "name": "a", "size": 1, "tags": { "a b": "x", "old": true } })),
            "diagnostics": [{ "summary": "Slow" }],
        });
        let after = json!({
            "new_state": state(json!({ "name": "a", "size": 2, "tags": { "a b": "y" }, "disks": [1] })),
            "error": "gone",
        });
        let expected = [
            r#"- diagnostics = [{"summary":"Slow"}]"#,
            r#"+ error = "gone""#,
            "+ new_state.disks = [1]",
            "~ new_state.size = 1 -> 2",
            r#"~ new_state.tags["a b"] = "x" -> "y""#,
            "- new_state.tags.old = true",
        ];
        assert_eq!(found(&before, &after), expected);
        assert!(found(&before, &before).is_empty());
    }

    #[test]
    fn elements_of_lists_are_compared_by_position() {
        let before = json!({ "result": [1, 2, { "a": null }] });
        let after = json!({ "result": [1, 3] });
        assert_eq!(found(&before, &after), ["~ result[1] = 2 -> 3", r#"- result[2] = {"a":null}"#]);
    }

    #[test]
    fn values_with_the_same_text_and_another_type_differ() {
        let state = |exact: &str| json!({ "new_state": { "value": "(unknown)", "exact": exact } });
        let lines = found(&state("AA=="), &state("AQ=="));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("~ new_state has the same text"), "{lines:?}");
    }

    #[test]
    fn long_lists_and_values_are_shortened() {
        let numbers = |offset: usize| json!({ "result": (offset..offset + 300).collect::<Vec<_>>() });
        let lines = found(&numbers(0), &numbers(1));
        assert_eq!(lines.len(), MAX_LISTED + 1);
        assert_eq!(lines.last().map(String::as_str), Some("and 200 more"));
        let lines = found(&json!({ "text": "ä".repeat(1_000) }), &json!({ "text": "" }));
        assert!(lines[0].chars().count() < 300, "{}", lines[0].len());
    }
}
