//! Encodings of values: the protocol's MessagePack, and the JSON of stored states.

use wardian_value::{Type, Value, json, msgpack};

/// Encodes a value as MessagePack.
pub(crate) fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, String> {
    msgpack::encode(value, ty).map_err(|error| error.to_string())
}

/// Decodes MessagePack. Empty input is decoded as null.
pub(crate) fn decode(bytes: &[u8], ty: &Type) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::null(ty.clone()));
    }
    msgpack::decode(bytes, ty).map_err(|error| error.to_string())
}

/// Decodes the JSON of a stored state as a value of the type.
pub(crate) fn decode_json(json: &serde_json::Value, ty: &Type) -> Result<Value, String> {
    json::decode(json.to_string().as_bytes(), ty).map_err(|error| error.to_string())
}
