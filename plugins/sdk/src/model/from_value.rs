//! Decodes values to Rust types.

use std::cell::Cell;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use wardian_value::{MappingIter, Number, PathStep, Str, Type, Value, View};

use super::attr::ATTR;
use super::dynamic::DYNAMIC;
use super::error::{Failure, ModelError};
use crate::codec;

/// The treatment of an unknown value that the Rust type cannot represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknowns {
    /// An error is returned.
    Reject,
    /// If the Rust type is an `Option`, the value is decoded as `None`.
    AsNone,
}

pub(crate) fn from_value<T: DeserializeOwned>(value: &Value, unknowns: Unknowns) -> Result<T, ModelError> {
    T::deserialize(Source { value, unknowns }).map_err(|failure| failure.0)
}

#[derive(Clone, Copy)]
struct Source<'a> {
    value: &'a Value,
    unknowns: Unknowns,
}

impl<'a> Source<'a> {
    fn at(self, value: &'a Value) -> Self {
        Self { value, ..self }
    }

    fn type_error(self, what: &str) -> Failure {
        match self.value.view() {
            View::Null => Failure::type_mismatch(format!("{what} is required, but the value is null")),
            View::Unknown => {
                Failure::type_mismatch(format!("{what} is required, but the value is not known yet"))
            }
            _ => {
                Failure::type_mismatch(format!("{what} is required, not {}", self.value.ty().friendly_name()))
            }
        }
    }

    fn whole_number<T: std::str::FromStr>(self) -> Result<T, Failure> {
        let Some(number) = self.value.as_number() else {
            return Err(self.type_error("number"));
        };
        let text = number.to_string();
        text.parse().map_err(|_| {
            let whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            Failure::new(if whole {
                format!("the number {text} is out of range")
            } else {
                format!("a whole number is required, not {text}")
            })
        })
    }

    fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Failure> {
        match number.as_i64() {
            Some(whole) => visitor.visit_i64(whole),
            None => match number.as_u64() {
                Some(whole) => visitor.visit_u64(whole),
                None => visitor.visit_f64(number.to_f64()),
            },
        }
    }
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            visitor.$visit(self.whole_number()?)
        })*
    };
}

impl<'de> Deserializer<'de> for Source<'de> {
    type Error = Failure;

    whole_numbers! {
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32
        deserialize_i64 visit_i64 deserialize_i128 visit_i128 deserialize_u8 visit_u8
        deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
        deserialize_u128 visit_u128
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.value.view() {
            View::Null => visitor.visit_unit(),
            View::Unknown if self.unknowns == Unknowns::AsNone => visitor.visit_unit(),
            View::Unknown => Err(self.type_error("a value")),
            View::Bool(value) => visitor.visit_bool(value),
            View::Number(number) => Self::visit_number(number, visitor),
            View::String(text) => visitor.visit_borrowed_str(text),
            View::List(_) | View::Set(_) | View::Tuple(_) => self.deserialize_seq(visitor),
            View::Map(_) | View::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_bool(self.value.as_bool().ok_or_else(|| self.type_error("bool"))?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_f64(self.value.as_number().ok_or_else(|| self.type_error("number"))?.to_f64())
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_borrowed_str(self.value.as_str().ok_or_else(|| self.type_error("string"))?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.value.view() {
            View::Null => visitor.visit_none(),
            View::Unknown if self.unknowns == Unknowns::AsNone => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if name == DYNAMIC {
            let bytes = codec::encode(self.value, &Type::Dynamic).map_err(Failure::new)?;
            return visitor.visit_bytes(&bytes);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let elements = self.value.as_elements().ok_or_else(|| self.type_error("a list"))?;
        // Set elements have no index, so paths cannot contain one.
        let named = !matches!(self.value.ty(), Type::Set(_));
        visitor.visit_seq(Elements { source: self, all: elements, index: 0, named })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let elements = self.value.as_mapping().ok_or_else(|| self.type_error("an object"))?;
        let is_map = matches!(self.value.ty(), Type::Map(_));
        visitor.visit_map(Entries { source: self, left: elements.iter(), current: None, is_map })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if name != ATTR {
            let text = self.value.as_str().ok_or_else(|| self.type_error("string"))?;
            return visitor.visit_enum(BorrowedStrDeserializer::new(text));
        }
        visitor.visit_enum(AttrVariant(self))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }
}

struct AttrVariant<'a>(Source<'a>);

impl<'de> EnumAccess<'de> for AttrVariant<'de> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Failure> {
        let variant = match self.0.value.view() {
            View::Null => "Null",
            View::Unknown => "Unknown",
            _ => "Known",
        };
        let deserializer: StrDeserializer<'_, Failure> = variant.into_deserializer();
        Ok((seed.deserialize(deserializer)?, self))
    }
}

impl<'de> VariantAccess<'de> for AttrVariant<'de> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Failure> {
        self.0.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.0.deserialize_map(visitor)
    }
}

struct Elements<'a> {
    source: Source<'a>,
    all: &'a [Value],
    index: usize,
    named: bool,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        let Some(element) = self.all.get(self.index) else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(self.source.at(element)).map(Some).map_err(|failure| {
            if self.named { failure.inside(PathStep::Index(index as u64)) } else { failure }
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.all.len() - self.index)
    }
}

struct Entries<'a> {
    source: Source<'a>,
    left: MappingIter<'a>,
    current: Option<(&'a Str, &'a Value)>,
    is_map: bool,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        self.current = self.left.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        let Some((key, value)) = self.current else { return Err(Failure::new("value without a key")) };
        seed.deserialize(self.source.at(value)).map_err(|failure| {
            failure.inside(if self.is_map {
                PathStep::Key(key.clone())
            } else {
                PathStep::Attribute(key.clone())
            })
        })
    }
}

/// Returns the names of a struct's fields, which are recorded during an attempt to deserialize it.
/// Returns `None` for types that are not structs with a fixed list of fields.
pub(crate) fn struct_fields<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    let fields = Cell::new(None);
    // Deserialization always fails, for a struct only after the probe has recorded the fields.
    let _ = T::deserialize(Probe(&fields));
    fields.get()
}

struct Probe<'a>(&'a Cell<Option<&'static [&'static str]>>);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        Err(Failure::new("probe"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Failure> {
        self.0.set(Some(fields));
        Err(Failure::new("probe"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
