//! Compares plans and states as JSON, resource by resource.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::generated::Generated;
use super::report::Report;
use crate::oracle::first_difference;

/// Records, for each entry of two documents, whether Terraform's and Wardian's entries are equal. A
/// row name consists of `title` and the name of the entry.
pub(crate) fn compare(
    documents: &[Value; 2],
    parts: impl Fn(&Value) -> BTreeMap<String, Value>,
    title: &str,
    report: &mut Report,
    generated: &Generated,
) {
    let [theirs, ours] = documents.each_ref().map(|document| parts(&generated.without(document)));
    let names: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for name in names {
        let absent = Value::Null;
        let of = |parts: &BTreeMap<String, Value>| parts.get(name).unwrap_or(&absent).clone();
        report.note(&format!("{title}{name}"), first_difference("", &of(&theirs), &of(&ours)));
    }
}

/// Splits a plan into its changes by address, and all other content.
pub(crate) fn plans_by_resource(plan: &Value) -> BTreeMap<String, Value> {
    let mut rest = plan.clone();
    let changes = rest.as_object_mut().and_then(|plan| plan.remove("resource_changes"));
    let changes = changes.as_ref().and_then(Value::as_array).into_iter().flatten();
    let mut parts: BTreeMap<String, Value> =
        changes.map(|change| (text(change, "address").to_owned(), change.clone())).collect();
    // The order of these elements has no meaning.
    if let Some(Value::Array(attributes)) = rest.get_mut("relevant_attributes") {
        attributes.sort_by_key(ToString::to_string);
    }
    // For a replaced object, Terraform omits values here that its schema declares sensitive. They
    // are also in the planned change, where they are compared.
    if let Some(module) = rest.pointer_mut("/planned_values/root_module") {
        let is_replaced = |address: &str| {
            parts
                .get(address)
                .is_some_and(|change| change["change"]["actions"].as_array().is_some_and(|a| a.len() > 1))
        };
        for resource in module.get_mut("resources").and_then(Value::as_array_mut).into_iter().flatten() {
            if is_replaced(text(resource, "address"))
                && let Some(object) = resource.as_object_mut()
            {
                object.remove("sensitive_values");
            }
        }
    }
    parts.insert("(plan)".to_owned(), rest);
    parts
}

/// Splits a state into its objects by address, and all other content.
pub(crate) fn states_by_resource(state: &Value) -> BTreeMap<String, Value> {
    let mut parts = BTreeMap::new();
    let mut rest = state.clone();
    let resources = rest.as_object_mut().and_then(|state| state.remove("resources"));
    for resource in resources.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let data = if text(resource, "mode") == "data" { "data." } else { "" };
        for instance in resource["instances"].as_array().into_iter().flatten() {
            let key = match &instance["index_key"] {
                Value::Null => String::new(),
                key => format!("[{key}]"),
            };
            let address = format!("{data}{}.{}{key}", text(resource, "type"), text(resource, "name"));
            let mut instance = instance.clone();
            // The order of these elements has no meaning.
            if let Some(Value::Array(paths)) = instance.get_mut("sensitive_attributes") {
                paths.sort_by_key(ToString::to_string);
            }
            parts.insert(address, instance);
        }
    }
    parts.insert("(state)".to_owned(), rest);
    parts
}

/// Replaces every value that was unknown in the plan with its type, because two runs generate
/// different values.
pub(crate) fn without_unknown(state: &Value, plan: &Value) -> Value {
    let mut state = state.clone();
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    let unknown: BTreeMap<&str, &Value> =
        changes.map(|change| (text(change, "address"), &change["change"]["after_unknown"])).collect();
    let resources = state.get_mut("resources").and_then(Value::as_array_mut).into_iter().flatten();
    for resource in resources {
        let data = if text(resource, "mode") == "data" { "data." } else { "" };
        let address = format!("{data}{}.{}", text(resource, "type"), text(resource, "name"));
        for instance in resource.get_mut("instances").and_then(Value::as_array_mut).into_iter().flatten() {
            let key = instance.get("index_key").map(|key| format!("[{key}]")).unwrap_or_default();
            let unknown = unknown.get(format!("{address}{key}").as_str());
            if let (Some(unknown), Some(attributes)) = (unknown, instance.get_mut("attributes")) {
                take_out(attributes, unknown);
            }
        }
    }
    for (name, output) in state.get_mut("outputs").and_then(Value::as_object_mut).into_iter().flatten() {
        if let Some(value) = output.get_mut("value") {
            take_out(value, &plan["output_changes"][name.as_str()]["after_unknown"]);
        }
    }
    state
}

pub(crate) fn take_out(value: &mut Value, unknown: &Value) {
    match (unknown, value) {
        (Value::Bool(true), value) => {
            let kind = match value {
                Value::Null => "null",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "list",
                Value::Object(_) => "object",
            };
            *value = Value::String(format!("generated: a {kind}"));
        }
        (Value::Object(unknown), Value::Object(members)) => {
            for (name, value) in members {
                take_out(value, unknown.get(name).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(unknown), Value::Array(elements)) => {
            elements.iter_mut().zip(unknown).for_each(|(value, unknown)| take_out(value, unknown));
        }
        _ => {}
    }
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_values_are_replaced_by_their_type() {
        let plan = json!({
            "resource_changes": [{ "address": "a.it[0]", "change": { "after_unknown": { "id": true, "list": [false, true] } } }],
            "output_changes": { "o": { "after_unknown": true } },
        });
        let state = json!({
            "outputs": { "o": { "value": 3 } },
            "resources": [{ "mode": "managed", "type": "a", "name": "it", "instances": [
                { "index_key": 0, "attributes": { "id": "x", "list": ["p", "q"], "kept": 1 } },
            ] }],
        });
        let without = without_unknown(&state, &plan);
        assert_eq!(
            states_by_resource(&without)["a.it[0]"]["attributes"],
            json!({ "id": "generated: a string", "list": ["p", "generated: a string"], "kept": 1 })
        );
        assert_eq!(without["outputs"]["o"]["value"], "generated: a number");
    }

    #[test]
    fn differences_are_noted_by_resource() {
        let plan =
            |after: i32| json!({ "resource_changes": [{ "address": "a.it", "after": after }], "x": 1 });
        let mut report = Report::new(&["plan"]);
        let generated = Generated::new().unwrap();
        compare(&[plan(1), plan(1)], plans_by_resource, "p: ", &mut report, &generated);
        assert_eq!(report.differences(), 0);
        compare(&[plan(1), plan(2)], plans_by_resource, "p: ", &mut report, &generated);
        assert_eq!(report.differences(), 1);
    }
}
