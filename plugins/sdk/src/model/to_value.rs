//! Encodes Rust types as values of a given type.

use std::collections::BTreeMap;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct, Serializer,
};
use wardian_value::{Number, PathStep, Str, Type, Value};

use super::attr::ATTR;
use super::dynamic::DYNAMIC;
use super::error::{Failure, ModelError};
use crate::codec;

/// Encodes `value` as a value of type `ty`. Attributes without a field become null; a field without
/// an attribute causes an error.
pub(crate) fn to_value<T: Serialize + ?Sized>(value: &T, ty: &Type) -> Result<Value, ModelError> {
    value.serialize(Target(ty)).map_err(|failure| failure.0)
}

#[derive(Clone, Copy)]
struct Target<'a>(&'a Type);

impl<'a> Target<'a> {
    fn accept(self, value: Value) -> Result<Value, Failure> {
        if *self.0 == Type::Dynamic || self.0 == value.ty() {
            return Ok(value);
        }
        Err(self.mismatch(&value.ty().friendly_name()))
    }

    fn mismatch(self, got: &str) -> Failure {
        Failure::new(format!("{} is required, not {got}", self.0.friendly_name()))
    }

    fn parsed_number(self, text: &str) -> Result<Value, Failure> {
        let number = Number::parse(text).map_err(|error| Failure::new(error.to_string()))?;
        self.accept(Value::number(number))
    }

    fn sequence(self) -> Result<Sequence<'a>, Failure> {
        match self.0 {
            Type::List(_) | Type::Set(_) | Type::Tuple(_) | Type::Dynamic => {
                Ok(Sequence { target: self, elements: Vec::new() })
            }
            _ => Err(self.mismatch("a list")),
        }
    }

    fn mapping(self) -> Result<Mapping<'a>, Failure> {
        match self.0 {
            Type::Map(_) | Type::Object(_) | Type::Dynamic => {
                Ok(Mapping { target: self, entries: BTreeMap::new(), key: None })
            }
            _ => Err(self.mismatch("an object")),
        }
    }
}

macro_rules! whole_numbers {
    ($($method:ident $number:ty => $through:ty),* $(,)?) => {
        $(fn $method(self, value: $number) -> Result<Value, Failure> {
            self.accept(Value::number(Number::from(<$through>::from(value))))
        })*
    };
}

impl<'a> Serializer for Target<'a> {
    type Ok = Value;
    type Error = Failure;
    type SerializeSeq = Sequence<'a>;
    type SerializeTuple = Sequence<'a>;
    type SerializeTupleStruct = Sequence<'a>;
    type SerializeTupleVariant = serde::ser::Impossible<Value, Failure>;
    type SerializeMap = Mapping<'a>;
    type SerializeStruct = Mapping<'a>;
    type SerializeStructVariant = serde::ser::Impossible<Value, Failure>;

    whole_numbers! {
        serialize_i8 i8 => i64, serialize_i16 i16 => i64, serialize_i32 i32 => i64, serialize_i64 i64 => i64,
        serialize_u8 u8 => u64, serialize_u16 u16 => u64, serialize_u32 u32 => u64, serialize_u64 u64 => u64,
    }

    fn serialize_i128(self, value: i128) -> Result<Value, Failure> {
        self.parsed_number(&value.to_string())
    }

    fn serialize_u128(self, value: u128) -> Result<Value, Failure> {
        self.parsed_number(&value.to_string())
    }

    fn serialize_f32(self, value: f32) -> Result<Value, Failure> {
        // Converting the number through text ensures that 0.1 remains 0.1.
        self.parsed_number(&value.to_string())
    }

    fn serialize_f64(self, value: f64) -> Result<Value, Failure> {
        let number = Number::from_f64(value).map_err(|error| Failure::new(error.to_string()))?;
        self.accept(Value::number(number))
    }

    fn serialize_bool(self, value: bool) -> Result<Value, Failure> {
        self.accept(Value::bool(value))
    }

