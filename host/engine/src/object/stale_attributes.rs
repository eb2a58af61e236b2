//! Stored attributes that the schema no longer has. A provider that did not change
//! its schema's version need not know them, so they are not sent.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use wardian_value::Type;

/// The stored object without attributes that its type does not have. What is no
/// JSON stays as it is: the provider says what is wrong with it. Cost: one look at
/// the text, without taking it apart, where nothing is stale.
pub fn without_stale<'a>(stored: &'a str, ty: &Type) -> Cow<'a, str> {
    let mut reader = serde_json::Deserializer::from_str(stored);
    if !matches!(Look(ty).deserialize(&mut reader), Ok(true)) {
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

/// Whether anything is stale.
#[derive(Clone, Copy)]
struct Look<'a>(&'a Type);

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        match self.0 {
            Type::Object(_) | Type::Map(_) | Type::List(_) | Type::Set(_) | Type::Tuple(_) => {
                deserializer.deserialize_any(self)
            }
            _ => deserializer.deserialize_ignored_any(IgnoredAny).map(|_| false),
        }
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let mut stale = false;
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            let ty = match self.0 {
                Type::Object(object) => object.attribute(&name),
                Type::Map(element) => Some(&**element),
                _ => return Err(A::Error::custom("an object is where none belongs")),
            };
            match ty {
                Some(ty) => stale |= members.next_value_seed(Look(ty))?,
                None => {
                    members.next_value::<IgnoredAny>()?;
                    stale = true;
                }
            }
        }
        Ok(stale)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<bool, A::Error> {
        let mut stale = false;
        let mut index = 0;
        loop {
            let ty = match self.0 {
                Type::List(element) | Type::Set(element) => &**element,
                Type::Tuple(types) => types.get(index).unwrap_or(&Type::Dynamic),
                _ => &Type::Dynamic,
            };
            match elements.next_element_seed(Look(ty))? {
                Some(found) => stale |= found,
                None => return Ok(stale),
            }
            index += 1;
        }
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_attributes_that_the_type_lacks_go() {
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
        // What does not fit is left to the provider.
        for odd in ["", "[", "7", r#"{"rules":{"old":1}}"#, r#"{"tags":[]}"#, r#"{"name":{"old":1}}"#] {
            assert_eq!(without_stale(odd, &ty), odd);
        }
    }
}
