//! Encodes the root module's outputs in the state file.

use serde::Deserialize;
use serde_json::value::RawValue;
use wardian_value::{Type, json};

use super::layout::{Parts, compact};
use crate::error::StateProblem;
use crate::model::OutputValue;

#[derive(Deserialize)]
pub(super) struct StoredOutput<'a> {
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(rename = "type", borrow)]
    ty: &'a RawValue,
    sensitive: Option<bool>,
}

const NULL_OF_NO_TYPE: &str = r#"{"value":null,"type":"dynamic"}"#;

/// Writes an output as the value of a member. A value of dynamic type is encoded as an object with
/// `value` and `type`. This is the format of the file, except that the file has a flag at the end.
pub(crate) fn encode_output(json: &mut String, name: &str, output: &OutputValue) -> Result<(), StateProblem> {
    let encoded = json::encode(&output.value, &Type::Dynamic)
        .map_err(|error| StateProblem::Output { name: name.to_owned(), problem: error.to_string() })?;
    // A null of dynamic type is encoded as `null`, but in the file it has the same form as other
    // values.
    let encoded = if encoded == "null" { NULL_OF_NO_TYPE.to_owned() } else { encoded };
    match encoded.strip_suffix('}') {
        Some(open) if output.sensitive => {
            json.push_str(open);
            json.push_str(",\"sensitive\":true}");
        }
        _ => json.push_str(&encoded),
    }
    Ok(())
}

pub(super) fn decode_output(name: &str, stored: StoredOutput<'_>) -> Result<OutputValue, StateProblem> {
    let mut json = String::new();
    let mut members = Parts::object(&mut json);
    members.member("value").push_str(&compact(stored.value.get()));
    members.member("type").push_str(&compact(stored.ty.get()));
    members.end();
    let value = json::decode(&json, &Type::Dynamic).map_err(|error| StateProblem::Invalid {
        place: format!("output \"{name}\""),
        problem: error.to_string(),
    })?;
    Ok(OutputValue { value, sensitive: stored.sensitive.unwrap_or(false) })
}

/// Reads an output from the text that [`encode_output`] has written.
pub(crate) fn decode_output_text(name: &str, text: &str) -> Result<OutputValue, StateProblem> {
    decode_output(name, serde_json::from_str(text).map_err(StateProblem::NotJson)?)
}
