//! Converts outputs of the root module, whose types were not stored.

use serde::Deserialize;
use serde_json::value::RawValue;
use wardian_value::{Str, Type, Value, View, json};

use super::LegacyVersion;
use crate::error::StateProblem;
use crate::model::OutputValue;

#[derive(Deserialize)]
struct StoredOutput<'a> {
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    sensitive: Option<bool>,
}

pub(super) fn decode(
    name: &str,
    raw: &RawValue,
    version: LegacyVersion,
) -> Result<OutputValue, StateProblem> {
    let invalid = |problem: String| StateProblem::Invalid { place: format!("output \"{name}\""), problem };
    if version == LegacyVersion::One {
        let text: String = serde_json::from_str(raw.get()).map_err(|error| invalid(error.to_string()))?;
        return Ok(OutputValue { value: Value::string(text.as_str()), sensitive: false });
    }
    let stored: StoredOutput<'_> =
        serde_json::from_str(raw.get()).map_err(|error| invalid(error.to_string()))?;
    let text = stored.value.map_or("null", RawValue::get);
    let value = json::decode_simple(text).map_err(|error| invalid(error.to_string()))?;
    Ok(OutputValue { value: guessed(value), sensitive: stored.sensitive.unwrap_or(false) })
}

/// Converts tuples and objects whose elements all have the same type to lists and maps. The JSON
/// parser limits the nesting depth.
fn guessed(value: Value) -> Value {
    match value.view() {
        View::Tuple(elements) => {
            let elements: Vec<Value> = elements.iter().cloned().map(guessed).collect();
            match one_type(elements.iter().map(Value::ty)) {
                Some(element) => Value::list(element, elements),
                None => value,
            }
        }
        View::Object(attributes) => {
            let attributes: Vec<(Str, Value)> =
                attributes.iter().map(|(name, value)| (name.clone(), guessed(value.clone()))).collect();
            match one_type(attributes.iter().map(|(_, value)| value.ty())) {
                Some(element) => Value::map(element, attributes),
                None => value,
            }
        }
        _ => value,
    }
}

fn one_type<'a>(mut types: impl Iterator<Item = &'a Type>) -> Option<Type> {
    let first = types.next()?;
    (types.all(|ty| ty == first) && !first.has_dynamic()).then(|| first.clone())
}
