//! JSON from servers, limited in size, depth and number of elements.
//!
//! The size is limited before the document is received, and the JSON parser limits the depth. The
//! parsed form of a small element, such as `{}`, can be much larger than its text, so each list
//! also limits the number of its elements.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Maximum size in bytes of a JSON document of a registry or a mirror.
pub(crate) const MAX_JSON_BYTES: u64 = 16 << 20;

/// Parses a document. Unknown properties are ignored.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(text)
}

/// A list with at most `MAX` elements. `null` is an empty list.
#[derive(Debug)]
pub(crate) struct BoundedList<T, const MAX: usize>(pub(crate) Vec<T>);

impl<T, const MAX: usize> Default for BoundedList<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for BoundedList<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor::<T, MAX>(PhantomData)).map(Self)
    }
}

struct ListVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for ListVisitor<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an array of at most {MAX} elements")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            if list.len() >= MAX {
                return Err(A::Error::custom(format_args!("an array has more than {MAX} elements")));
            }
            list.push(element);
        }
        Ok(list)
    }
}

/// An object with at most `MAX` properties, in the order of the document. `null` is an empty object.
#[derive(Debug)]
pub(crate) struct BoundedObject<T, const MAX: usize>(pub(crate) Vec<(String, T)>);

impl<T, const MAX: usize> Default for BoundedObject<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for BoundedObject<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor::<T, MAX>(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for ObjectVisitor<T, MAX> {
    type Value = Vec<(String, T)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with at most {MAX} properties")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut properties: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(property) = properties.next_entry()? {
            if list.len() >= MAX {
                return Err(A::Error::custom(format_args!("an object has more than {MAX} properties")));
            }
            list.push(property);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Document {
        list: BoundedList<u8, 3>,
        object: BoundedObject<u8, 2>,
    }

    #[test]
    fn lists_and_objects_are_bounded() {
        let document: Document = parse(br#"{"list":[1,2,3],"object":{"b":1,"a":2},"other":[[]]}"#).unwrap();
        assert_eq!(document.list.0, [1, 2, 3]);
        assert_eq!(document.object.0, [("b".to_owned(), 1), ("a".to_owned(), 2)]);
        let document: Document = parse(br#"{"list":null,"object":null}"#).unwrap();
        assert!(document.list.0.is_empty() && document.object.0.is_empty());
        for bad in [
            r#"{"list":[1,2,3,4]}"#,
            r#"{"object":{"a":1,"b":1,"c":1}}"#,
            r#"{"list":{}}"#,
            r#"{"object":[]}"#,
        ] {
            assert!(parse::<Document>(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
            assert!(parse::<serde_json::Value>(deep.as_bytes()).is_err());
            // Values of unknown properties are skipped without recursion.
            let unknown = format!("{{\"unknown\":{deep}}}");
            let _ = parse::<Document>(unknown.as_bytes());
        }
    }
}
