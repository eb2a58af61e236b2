//! Encodes and decodes values in files. Each value is an object with one member, whose name is the
//! kind of the value, for example `{"string": "a"}`, `{"number": "1.5"}` or `{"list": [{"boolean":
//! true}]}`.
//!
//! Null is omitted in objects and is `{}` in collections. Blocks are lists and sets of objects,
//! which are omitted if they are empty. Members that a type does not have are ignored: a file can
//! still be read if an attribute is removed from a type. A value of the wrong kind causes an error.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_sdk::{Number, Path, PathStep, Str, Type, Value, View};

use crate::definition::{BlockCollection, Contents};

/// A value in a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredValue {
    #[serde(skip_serializing_if = "Option::is_none")]
    boolean: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    string: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) list: Option<Vec<StoredValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) map: Option<BTreeMap<String, StoredValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object: Option<BTreeMap<String, StoredValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<Vec<StoredValue>>,
}

/// The members of an object.
pub(crate) type StoredObject = BTreeMap<String, StoredValue>;

/// A stored value has the wrong kind.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {message}")]
pub(crate) struct StoredValueError {
    path: String,
    message: String,
}

impl StoredValue {
    /// Converts a wholly known value.
    pub(crate) fn from_value(value: &Value) -> Self {
        let nothing = Self::default();
        match value.view() {
            View::Null | View::Unknown => nothing,
            View::Bool(value) => Self { boolean: Some(value), ..nothing },
            View::Number(number) => Self { number: Some(number.to_general(None)), ..nothing },
            View::String(text) => Self { string: Some(text.to_string()), ..nothing },
            View::List(all) | View::Tuple(all) => {
                Self { list: Some(all.iter().map(Self::from_value).collect()), ..nothing }
            }
            View::Set(all) => Self { set: Some(all.iter().map(Self::from_value).collect()), ..nothing },
            View::Map(all) => {
                let map = all.iter().map(|(key, one)| (key.to_string(), Self::from_value(one)));
                Self { map: Some(map.collect()), ..nothing }
            }
            View::Object(all) => {
                let object = all.iter().filter(|(_, one)| !one.is_null());
                let object = object.map(|(name, one)| (name.to_string(), Self::from_value(one)));
                Self { object: Some(object.collect()), ..nothing }
            }
        }
    }

    /// Converts the stored value to the given type.
    pub(crate) fn value(&self, ty: &Type) -> Result<Value, StoredValueError> {
        self.value_at(ty, &Path::root())
    }

    fn value_at(&self, ty: &Type, path: &Path) -> Result<Value, StoredValueError> {
        let elements = |all: &[Self], element: &Type| -> Result<Vec<Value>, StoredValueError> {
            let all = (0u64..).zip(all);
            all.map(|(index, one)| one.value_at(element, &path.child(PathStep::Index(index)))).collect()
        };
        let value = match ty {
            Type::Bool => self.boolean.map(Value::bool),
            Type::Number => self.number.as_deref().map(|text| number(text, path)).transpose()?,
            Type::String => self.string.as_deref().map(Value::string),
            Type::List(element) => {
                let all = self.list.as_deref().map(|all| elements(all, element)).transpose()?;
                all.map(|all| Value::list((**element).clone(), all))
            }
            Type::Set(element) => {
                let all = self.set.as_deref().map(|all| elements(all, element)).transpose()?;
                all.map(|all| Value::set((**element).clone(), all))
            }
            Type::Map(element) => {
                let entry = |(key, one): (&String, &Self)| {
                    let key = Str::from(key.as_str());
                    let value = one.value_at(element, &path.child(PathStep::Key(key.clone())))?;
                    Ok((key, value))
                };
                let all = self.map.as_ref().map(|all| all.iter().map(entry).collect::<Result<Vec<_>, _>>());
                all.transpose()?.map(|all| Value::map((**element).clone(), all))
            }
            Type::Object(object) => {
                let member = |stored: &StoredObject, name: &Str, ty: &Type| match stored.get(&**name) {
                    Some(one) => one.value_at(ty, &path.attribute(name.clone())),
                    None => Ok(Value::null(ty.clone())),
                };
                let all = self.object.as_ref().map(|stored| {
                    let all = object.iter().map(|(name, ty)| Ok((name.clone(), member(stored, name, ty)?)));
                    all.collect::<Result<Vec<_>, StoredValueError>>()
                });
                all.transpose()?.map(Value::object)
            }
            _ => None,
        };
        match value {
            Some(value) => Ok(value),
            None => match self.kind() {
                None => Ok(Value::null(ty.clone())),
                Some(kind) => {
                    Err(stored_value_error(path, format!("{} is required, not a {kind}", ty.friendly_name())))
                }
            },
        }
    }

