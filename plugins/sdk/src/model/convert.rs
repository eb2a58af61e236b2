//! What an operation may have as its state: Rust types, and objects as they are.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_value::{Type, Value};

use super::error::ModelError;
use super::from_value::{Unknowns, from_value, struct_fields};
use super::object::Object;
use super::to_value::to_value;

/// A state, a plan or a configuration as an operation takes and answers it: any
/// type with serde's two traits, or [`Object`].
///
/// [`Object`] is for schemas that are made at run time, which no Rust type can
/// follow. It is handed over as it is, so that in `create` and `update` a value that
/// is still to be found is unknown in it, where a Rust type has `None`.
pub trait Model: Convert {}

impl<T: Convert> Model for T {}

/// The two ways of a [`Model`]. Nothing else can have them.
pub trait Convert: Sized {
    /// The value as this type.
    fn of_value(value: &Value, ty: &Type, unknowns: Unknowns) -> Result<Self, ModelError>;

    /// This as a value of a schema's type.
    fn as_value_of(&self, ty: &Type) -> Result<Value, ModelError>;

    /// The names of a struct's fields; `None` for what has no fixed list of them.
    fn fields() -> Option<&'static [&'static str]>;
}

impl<T: Serialize + DeserializeOwned> Convert for T {
    fn of_value(value: &Value, _: &Type, unknowns: Unknowns) -> Result<Self, ModelError> {
        from_value(value, unknowns)
    }

    fn as_value_of(&self, ty: &Type) -> Result<Value, ModelError> {
        to_value(self, ty)
    }

    fn fields() -> Option<&'static [&'static str]> {
        struct_fields::<T>()
    }
}

impl Convert for Object {
    fn of_value(value: &Value, ty: &Type, _: Unknowns) -> Result<Self, ModelError> {
        Self::checked(value.clone(), ty.clone())
    }

    // That it is of the type shows when it is encoded.
    fn as_value_of(&self, _: &Type) -> Result<Value, ModelError> {
        Ok(self.as_value().clone())
    }

    fn fields() -> Option<&'static [&'static str]> {
        None
    }
}
