//! The arguments of a backend.

use serde_json::Map;
use wardian_plugin::{Attribute, AttributeType, Block, BlockNesting, NestedBlock, ObjectNesting};
use wardian_value::{ObjectType, Type, Value, View, convert};

use crate::host::BackendHost;

/// The arguments of a backend: an object of the type that the backend's schema implies, without
/// unknown values.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendConfig {
    value: Value,
}

impl BackendConfig {
    /// Returns the configuration with these arguments. The value must match the schema.
    pub fn new(value: Value) -> Self {
        Self { value }
    }

    /// Returns the configuration without any argument.
    pub fn empty(schema: &Block) -> Self {
        Self { value: schema.empty_value() }
    }

    /// Returns the configuration for an object with some of the arguments, or null.
    ///
    /// # Errors
    /// Returns a description of the problem, as the end of a sentence.
    pub fn from_object(config: &Value, schema: &Block) -> Result<Self, String> {
        let given = match config.view() {
            View::Null => return Ok(Self::empty(schema)),
            View::Object(given) | View::Map(given) => given,
            _ => return Err(format!("an object is required, not a {}", config.ty().friendly_name())),
        };
        let is_known = |name| schema.attributes.contains_key(name) || schema.block_types.contains_key(name);
        if let Some(name) = given.keys().find(|name| !is_known(*name)) {
            let known = schema.attributes.keys().chain(schema.block_types.keys()).map(|name| &**name);
            let suggestion =
                wardian_diagnostic::closest(name, known).map(|near| format!("; did you mean \"{near}\""));
            return Err(format!("there is no argument \"{name}\"{}", suggestion.unwrap_or_default()));
        }
        let mut attributes = Vec::with_capacity(schema.attributes.len());
        for (name, attribute) in &schema.attributes {
            let value = match given.get(name) {
                None => Value::null(attribute.implied_type()),
                Some(value) => convert_argument(attribute, value)
                    .map_err(|reason| format!("the argument \"{name}\": {reason}"))?,
            };
            attributes.push((name.clone(), value));
        }
        for (name, nested) in &schema.block_types {
            let value = match given.get(name).filter(|value| !value.is_null()) {
                None => nested.empty_value(),
                Some(value) => convert_block(nested, value)
                    .map_err(|reason| format!("the argument \"{name}\": {reason}"))?,
            };
            attributes.push((name.clone(), value));
        }
        Ok(Self { value: Value::object(attributes) })
    }

    /// Reads the arguments that `init` has recorded. Arguments that the schema does not contain are
    /// ignored.
    pub fn from_record(record: &Map<String, serde_json::Value>, schema: &Block) -> Self {
        let attributes = schema.attributes.iter().map(|(name, attribute)| (name, attribute.implied_type()));
        let blocks = schema.block_types.iter().map(|(name, nested)| (name, nested.implied_type()));
        let attributes = attributes.chain(blocks).map(|(name, ty)| {
            let value = record.get(&**name).filter(|value| !value.is_null());
            let value = value.and_then(|value| wardian_value::json::decode(value.to_string(), &ty).ok());
            (name.clone(), value.unwrap_or_else(|| Value::null(ty)))
        });
        Self { value: Value::object(attributes) }
    }

    /// Returns the arguments as `init` records them.
    pub fn to_record(&self, schema: &Block) -> Map<String, serde_json::Value> {
        let text = wardian_value::json::encode(&self.value, &schema.implied_type());
        text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns this configuration with another value of an argument.
    #[must_use]
    pub fn with(&self, name: &str, value: Value) -> Self {
        Self { value: self.value.with_attribute(name, value) }
    }

    /// Returns the value of an argument; [`None`] if it is null.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(Value::as_bool)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        let value = self.get(name)?;
        convert::convert(value, &Type::String).ok()?.as_str()?.parse().ok()
    }
}

/// Converts a value to the type of an argument. Attributes of objects may be omitted.
///
/// # Errors
/// Returns the reason if the value cannot be converted.
pub fn convert_argument(attribute: &Attribute, value: &Value) -> Result<Value, String> {
    let ty = match &attribute.ty {
        AttributeType::Nested(object) if object.nesting == ObjectNesting::Single => {
            let attributes = object
                .attributes
                .iter()
                .map(|(name, attribute)| (name.clone(), attribute.implied_type(), true));
            Type::Object(ObjectType::with_optional(attributes).into())
        }
        _ => attribute.implied_type(),
    };
    convert::convert(value, &ty).map_err(|error| error.to_string())
}

/// Converts a value to the type of a single nested block, whose attributes may be omitted.
fn convert_block(nested: &NestedBlock, value: &Value) -> Result<Value, String> {
    let attributes = nested.block.attributes.iter();
    let attributes = attributes.map(|(name, attribute)| (name.clone(), attribute.implied_type(), true));
    let object = Type::Object(ObjectType::with_optional(attributes).into());
    let ty = match nested.nesting {
        BlockNesting::List => Type::list(object),
        _ => object,
    };
    convert::convert(value, &ty).map_err(|error| error.to_string())
}

/// The arguments of a backend, with the environment variables that are used instead of missing ones.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) config: &'a BackendConfig,
    pub(crate) host: &'a BackendHost,
}

impl Settings<'_> {
    /// Returns an argument, or else the value of the first of these variables that is not empty.
    pub(crate) fn text(&self, name: &str, variables: &[&str]) -> Option<String> {
        let given = self.config.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        given.or_else(|| variables.iter().find_map(|variable| self.host.variable(variable)))
    }

    pub(crate) fn flag(&self, name: &str, variables: &[&str]) -> bool {
        let from_variable = || {
            let text = variables.iter().find_map(|variable| self.host.variable(variable))?;
            Some(matches!(text.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True"))
        };
        self.config.flag(name).or_else(from_variable).unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str, variables: &[&str]) -> Option<u64> {
        let from_variable =
            || variables.iter().find_map(|variable| self.host.variable(variable))?.trim().parse().ok();
        self.config.number(name).or_else(from_variable)
    }
}
