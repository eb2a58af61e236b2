//! Values of dynamic attributes, whose types are determined by the configuration.

use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use wardian_value::{Type, Value};

use crate::codec;

pub(crate) const DYNAMIC: &str = "$wardian::Dynamic";

/// A value of any type, for a field of a state that corresponds to a dynamic attribute.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::{Dynamic, Schema, Value};
///
/// #[derive(Serialize, Deserialize, Schema)]
/// struct Setting {
///     /// A value of any type.
///     value: Dynamic,
/// }
///
/// let setting = Setting { value: Dynamic(Value::bool(true)) };
/// assert_eq!(setting.value.0, Value::bool(true));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic(pub Value);

impl Default for Dynamic {
    fn default() -> Self {
        Self(Value::null(Type::Dynamic))
    }
}

// Serde cannot represent such values, so they are passed as bytes in the encoding of a dynamic
// value, which includes the type.
impl Serialize for Dynamic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = codec::encode(&self.0, &Type::Dynamic).map_err(S::Error::custom)?;
        serializer.serialize_newtype_struct(DYNAMIC, &Bytes(&bytes))
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de> Deserialize<'de> for Dynamic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(DYNAMIC, DynamicVisitor)
    }
}

struct DynamicVisitor;

impl Visitor<'_> for DynamicVisitor {
    type Value = Dynamic;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dynamic value")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Dynamic, E> {
        codec::decode(bytes, &Type::Dynamic).map(Dynamic).map_err(E::custom)
    }
}
