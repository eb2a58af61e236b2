//! Imports of existing objects.

use serde::Serialize;

use crate::{Diagnostics, Model, Object, Result};

/// An import request, and the known attributes of the imported object.
pub struct Import {
    pub(crate) type_name: String,
    pub(crate) id: Option<String>,
    pub(crate) identity: Option<Object>,
    pub(crate) state: Object,
}

impl Import {
    /// Returns the identifier that the user specified. Returns an error if the user specified an
    /// identity instead.
    pub fn id(&self) -> Result<&str> {
        self.id.as_deref().ok_or_else(|| {
            Diagnostics::error(
                "Import by identity not supported",
                "To import this resource, specify an identifier.",
            )
        })
    }

    /// Returns the identity, if the user specified one instead of an identifier.
    pub fn identity(&self) -> Option<&Object> {
        self.identity.as_ref()
    }

    /// Returns the key that identifies the object, parsed from the identifier or taken from the
    /// identity that the user specified.
    ///
    /// ```
    /// # use wardian_sdk::{Import, Result};
    /// # fn example(import: &Import) -> Result<()> {
    /// let (zone, number): (String, i64) = import.key()?; // "eu-1/7"
    /// # Ok(())
    /// # }
    /// ```
    pub fn key<K: ImportKey>(&self) -> Result<K> {
        match (&self.id, &self.identity) {
            (Some(id), _) => K::from_id(id).ok_or_else(|| self.invalid_id(K::FORMAT)),
            (None, Some(identity)) => K::from_identity(identity),
            (None, None) => Err(self.invalid_id(K::FORMAT)),
        }
    }

    /// Reads the object with a key, and sets all its attributes. `read` returns `None` if the
    /// object does not exist.
    ///
    /// Unlike [`Import::passthrough`], this works for states with fields that are never null.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use wardian_sdk::{Context, Import, Resource, Result, Schema};
    /// #[derive(Serialize, Deserialize, Schema)]
    /// struct Server {
    ///     name: String,
    /// }
    /// # struct Servers;
    /// # fn find(name: String) -> Result<Option<Server>> {
    /// #     Ok(Some(Server { name }))
    /// # }
    /// # impl Resource for Servers {
    /// #     type State = Server;
    /// #     fn schema(&self) -> Schema {
    /// #         Schema::for_type::<Server>()
    /// #     }
    /// #     fn create(&self, plan: Server, _: &mut Context<'_>) -> Result<Server> {
    /// #         Ok(plan)
    /// #     }
    ///
    /// fn import(&self, import: &mut Import, _: &mut Context<'_>) -> Result<()> {
    ///     import.with_key(|name: String| find(name))
    /// }
    /// # }
    /// ```
    pub fn with_key<K: ImportKey, T: Model>(
        &mut self,
        read: impl FnOnce(K) -> Result<Option<T>>,
    ) -> Result<()> {
        let Some(state) = read(self.key()?)? else {
            return Err(Diagnostics::error(
                "Cannot import non-existent remote object",
                format!(
                    "The object of type {} that the import identifies does not exist. Check the identifier, or \
                     create the object first.",
                    self.type_name
                ),
            ));
        };
        let value = state.encode_value(self.state.ty()).map_err(Diagnostics::from)?;
        self.state = Object::new(value, self.state.ty().clone());
        Ok(())
    }

    /// Returns the error for a key that identifies several objects.
    ///
    /// ```
    /// # use wardian_sdk::{Import, Result};
    /// # fn example(import: &Import, found: Vec<i64>) -> Result<i64> {
    /// match found.as_slice() {
    ///     [one] => Ok(*one),
    ///     _ => Err(import.not_unique(found.len())),
    /// }
    /// # }
    /// ```
    pub fn not_unique(&self, count: usize) -> Diagnostics {
        let id = self.id.as_deref().unwrap_or("the identity");
        Diagnostics::error(
            "Import Identifier Is Not Unique",
            format!(
                "{count} objects of type {} match {id:?}. Use an identifier that matches one object.",
                self.type_name
            ),
        )
    }

    /// Sets the attribute to the identifier. A read then determines the other attributes. All
    /// other fields of the state must accept null, since the read receives the state; otherwise use
    /// [`Import::with_key`].
    pub fn passthrough(&mut self, attribute: &str) -> Result<()> {
        let id = self.id()?.to_owned();
        self.state.set(attribute, &id)
    }

    /// Sets an attribute of the object.
    pub fn set<T: Serialize + ?Sized>(&mut self, attribute: &str, value: &T) -> Result<()> {
        self.state.set(attribute, value)
    }

    /// Sets all attributes of the object.
    pub fn set_state<T: Serialize>(&mut self, state: &T) -> Result<()> {
        self.state.replace(state)
    }