    /// Returns the kind of the value; `None` for null.
    fn kind(&self) -> Option<&'static str> {
        let kinds = [
            (self.boolean.is_some(), "boolean"),
            (self.number.is_some(), "number"),
            (self.string.is_some(), "string"),
            (self.list.is_some(), "list"),
            (self.map.is_some(), "map"),
            (self.object.is_some(), "object"),
            (self.set.is_some(), "set"),
        ];
        kinds.into_iter().find(|(is_it, _)| *is_it).map(|(_, kind)| kind)
    }
}

/// Converts a wholly known object with blocks.
pub(crate) fn stored_object(object: &Value, contents: &Contents) -> StoredObject {
    let members = object.as_mapping().into_iter().flatten();
    let members = members.filter_map(|(name, value)| {
        let stored = match contents.blocks.get(&**name) {
            Some(block) => stored_blocks(value, block.nesting, &block.contents)?,
            None if value.is_null() => return None,
            None => StoredValue::from_value(value),
        };
        Some((name.to_string(), stored))
    });
    members.collect()
}

fn stored_blocks(blocks: &Value, nesting: BlockCollection, contents: &Contents) -> Option<StoredValue> {
    let all = blocks.as_elements().filter(|all| !all.is_empty())?;
    let nothing = StoredValue::default;
    let all =
        all.iter().map(|block| StoredValue { object: Some(stored_object(block, contents)), ..nothing() });
    Some(match nesting {
        BlockCollection::List => StoredValue { list: Some(all.collect()), ..nothing() },
        BlockCollection::Set => StoredValue { set: Some(all.collect()), ..nothing() },
    })
}

/// Returns the stored object with blocks as a value of a type.
pub(crate) fn object(
    stored: &StoredObject,
    contents: &Contents,
    ty: &Type,
) -> Result<Value, StoredValueError> {
    object_at(stored, contents, ty, &Path::root())
}

fn object_at(
    stored: &StoredObject,
    contents: &Contents,
    ty: &Type,
    path: &Path,
) -> Result<Value, StoredValueError> {
    let Type::Object(object) = ty else {
        return Err(stored_value_error(path, format!("{} is required, not an object", ty.friendly_name())));
    };
    let nothing = StoredValue::default();
    let members = object.iter().map(|(name, ty)| {
        let stored = stored.get(&**name).unwrap_or(&nothing);
        let path = path.attribute(name.clone());
        let value = match contents.blocks.get(&**name) {
            Some(block) => blocks_at(stored, &block.contents, ty, &path)?,
            None => stored.value_at(ty, &path)?,
        };
        Ok((name.clone(), value))
    });
    Ok(Value::object(members.collect::<Result<Vec<_>, StoredValueError>>()?))
}

fn blocks_at(
    stored: &StoredValue,
    contents: &Contents,
    ty: &Type,
    path: &Path,
) -> Result<Value, StoredValueError> {
    let (all, element) = match ty {
        Type::List(element) => (&stored.list, element),
        Type::Set(element) => (&stored.set, element),
        _ => return Err(stored_value_error(path, "blocks are lists and sets".to_owned())),
    };
    if let (None, Some(kind)) = (all, stored.kind()) {
        return Err(stored_value_error(path, format!("{} is required, not a {kind}", ty.friendly_name())));
    }
    let nothing = StoredObject::new();
    let all = (0u64..).zip(all.iter().flatten()).map(|(index, one)| {
        let path = path.index(index);
        match (&one.object, one.kind()) {
            (None, Some(kind)) => Err(stored_value_error(&path, format!("object is required, not a {kind}"))),
            (object, _) => object_at(object.as_ref().unwrap_or(&nothing), contents, element, &path),
        }
    });
    let all = all.collect::<Result<Vec<_>, StoredValueError>>()?;
    let element = (**element).clone();
    Ok(if matches!(ty, Type::Set(_)) { Value::set(element, all) } else { Value::list(element, all) })
}

fn number(text: &str, path: &Path) -> Result<Value, StoredValueError> {
    Number::parse(text)
        .map(Value::number)
        .map_err(|error| stored_value_error(path, format!("{text:?}: {error}")))
}

fn stored_value_error(path: &Path, message: String) -> StoredValueError {
    let path = path.to_string();
    let path = path.strip_prefix('.').unwrap_or(&path);
    let path = if path.is_empty() { "value" } else { path };
    StoredValueError { path: path.to_owned(), message }
}
