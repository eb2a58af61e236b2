//! Renders values, types, and the sensitive or unknown parts of values, as JSON.

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use wardian_value::{Number, Type, Value, View};

/// A value without its marks. Unknown parts are omitted from objects and maps. In lists they are
/// null, which preserves the indexes of the other elements.
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
                let known = elements.iter().filter(|(_, value)| value.is_known());
                serializer.collect_map(known.map(|(key, value)| (&**key, PlainValue(value))))
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

pub(super) struct TypeDocument<'a>(pub(super) &'a Type);

impl Serialize for TypeDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document: serde_json::Value = serde_json::from_str(&self.0.to_json()).unwrap_or_default();
        document.serialize(serializer)
    }
}

/// The property to be determined for each part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Whether the part is sensitive.
    Sensitive,
    /// Whether the part is unknown.
    Unknown,
}

/// A property of all parts of a value: `true`, `false`, or a structure. The structure contains all
/// elements of lists, but no attributes and keys for which the property is `false`.
pub(super) struct Parts<'a> {
    pub(super) question: Question,
    pub(super) value: &'a Value,
}

impl<'a> Parts<'a> {
    pub(super) fn sensitive(value: &'a Value) -> Self {
        Self { question: Question::Sensitive, value }
    }

    pub(super) fn unknown(value: &'a Value) -> Self {
        Self { question: Question::Unknown, value }
    }

    fn with_value(&self, value: &'a Value) -> Self {
        Self { question: self.question, value }
    }

    /// Returns whether the property is `true` for the value as a whole.
    fn is_true(&self) -> bool {
        match self.question {
            Question::Sensitive => self.value.marks().is_sensitive(),
            Question::Unknown => !self.value.is_known(),
        }
    }

    /// Returns whether the property is `false` for the value as a whole.
    fn is_false(&self) -> bool {
        !self.is_true() && (self.value.is_null() || matches!(shape(self.value.ty()), Shape::None))
    }
}

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_true() {
            return serializer.serialize_bool(true);
        }
        if self.is_false() {
            return serializer.serialize_bool(false);
        }
        let value = self.value;
        if let Some(elements) = value.as_elements() {
            return serializer.collect_seq(elements.iter().map(|element| self.with_value(element)));
        }
        let parts = value.as_mapping().into_iter().flatten();
        match shape(value.ty()) {
            // An unknown value has no elements that could be sensitive.
            Shape::Sequence => serializer.serialize_seq(Some(0))?.end(),
            Shape::Mapping | Shape::None => {
                let mut map = serializer.serialize_map(None)?;
                for (key, part) in parts.map(|(key, part)| (key, self.with_value(part))) {
                    if !part.is_false() {
                        map.serialize_entry(&**key, &part)?;
                    }
                }
                map.end()
            }
        }
    }
}

/// The kinds of values, by the kind of their parts.
enum Shape {
    None,
    Sequence,
    Mapping,
}

fn shape(ty: &Type) -> Shape {
    match ty {
        Type::List(_) | Type::Set(_) | Type::Tuple(_) => Shape::Sequence,
        Type::Map(_) | Type::Object(_) => Shape::Mapping,
        _ => Shape::None,
    }
}
