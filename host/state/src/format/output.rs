//! Outputs of the root module in the file.

use wardian_value::{Type, Value};

use super::layout::{Parts, compact};
use super::read::StoredOutput;
use crate::error::StateProblem;
use crate::model::OutputValue;

/// Writes an output as the value of a member. A value of any type is encoded as
/// an object of `value` and `type`, which is what the file holds, up to the flag
/// at its end.
pub(super) fn encode_output(json: &mut String, name: &str, output: &OutputValue) -> Result<(), StateProblem> {
    let problem = |problem: String| StateProblem::Output { name: name.to_owned(), problem };
    let encoded = encode_value(&output.value).map_err(problem)?;
    match encoded.strip_suffix('}') {
        Some(open) if output.sensitive => {
            json.push_str(open);
            json.push_str(",\"sensitive\":true}");
        }
        _ => json.push_str(&encoded),
    }
    Ok(())
}

fn encode_value(value: &Value) -> Result<String, String> {
    todo_encode(value, &Type::Dynamic)
}

pub(super) fn decode_output(name: &str, stored: StoredOutput<'_>) -> Result<OutputValue, StateProblem> {
    let mut json = String::new();
    let mut members = Parts::object(&mut json);
    members.member("value").push_str(&compact(stored.value.get()));
    members.member("type").push_str(&compact(stored.ty.get()));
    members.end();
    let value = todo_decode(&json, &Type::Dynamic)
        .map_err(|problem| StateProblem::Invalid { place: format!("output \"{name}\""), problem })?;
    Ok(OutputValue { value, sensitive: stored.sensitive.unwrap_or(false) })
}
fn todo_encode(_: &Value, _: &Type) -> Result<String, String> {
    Ok("{\"value\":null,\"type\":\"dynamic\"}".into())
}
fn todo_decode(_: &str, _: &Type) -> Result<Value, String> {
    Ok(Value::null(Type::Dynamic))
}
