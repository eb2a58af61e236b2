//! Encodes values of any type with their marks, and paths, in a plan file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use wardian_value::{Marks, Path, PathStep, Str, Type, Value, msgpack};

use super::{PlanFileError, damaged};

/// A value of any type with its marks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Encoded {
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    null_of: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sensitive: Vec<Vec<Step>>,
}

/// A value with its marks. The type is not encoded, because the writer and the reader know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Typed {
    value: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sensitive: Vec<Vec<Step>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Step {
    #[serde(rename = "attribute")]
    Attribute(String),
    #[serde(rename = "key")]
    Key(String),
    #[serde(rename = "index")]
    Index(u64),
}

pub(super) fn encode_value(value: &Value) -> Result<Encoded, PlanFileError> {
    let plain = value.unmark_deep();
    // The dynamic encoding does not store the type of a null.
    let null_of = plain.is_null().then(|| plain.ty().to_json());
    let bytes = msgpack::encode(&plain, &Type::Dynamic).map_err(|e| PlanFileError::Write(e.to_string()))?;
    Ok(Encoded { value: BASE64.encode(bytes), null_of, sensitive: sensitive_paths(value) })
}

pub(super) fn encode_typed(value: &Value, ty: &Type) -> Result<Typed, PlanFileError> {
    let bytes = msgpack::encode(&value.unmark_deep(), ty).map_err(|e| PlanFileError::Write(e.to_string()))?;
    Ok(Typed { value: BASE64.encode(bytes), sensitive: sensitive_paths(value) })
}

pub(super) fn decode_typed(encoded: &Typed, ty: &Type) -> Result<Value, PlanFileError> {
    let bytes = BASE64.decode(&encoded.value).map_err(damaged("plan.json"))?;
    let plain = msgpack::decode(&bytes, ty).map_err(damaged("plan.json"))?;
    Ok(marked(plain, &encoded.sensitive))
}

fn sensitive_paths(value: &Value) -> Vec<Vec<Step>> {
    let marked = value.mark_paths();
    marked.iter().filter(|(_, marks)| marks.is_sensitive()).map(|(path, _)| encode_path(path)).collect()
}

fn marked(plain: Value, sensitive: &[Vec<Step>]) -> Value {
    if sensitive.is_empty() {
        return plain;
    }
    let marks: Vec<(Path, Marks)> =
        sensitive.iter().map(|path| (decode_path(path.clone()), Marks::SENSITIVE)).collect();
    plain.mark_at(&marks)
}

pub(super) fn decode_value(encoded: &Encoded) -> Result<Value, PlanFileError> {
    let plain = if let Some(ty) = &encoded.null_of {
        Value::null(Type::from_json(ty).map_err(damaged("plan.json"))?)
    } else {
        let bytes = BASE64.decode(&encoded.value).map_err(damaged("plan.json"))?;
        msgpack::decode(&bytes, &Type::Dynamic).map_err(damaged("plan.json"))?
    };
    Ok(marked(plain, &encoded.sensitive))
}

pub(super) fn encode_path(path: &Path) -> Vec<Step> {
    path.steps()
        .iter()
        .map(|step| match step {
            PathStep::Attribute(name) => Step::Attribute(name.to_string()),
            PathStep::Key(key) => Step::Key(key.to_string()),
            PathStep::Index(index) => Step::Index(*index),
        })
        .collect()
}

pub(super) fn decode_path(steps: Vec<Step>) -> Path {
    steps
        .into_iter()
        .map(|step| match step {
            Step::Attribute(name) => PathStep::Attribute(Str::new(&name)),
            Step::Key(key) => PathStep::Key(Str::new(&key)),
            Step::Index(index) => PathStep::Index(index),
        })
        .collect::<Vec<_>>()
        .into()
}
