//! Objects whose attributes are accessed by name.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_value::{Path, PathStep, Type, Value};

use super::error::ModelError;
use super::from_value::{Unknowns, from_value};
use super::to_value::to_value;
use crate::{Diagnostics, Result};

/// An object with the type of a schema: a configuration, a state or a plan. Attributes can be null
/// or unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    value: Value,
    ty: Type,
}

impl Object {
    /// Creates an object. `value` must be a known object of type `ty`.
    pub(crate) fn new(value: Value, ty: Type) -> Self {
        Self { value, ty }
    }

    /// Creates an object whose attributes are all null.
    pub(crate) fn with_nulls(ty: Type) -> Self {
        Self { value: object_of_nulls(&ty), ty }
    }

    /// Creates an object from a value. Returns an error if the value is null or unknown, or has a
    /// different type.
    ///
    /// ```
    /// use wardian_sdk::{Object, Type, Value};
    ///
    /// let ty = Type::object([("name", Type::String)]);
    /// let object = Object::from_value(Value::object([("name", Value::string("a"))]), ty.clone())?;
    /// assert_eq!(object.get::<String>("name")?, "a");
    /// assert!(Object::from_value(Value::bool(true), ty).is_err());
    /// # Ok::<(), wardian_sdk::Diagnostics>(())
    /// ```
    pub fn from_value(value: Value, ty: Type) -> Result<Self> {
        Self::checked(value, ty).map_err(Diagnostics::from)
    }

    pub(crate) fn checked(value: Value, ty: Type) -> std::result::Result<Self, ModelError> {
        if value.is_null() || !value.is_known() {
            return Err(ModelError::new("an object is required, but the value is null or not known yet"));
        }
        if !ty.has_dynamic() && *value.ty() != ty {
            let found = value.ty().friendly_name();
            return Err(ModelError::new(format!("{} is required, not {found}", ty.friendly_name())));
        }
        Ok(Self::new(value, ty))
    }

    /// Returns the type of the object's schema.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns the object as a value.
    pub fn as_value(&self) -> &Value {
        &self.value
    }

    /// Converts the object to a value.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Returns the value of an attribute or nested block; null if the schema does not contain it.
    pub fn value(&self, name: &str) -> Value {
        self.value.get(name).cloned().unwrap_or_else(|| Value::null(Type::Dynamic))
    }

    /// Returns the value at a path, if there is one.
    pub fn value_at(&self, path: &Path) -> Option<&Value> {
        path.apply(&self.value)
    }

    /// Returns whether the attribute is null.
    pub fn is_null(&self, name: &str) -> bool {
        self.value.get(name).is_none_or(Value::is_null)
    }

    /// Returns whether the attribute itself is unknown.
    pub fn is_unknown(&self, name: &str) -> bool {
        self.value.get(name).is_some_and(|value| !value.is_known())
    }

    /// Decodes the attribute to a Rust type. Use `Attr<T>` if it can be unknown, and `Option<T>` if
    /// it can be null.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let Some(value) = self.value.get(name) else {
            return Err(no_attribute(name));
        };
        from_value(value, Unknowns::Reject).map_err(|error| located(error, name).into())
    }

    /// Decodes the object to a Rust type. Fields that can be unknown must have the type
    /// [`crate::Attr`].
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        from_value(&self.value, Unknowns::Reject).map_err(Diagnostics::from)
    }

    /// Sets an attribute.
    pub fn set<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        let ty = self.attribute_type(name)?;
        let value = to_value(value, &ty).map_err(|error| located(error, name))?;
        self.value = self.value.with_attribute(name, value);
        Ok(())
    }

    /// Sets an attribute to unknown ("known after apply").
    pub fn set_unknown(&mut self, name: &str) -> Result<()> {
        let ty = self.attribute_type(name)?;
        self.value = self.value.with_attribute(name, Value::unknown(ty));
        Ok(())
    }

    /// Sets an attribute to null.
    pub fn set_null(&mut self, name: &str) -> Result<()> {
        let ty = self.attribute_type(name)?;
        self.value = self.value.with_attribute(name, Value::null(ty));
        Ok(())
    }

    /// Sets an attribute to a value, which must have the attribute's type.
    pub fn set_value(&mut self, name: &str, value: Value) -> Result<()> {
        let ty = self.attribute_type(name)?;
        if !ty.has_dynamic() && *value.ty() != ty {
            return Err(Diagnostics::error(
                "Value does not match its type",
                format!("{name}: {} is required, not {}", ty.friendly_name(), value.ty().friendly_name()),
            ));
        }
        self.value = self.value.with_attribute(name, value);
        Ok(())
    }

    /// Sets all attributes to the values in a Rust value.
    pub fn replace<T: Serialize>(&mut self, state: &T) -> Result<()> {
        self.value = to_value(state, &self.ty).map_err(Diagnostics::from)?;
        Ok(())
    }

    fn attribute_type(&self, name: &str) -> Result<Type> {
        match &self.ty {
            Type::Object(object) => object.attribute(name).cloned().ok_or_else(|| no_attribute(name)),
            _ => Err(no_attribute(name)),
        }
    }
}

fn located(error: ModelError, name: &str) -> ModelError {
    error.inside(PathStep::Attribute(name.into()))
}

fn no_attribute(name: &str) -> Diagnostics {
    Diagnostics::error("No such attribute", format!("The schema has no attribute {name:?}."))
}

pub(crate) fn object_of_nulls(ty: &Type) -> Value {
    match ty {
        Type::Object(object) => {
            Value::object(object.iter().map(|(name, ty)| (name.clone(), Value::null(ty.clone()))))
        }
        other => Value::null(other.clone()),
    }
}