    fn serialize_char(self, value: char) -> Result<Value, Failure> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<Value, Failure> {
        self.accept(Value::string(value))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Value, Failure> {
        Err(self.mismatch("bytes"))
    }

    fn serialize_none(self) -> Result<Value, Failure> {
        Ok(Value::null(self.0.clone()))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Failure> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Failure> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Failure> {
        self.serialize_none()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, Failure> {
        match (name, variant) {
            (ATTR, "Unknown") => Ok(Value::unknown(self.0.clone())),
            (ATTR, _) => self.serialize_none(),
            _ => self.serialize_str(variant),
        }
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Failure> {
        if name == DYNAMIC {
            return value.serialize(DynamicTarget(self));
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, Failure> {
        if name == ATTR { value.serialize(self) } else { Err(self.mismatch(variant)) }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Sequence<'a>, Failure> {
        self.sequence()
    }

    fn serialize_tuple(self, _: usize) -> Result<Sequence<'a>, Failure> {
        self.sequence()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Sequence<'a>, Failure> {
        self.sequence()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Failure> {
        Err(self.mismatch(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Mapping<'a>, Failure> {
        self.mapping()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Mapping<'a>, Failure> {
        self.mapping()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Failure> {
        Err(self.mismatch(variant))
    }
}

struct Sequence<'a> {
    target: Target<'a>,
    elements: Vec<Value>,
}

impl Sequence<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let index = self.elements.len();
        let ty = match self.target.0 {
            Type::List(element) | Type::Set(element) => element,
            Type::Tuple(elements) => elements
                .get(index)
                .ok_or_else(|| Failure::new(format!("at most {} elements are allowed", elements.len())))?,
            _ => &Type::Dynamic,
        };
        let element =
            value.serialize(Target(ty)).map_err(|failure| failure.inside(PathStep::Index(index as u64)))?;
        self.elements.push(element);
        Ok(())
    }

    fn finish(self) -> Result<Value, Failure> {
        match self.target.0 {
            Type::List(element) => Ok(Value::list((**element).clone(), self.elements)),
            Type::Set(element) => Ok(Value::set((**element).clone(), self.elements)),
            Type::Tuple(types) if types.len() != self.elements.len() => {
                Err(Failure::new(format!("{} elements are required", types.len())))
            }
            _ => Ok(Value::tuple(self.elements)),
        }
    }
}

impl SerializeSeq for Sequence<'_> {
    type Ok = Value;
    type Error = Failure;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.push(value)
    }
    fn end(self) -> Result<Value, Failure> {
        self.finish()
    }
}

impl SerializeTuple for Sequence<'_> {
    type Ok = Value;
    type Error = Failure;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.push(value)
    }
    fn end(self) -> Result<Value, Failure> {
        self.finish()
    }
}

impl SerializeTupleStruct for Sequence<'_> {
    type Ok = Value;
    type Error = Failure;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.push(value)
    }
    fn end(self) -> Result<Value, Failure> {
        self.finish()
    }
}

struct Mapping<'a> {
    target: Target<'a>,
    entries: BTreeMap<Str, Value>,
    key: Option<Str>,
}

impl Mapping<'_> {
    fn insert<T: Serialize + ?Sized>(&mut self, key: Str, value: &T) -> Result<(), Failure> {
        let (ty, step) = match self.target.0 {
            Type::Map(element) => (&**element, PathStep::Key(key.clone())),
            Type::Object(object) => {
                let ty = object
                    .attribute(&key)
                    .ok_or_else(|| Failure::new(format!("the schema has no attribute {:?}", &*key)))?;
                (ty, PathStep::Attribute(key.clone()))
            }
            _ => (&Type::Dynamic, PathStep::Attribute(key.clone())),
        };
        let value = value.serialize(Target(ty)).map_err(|failure| failure.inside(step))?;
        self.entries.insert(key, value);
        Ok(())
    }

    fn finish(mut self) -> Value {
        match self.target.0 {
            Type::Map(element) => Value::map((**element).clone(), self.entries),
            Type::Object(object) => {
                for (name, ty) in object.iter() {
                    if !self.entries.contains_key(name) {
                        self.entries.insert(name.clone(), Value::null(ty.clone()));
                    }
                }
                Value::object(self.entries)
            }
            _ => Value::object(self.entries),
        }
    }
}

impl SerializeMap for Mapping<'_> {
    type Ok = Value;
    type Error = Failure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failure> {
        let key = key.serialize(Target(&Type::String))?;
        self.key = key.as_str().map(Str::new);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let Some(key) = self.key.take() else { return Err(Failure::new("a key must be a string")) };
        self.insert(key, value)
    }

    fn end(self) -> Result<Value, Failure> {
        Ok(self.finish())
    }
}

impl SerializeStruct for Mapping<'_> {
    type Ok = Value;
    type Error = Failure;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Failure> {
        self.insert(Str::new(name), value)
    }

    fn end(self) -> Result<Value, Failure> {
        Ok(self.finish())
    }
}

/// Accepts the bytes to which a [`super::Dynamic`] serializes itself.
struct DynamicTarget<'a>(Target<'a>);

macro_rules! refuse {
    ($($method:ident ( $($argument:ty),* ) -> $ok:ty;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$ok, Failure> {
            Err(Failure::new("not a dynamic value"))
        })*
    };
}

type Never = serde::ser::Impossible<Value, Failure>;

impl Serializer for DynamicTarget<'_> {
    type Ok = Value;
    type Error = Failure;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, Failure> {
        let value = codec::decode(bytes, &Type::Dynamic).map_err(Failure::new)?;
        if value.is_null() {
            return Ok(Value::null(self.0.0.clone()));
        }
        self.0.accept(value)
    }

    refuse! {
        serialize_bool(bool) -> Value; serialize_i8(i8) -> Value; serialize_i16(i16) -> Value;
        serialize_i32(i32) -> Value; serialize_i64(i64) -> Value; serialize_u8(u8) -> Value;
        serialize_u16(u16) -> Value; serialize_u32(u32) -> Value; serialize_u64(u64) -> Value;
        serialize_f32(f32) -> Value; serialize_f64(f64) -> Value; serialize_char(char) -> Value;
        serialize_str(&str) -> Value; serialize_none() -> Value; serialize_unit() -> Value;
        serialize_unit_struct(&'static str) -> Value;
        serialize_unit_variant(&'static str, u32, &'static str) -> Value;
        serialize_seq(Option<usize>) -> Never; serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_map(Option<usize>) -> Never; serialize_struct(&'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<Value, Failure> {
        Err(Failure::new("not a dynamic value"))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<Value, Failure> {
        Err(Failure::new("not a dynamic value"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Value, Failure> {
        Err(Failure::new("not a dynamic value"))
    }
}
