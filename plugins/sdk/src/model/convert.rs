//! The types of states: Rust types that implement serde's traits, and [`Object`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_value::{Type, Value};

use super::error::ModelError;
use super::from_value::{Unknowns, from_value, struct_fields};
use super::object::Object;
use super::to_value::to_value;

/// A state, plan or configuration that is passed to or returned by an operation: any type that
/// implements serde's two traits, or [`Object`].
///
/// [`Object`] is for schemas that are built at run time, for which there is no Rust type. It is
/// passed unchanged, so in `create` and `update`, a value that must still be computed is unknown in
/// an [`Object`], but `None` in a Rust type.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::{Model, Object};
///
/// #[derive(Serialize, Deserialize)]
/// struct Server {
///     name: String,
/// }
///
/// fn is_state<T: Model>() {}
/// is_state::<Server>();
/// is_state::<Object>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a resource",
    label = "values of the schema cannot be converted to this type",
    note = "add `#[derive(Serialize, Deserialize)]` to the struct, which must own its values"
)]
pub trait Model: Convert {}

impl<T: Convert> Model for T {}

/// The configuration of a provider, an action or a list: any type that implements serde's `Deserialize` and
/// owns its values.
///
/// ```
/// use serde::Deserialize;
/// use wardian_sdk::ConfigModel;
///
/// #[derive(Deserialize)]
/// struct Config {
///     token: String,
/// }
///
/// fn is_configuration<T: ConfigModel>() {}
/// is_configuration::<Config>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a configuration",
    label = "values of the schema cannot be converted to this type",
    note = "add `#[derive(Deserialize)]` to the struct, which must own its values"
)]
pub trait ConfigModel: DeserializeOwned {}

impl<T: DeserializeOwned> ConfigModel for T {}

/// The conversions of a [`Model`]. This trait is sealed: types in other crates cannot implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a resource",
    label = "values of the schema cannot be converted to this type",
    note = "add `#[derive(Serialize, Deserialize)]` to the struct, which must own its values"
)]
pub trait Convert: Sized {
    /// Decodes a value as this type.
    fn decode_value(value: &Value, ty: &Type, unknowns: Unknowns) -> Result<Self, ModelError>;

    /// Encodes this as a value with the type of a schema.
    fn encode_value(&self, ty: &Type) -> Result<Value, ModelError>;

    /// Whether values of every schema can be decoded.
    const IS_UNTYPED: bool = false;

    /// Returns the names of a struct's fields; `None` for types without a fixed list of fields.
    fn fields() -> Option<&'static [&'static str]>;
}

impl<T: Serialize + DeserializeOwned> Convert for T {
    fn decode_value(value: &Value, _: &Type, unknowns: Unknowns) -> Result<Self, ModelError> {
        from_value(value, unknowns)
    }

    fn encode_value(&self, ty: &Type) -> Result<Value, ModelError> {
        to_value(self, ty)
    }

    fn fields() -> Option<&'static [&'static str]> {
        struct_fields::<T>()
    }
}

impl Convert for Object {
    const IS_UNTYPED: bool = true;

    fn decode_value(value: &Value, ty: &Type, _: Unknowns) -> Result<Self, ModelError> {
        Self::checked(value.clone(), ty.clone())
    }

    // The encoder checks the type.
    fn encode_value(&self, _: &Type) -> Result<Value, ModelError> {
        Ok(self.as_value().clone())
    }

    fn fields() -> Option<&'static [&'static str]> {
        None
    }
}
