//! Replaces the values that providers generate when they create objects, because they differ in
//! each run: a value that is unknown in the plan is replaced with its address and path in the
//! state.

use std::collections::BTreeMap;

use serde_json::Value;

/// The minimum length of a value that is also replaced within longer strings. Shorter strings could
/// occur there by chance.
const MIN_PART_LENGTH: usize = 4;
/// The minimum length of a value that is replaced. Shorter strings could occur by chance.
const MIN_LENGTH: usize = 2;

/// The generated values of one run, with the text that replaces each of them.
pub(crate) struct GeneratedValues(Vec<(String, String)>);

impl GeneratedValues {
    /// Collects the generated values of a run from its plan and the state after its apply.
    pub(crate) fn new(plan: &Value, state: &Value) -> Self {
        let changes = plan["resource_changes"].as_array().into_iter().flatten();
        let unknown: BTreeMap<&str, &Value> = changes
            .filter_map(|change| Some((change["address"].as_str()?, &change["change"]["after_unknown"])))
            .collect();
        let mut values = Self(Vec::new());
        values.add_module(&state["values"]["root_module"], &unknown);
        // A value can contain another value, so longer values are replaced first. The sort is
        // stable: of equal values, the first one in the state determines the placeholder.
        values.0.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        values
    }

    fn add_module(&mut self, module: &Value, unknown: &BTreeMap<&str, &Value>) {
        for resource in module["resources"].as_array().into_iter().flatten() {
            let address = resource["address"].as_str().unwrap_or_default();
            if let Some(unknown) = unknown.get(address) {
                self.add(address, &resource["values"], unknown);
            }
        }
        for child in module["child_modules"].as_array().into_iter().flatten() {
            self.add_module(child, unknown);
        }
    }

    fn add(&mut self, path: &str, value: &Value, unknown: &Value) {
        match (unknown, value) {
            (Value::Bool(true), Value::String(text)) if text.len() >= MIN_LENGTH => {
                self.0.push((text.clone(), format!("({path})")));
            }
            (Value::Bool(true), Value::Number(number)) if number.to_string().len() >= MIN_PART_LENGTH => {
                self.0.push((number.to_string(), format!("({path})")));
            }
            (Value::Object(unknown), Value::Object(members)) => {
                for (name, unknown) in unknown {
                    let member = members.get(name).unwrap_or(&Value::Null);
                    self.add(&format!("{path}.{name}"), member, unknown);
                }
            }
            (Value::Array(unknown), Value::Array(elements)) => {
                for (index, (element, unknown)) in elements.iter().zip(unknown).enumerate() {
                    self.add(&format!("{path}[{index}]"), element, unknown);
                }
            }
            _ => {}
        }
    }

    /// Returns the document with generated values replaced. Cost: O(size of the document × number
    /// of generated values).
    pub(crate) fn without(&self, document: &Value) -> Value {
        match document {
            Value::String(text) => {
                let replace = |text: String, (generated, place): &(String, String)| {
                    if text == *generated {
                        place.clone()
                    } else if generated.len() >= MIN_PART_LENGTH && text.contains(generated.as_str()) {
                        text.replace(generated, place)
                    } else {
                        text
                    }
                };
                Value::String(self.0.iter().fold(text.clone(), replace))
            }
            Value::Number(number) => {
                let text = number.to_string();
                let generated = self.0.iter().find(|(generated, _)| *generated == text);
                generated.map_or_else(|| document.clone(), |(_, place)| Value::String(place.clone()))
            }
            Value::Array(elements) => elements.iter().map(|element| self.without(element)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, member)| (name.clone(), self.without(member))).collect()
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn generated_values_are_replaced_everywhere() {
        let unknown = json!({ "id": true, "number": true, "parts": [{ "key": true }] });
        let plan =
            json!({ "resource_changes": [{ "address": "a.x", "change": { "after_unknown": unknown } }] });
        let run = |id: &str, key: &str, number: u32| {
            let parts = json!([{ "key": format!("{id}-{key}") }]);
            let values = json!({ "id": id, "number": number, "name": "constant", "parts": parts });
            let module = json!({ "resources": [{ "address": "a.x", "values": values }] });
            let state = json!({ "values": { "root_module": module } });
            let generated = GeneratedValues::new(&plan, &state);
            generated.without(&json!([id, format!("arn:{id}-{key}"), "constant", number, 7]))
        };
        let replaced = json!(["(a.x.id)", "arn:(a.x.parts[0].key)", "constant", "(a.x.number)", 7]);
        assert_eq!(run("1234567", "abcdefg", 654_321), replaced);
        assert_eq!(run("abcdefg", "1234567", 123_456), replaced);
    }
}