    /// Returns the error for an identifier that does not have the expected format.
    pub fn invalid_id(&self, expected: &str) -> Diagnostics {
        let id = self.id.as_deref().unwrap_or_default();
        Diagnostics::error(
            "Unexpected Import Identifier",
            format!("The import identifier of {} must be {expected}, got: {id:?}", self.type_name),
        )
    }

    pub(crate) fn not_supported(&self) -> Diagnostics {
        Diagnostics::error(
            "Resource Import Not Implemented",
            format!("Objects of type {} cannot be imported.", self.type_name),
        )
    }
}

/// The key with which an object is imported: text in an identifier, or the attributes of an
/// identity.
///
/// It is implemented for strings, integers, and tuples of them, whose parts are separated by
/// slashes in an identifier.
///
/// ```
/// use wardian_sdk::{ImportKey, Object, Result};
///
/// struct RecordKey {
///     zone: String,
///     name: String,
/// }
///
/// impl ImportKey for RecordKey {
///     const FORMAT: &'static str = "NAME.ZONE, such as www.example.com";
///
///     fn from_id(id: &str) -> Option<Self> {
///         let (name, zone) = id.split_once('.')?;
///         Some(Self { zone: zone.to_owned(), name: name.to_owned() })
///     }
///
///     fn from_identity(identity: &Object) -> Result<Self> {
///         Ok(Self { zone: identity.get("zone")?, name: identity.get("name")? })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of an import",
    label = "no identifier can be parsed as this type",
    note = "use String, i32, i64, u32, u64 or a tuple of them, or implement `ImportKey`"
)]
pub trait ImportKey: Sized {
    /// The description of valid identifiers for error messages, such as "a whole number".
    const FORMAT: &'static str;

    /// Parses an identifier; `None` if it does not have the format.
    fn from_id(id: &str) -> Option<Self>;

    /// Takes the key from an identity. By default, the identity has one attribute, whose text is
    /// parsed like an identifier.
    fn from_identity(identity: &Object) -> Result<Self> {
        let attributes = identity.as_value().as_mapping().unwrap_or_default();
        let mut values = attributes.values().map(|value| match value.as_number() {
            Some(number) => Some(number.to_string()),
            None => value.as_str().map(str::to_owned),
        });
        let only = match (values.next(), values.next()) {
            (Some(only), None) => only,
            _ => None,
        };
        only.and_then(|text| Self::from_id(&text)).ok_or_else(|| {
            Diagnostics::error(
                "Unexpected Import Identity",
                format!("The identity must have one attribute, which is {}.", Self::FORMAT),
            )
        })
    }
}

impl ImportKey for String {
    const FORMAT: &'static str = "a non-empty string";

    fn from_id(id: &str) -> Option<Self> {
        (!id.is_empty()).then(|| id.to_owned())
    }
}

macro_rules! whole_number_keys {
    ($($number:ty)*) => {
        $(impl ImportKey for $number {
            const FORMAT: &'static str = "a whole number";

            fn from_id(id: &str) -> Option<Self> {
                id.parse().ok()
            }
        })*
    };
}

whole_number_keys! { i32 i64 u32 u64 }

macro_rules! tuple_keys {
    ($($format:literal: $($name:ident)*;)*) => {
        $(impl<$($name: ImportKey),*> ImportKey for ($($name,)*) {
            const FORMAT: &'static str = $format;

            fn from_id(id: &str) -> Option<Self> {
                let mut parts = id.split('/');
                let key = ($($name::from_id(parts.next()?)?,)*);
                parts.next().is_none().then_some(key)
            }
        })*
    };
}

tuple_keys! {
    "two parts, separated by a slash": A B;
    "three parts, separated by slashes": A B C;
}

#[cfg(test)]
mod tests {
    use wardian_value::{Type, Value};

    use super::*;

    #[test]
    fn keys_are_parsed_from_identifiers() {
        assert_eq!(<(String, i64)>::from_id("eu-1/7"), Some(("eu-1".to_owned(), 7)));
        for malformed in ["eu-1", "eu-1/x", "eu-1/7/8", "/7", ""] {
            assert_eq!(<(String, i64)>::from_id(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn key_is_the_only_attribute_of_an_identity() {
        let identity = |names: &[&str]| {
            let ty = Type::object(names.iter().map(|name| (*name, Type::Number)));
            let value = Value::object(names.iter().map(|name| (*name, Value::number(7))));
            Object::from_value(value, ty).unwrap()
        };
        assert_eq!(i64::from_identity(&identity(&["id"])).unwrap(), 7);
        assert!(i64::from_identity(&identity(&["id", "zone"])).is_err());
        assert!(i64::from_identity(&identity(&[])).is_err());
    }
}
