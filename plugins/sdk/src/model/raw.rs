//! A value as it is, for attributes of a type that only the configuration fixes.

use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use wardian_value::{Type, Value};

use crate::codec;

pub(crate) const RAW: &str = "$wardian::Raw";

/// A value of the language, in a state's field for an attribute of any type.
#[derive(Clone, Debug, PartialEq)]
pub struct Raw(pub Value);

impl Default for Raw {
    fn default() -> Self {
        Self(Value::null(Type::Dynamic))
    }
}

// Serde has no room for foreign values: they pass as bytes in the encoding of a
// dynamic value, which carries its type.
impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = codec::encode(&self.0, &Type::Dynamic).map_err(S::Error::custom)?;
        serializer.serialize_newtype_struct(RAW, &Bytes(&bytes))
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW, RawVisitor)
    }
}

struct RawVisitor;

impl Visitor<'_> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of the language")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Raw, E> {
        codec::decode(bytes, &Type::Dynamic).map(Raw).map_err(E::custom)
    }
}
