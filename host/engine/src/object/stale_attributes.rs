//! Stored attributes that the schema no longer contains. They are removed before a provider
//! receives the object, because a provider with an unchanged schema version may not recognize them.
//! If an object is not stored in the encoding of its type, the next change stores it in that
//! encoding.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use wardian_value::Type;

/// Returns the stored object without attributes that its type no longer has. Invalid JSON is
/// returned unchanged, because the provider reports the error. Cost: if no attribute is stale, one
/// pass over the text without decoding it.
pub fn without_stale<'a>(stored: &'a str, ty: &Type) -> Cow<'a, str> {
    let mut reader = serde_json::Deserializer::from_str(stored);
    if !matches!(Look(ty).deserialize(&mut reader), Ok(Fit::Stale)) {
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
    let mut reader = serde_json::Deserializer::from_str(stored);
    matches!(Look(ty).deserialize(&mut reader), Ok(Fit::Same))
}

/// The result of comparing a stored value with a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The value has the encoding in which it would be stored today.
    Same,
    /// Attributes are missing, or the value is stored in another encoding.
    Other,
    /// The value has attributes that the type does not have.
    Stale,
}

/// A visitor that compares a value with a type.
#[derive(Clone, Copy)]
struct Look<'a>(&'a Type);

impl Look<'_> {
    fn scalar(self, ty: &Type) -> Fit {
        if self.0 == ty { Fit::Same } else { Fit::Other }
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = Fit;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fit, D::Error> {
        match self.0 {
            Type::Dynamic => deserializer.deserialize_ignored_any(IgnoredAny).map(|_| Fit::Same),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = Fit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Fit, A::Error> {
        let mut fit = Fit::Same;
        let mut known = 0;
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            let ty = match self.0 {
                Type::Object(object) => object.attribute(&name),
                Type::Map(element) => Some(&**element),
                // serde_json represents an arbitrary-precision number as a map with one member.
                Type::String | Type::Number | Type::Bool => {
                    members.next_value::<IgnoredAny>()?;
                    fit = fit.max(self.scalar(&Type::Number));
                    continue;
                }
                _ => return Err(A::Error::custom("an object is not allowed here")),
            };
            match ty {
                Some(ty) => {
                    fit = fit.max(members.next_value_seed(Look(ty))?);
                    known += 1;
                }
                None => {
                    members.next_value::<IgnoredAny>()?;
                    fit = Fit::Stale;
                }
            }
        }
        match self.0 {
            Type::Object(object) if known < object.len() => Ok(fit.max(Fit::Other)),
            _ => Ok(fit),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Fit, A::Error> {
        let mut fit = Fit::Same;
        let mut index = 0;
        loop {
            let ty = match self.0 {
                Type::List(element) | Type::Set(element) => &**element,
                Type::Tuple(types) => types.get(index).unwrap_or(&Type::Dynamic),
                _ => &Type::Dynamic,
            };
            match elements.next_element_seed(Look(ty))? {
                Some(found) => fit = fit.max(found),
                None => return Ok(fit),
            }
            index += 1;
        }
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Fit, E> {
        Ok(self.scalar(&Type::String))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Fit, E> {
        Ok(self.scalar(&Type::Bool))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Fit, E> {
        Ok(self.scalar(&Type::Number))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Fit, E> {
        Ok(self.scalar(&Type::Number))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Fit, E> {
        Ok(self.scalar(&Type::Number))
    }

    fn visit_unit<E: Error>(self) -> Result<Fit, E> {
        Ok(Fit::Same)
    }
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
