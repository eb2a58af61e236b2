//! Decodes stored states: JSON without type information. The schema may have changed slightly since
//! a state was stored.

use serde_json::{Map, Value as Json};
use wardian_value::{Type, Value};

use crate::{Diagnostics, Result, codec};

/// Decodes stored JSON. Attributes that the type does not have are dropped, and absent attributes
/// become null.
pub(crate) fn from_json(json: &Json, ty: &Type) -> Result<Value> {
    codec::decode_json(&fit(json, ty), ty)
        .map_err(|error| Diagnostics::error("Unable to read the stored state", error))
}

fn fit(json: &Json, ty: &Type) -> Json {
    match (json, ty) {
        (Json::Object(found), Type::Object(object)) => Json::Object(
            object
                .iter()
                .map(|(name, ty)| {
                    let value = found.get(&**name).map_or(Json::Null, |value| fit(value, ty));
                    (name.to_string(), value)
                })
                .collect::<Map<_, _>>(),
        ),
        (Json::Object(found), Type::Map(element)) => {
            Json::Object(found.iter().map(|(key, value)| (key.clone(), fit(value, element))).collect())
        }
        (Json::Array(found), Type::List(element) | Type::Set(element)) => {
            Json::Array(found.iter().map(|value| fit(value, element)).collect())
        }
        (Json::Array(found), Type::Tuple(types)) if found.len() == types.len() => {
            Json::Array(found.iter().zip(types.iter()).map(|(value, ty)| fit(value, ty)).collect())
        }
        _ => json.clone(),
    }
}
