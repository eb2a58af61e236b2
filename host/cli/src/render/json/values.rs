//! Values, types and sensitivity as JSON.

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use wardian_value::{Number, Type, Value, View};

/// A value without its marks. What is not known is null.
pub(super) struct PlainValue<'a>(pub(super) &'a Value);

impl Serialize for PlainValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.view() {
            View::Null | View::Unknown => serializer.serialize_unit(),
            View::Bool(value) => serializer.serialize_bool(value),
            View::Number(number) => serialize_number(number, serializer),
            View::String(text) => serializer.serialize_str(text),
            View::List(elements) | View::Set(elements) | View::Tuple(elements) => {
                serializer.collect_seq(elements.iter().map(PlainValue))
            }
            View::Map(elements) | View::Object(elements) => {
                serializer.collect_map(elements.iter().map(|(key, value)| (&**key, PlainValue(value))))
            }
        }
    }
}

fn serialize_number<S: Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    if let Some(integer) = number.as_i64() {
        return serializer.serialize_i64(integer);
    }
    let text = number.to_string();
    match text.parse::<serde_json::Number>() {
        Ok(number) => number.serialize(serializer),
        Err(_) => serializer.serialize_str(&text),
    }
}

/// A type.
pub(super) struct TypeDocument<'a>(pub(super) &'a Type);

impl Serialize for TypeDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document: serde_json::Value = serde_json::from_str(&self.0.to_json()).unwrap_or_default();
        document.serialize(serializer)
    }
}

/// Where a value is sensitive: `true` there. Collections keep their shape,
/// objects and maps only those parts that have one.
pub(super) struct Sensitivity<'a>(pub(super) &'a Value);

impl Serialize for Sensitivity<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if value.marks().is_sensitive() {
            return serializer.serialize_bool(true);
        }
        if let Some(elements) = value.as_elements() {
            let mut sequence = serializer.serialize_seq(Some(elements.len()))?;
            for element in elements {
                sequence.serialize_element(&Sensitivity(element))?;
            }
            return sequence.end();
        }
        let Some(elements) = value.as_mapping() else {
            return serializer.serialize_bool(false);
        };
        let mut map = serializer.serialize_map(None)?;
        for (key, element) in elements {
            let has_parts = element.as_elements().is_some() || element.as_mapping().is_some();
            if has_parts || element.marks().is_sensitive() {
                map.serialize_entry(&**key, &Sensitivity(element))?;
            }
        }
        map.end()
    }
}
