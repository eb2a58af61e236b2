//! Stored attributes that the schema no longer contains. They are removed before a provider
//! receives the object, because a provider with an unchanged schema version may not recognize them.
//! If an object is not stored in the encoding of its type, the next change stores it in that
//! encoding.

use std::borrow::Cow;

use wardian_value::Type;
use wardian_value::json::{Fit, fit};

/// Returns the stored object without attributes that its type no longer has. Invalid JSON is
/// returned unchanged, because the provider reports the error. Cost: if no attribute is stale, one
/// pass over the text without decoding it.
pub fn without_stale<'a>(stored: &'a str, ty: &Type) -> Cow<'a, str> {
    if !matches!(fit(stored, ty), Ok(Fit::Stale)) {
        return Cow::Borrowed(stored);
    }
    match serde_json::from_str(stored) {
        Ok(mut value) => {
            remove(&mut value, ty);
            Cow::Owned(value.to_string())
        }
        Err(_) => Cow::Borrowed(stored),
    }
}

fn remove(value: &mut serde_json::Value, ty: &Type) {
    use serde_json::Value as Json;
    match (value, ty) {
        (Json::Object(members), Type::Object(object)) => {
            members.retain(|name, _| object.attribute(name).is_some());
            for (name, member) in members {
                if let Some(ty) = object.attribute(name) {
                    remove(member, ty);
                }
            }
        }
        (Json::Object(members), Type::Map(element)) => members.values_mut().for_each(|m| remove(m, element)),
        (Json::Array(elements), Type::List(element) | Type::Set(element)) => {
            for value in elements {
                remove(value, element);
            }
        }
        (Json::Array(elements), Type::Tuple(types)) => {
            elements.iter_mut().zip(types.iter()).for_each(|(e, ty)| remove(e, ty));
        }
        _ => {}
    }
}

/// Returns whether a stored object has the encoding in which values of its type are currently
/// stored.
pub fn is_as_stored_now(stored: &str, ty: &Type) -> bool {
    matches!(fit(stored, ty), Ok(Fit::Same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_stale_removes_only_attributes_missing_from_schema() {
        let ty = Type::object([
            ("name", Type::String),
            ("any", Type::Dynamic),
            ("tags", Type::map(Type::object([("v", Type::Number)]))),
            ("rules", Type::list(Type::object([("port", Type::Number)]))),
            ("none", Type::list(Type::String)),
        ]);
        let whole = r#"{"any":{"type":"string","value":"x"},"name":"n","none":null,"rules":[{"port":1.50}],"tags":{"a":{"v":2}}}"#;
        assert!(matches!(without_stale(whole, &ty), Cow::Borrowed(text) if text == whole));
        let stale = r#"{"any":{"type":"string","value":"x"},"name":"n","none":null,"old":[1],"rules":[{"port":1.50,"old":{}}],"tags":{"a":{"v":2,"w":3}}}"#;
        assert_eq!(without_stale(stale, &ty), whole);
        // The provider handles values that do not match.
        for odd in ["", "[", "7", r#"{"rules":{"old":1}}"#, r#"{"tags":[]}"#, r#"{"name":{"old":1}}"#] {
            assert_eq!(without_stale(odd, &ty), odd);
        }
    }

    #[test]
    fn differing_stored_form_is_detected() {
        let ty = Type::object([
            ("flag", Type::Bool),
            ("name", Type::String),
            ("port", Type::Number),
            ("rules", Type::set(Type::object([("port", Type::Number)]))),
        ]);
        for same in [
            r#"{"flag":true,"name":"n","port":1.50,"rules":[{"port":7}]}"#,
            r#"{"flag":null,"name":null,"port":null,"rules":null}"#,
        ] {
            assert!(is_as_stored_now(same, &ty), "{same}");
        }
        for other in [
            r#"{"flag":true,"name":"n","port":1,"rules":[{}]}"#,
            r#"{"flag":true,"name":"n","port":1}"#,
            r#"{"flag":true,"name":1.5,"port":1,"rules":[]}"#,
            r#"{"flag":true,"name":"n","port":"1","rules":[]}"#,
            r#"{"flag":"true","name":"n","port":1,"rules":[]}"#,
            r#"{"flag":1,"name":"n","port":1,"rules":[]}"#,
            r#"{"flag":true,"name":"n","old":1,"port":1,"rules":[]}"#,
            "7",
            "",
        ] {
            assert!(!is_as_stored_now(other, &ty), "{other}");
        }
    }
}
