//! Values on the wire: the protocol's MessagePack, and JSON as states store it.

use wardian_value::{Type, Value, json, msgpack};

/// A value as bytes of the protocol.
pub(crate) fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, String> {
    msgpack::encode(value, ty).map_err(|error| error.to_string())
}

/// Bytes of the protocol as a value; no bytes are a null.
pub(crate) fn decode(bytes: &[u8], ty: &Type) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::null(ty.clone()));
    }
    msgpack::decode(bytes, ty).map_err(|error| error.to_string())
}

/// JSON as states store it, against a type.
pub(crate) fn decode_json(json: &serde_json::Value, ty: &Type) -> Result<Value, String> {
    json::decode(json.to_string().as_bytes(), ty).map_err(|error| error.to_string())
}
