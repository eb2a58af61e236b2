//! Creates configurations in tests.

use serde_json::Value as Json;
use wardian_value::{Str, Value};

use crate::schema::{Block, BlockNesting, Root};
use crate::{Diagnostics, Result, Schema};

/// A configuration, in which absent attributes are null, and the paths of its unknown attributes.
/// [`config`] creates it from JSON, and `hcl` from HCL.
///
/// ```
/// use wardian_sdk::testing::{Config, hcl, json};
///
/// let from_json: Config = json!({ "size": 8 }).into();
/// let from_hcl: Config = hcl("size = 8").unknown("name");
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    source: Source,
    unknown: Vec<String>,
}

#[derive(Clone, Debug)]
enum Source {
    Json(Json),
    #[cfg(not(target_family = "wasm"))]
    Hcl(String),
}

/// Creates a configuration from JSON: `config(json!({})).unknown("name")`.
///
/// ```
/// use wardian_sdk::testing::{config, json};
///
/// let unknown_name = config(json!({ "size": 8 })).unknown("name");
/// ```
pub fn config(json: Json) -> Config {
    Config { source: Source::Json(json), unknown: Vec::new() }
}

impl Config {
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn from_hcl(text: &str) -> Self {
        Self { source: Source::Hcl(text.to_owned()), unknown: Vec::new() }
    }

    /// Makes an attribute unknown, also in a nested object or block: `disk[0].size`. A path cannot lead into
    /// a set; make the complete set unknown.
    ///
    /// ```
    /// use wardian_sdk::testing::hcl;
    ///
    /// let config = hcl("disk { size = 8 }").unknown("name").unknown("disk[0].size");
    /// ```
    #[must_use]
    pub fn unknown(mut self, path: &str) -> Self {
        self.unknown.push(path.to_owned());
        self
    }

    pub(super) fn value(&self, schema: &Schema) -> Result<Value> {
        let value = match &self.source {
            Source::Json(json) => contents(&schema.root, json)?,
            #[cfg(not(target_family = "wasm"))]
            Source::Hcl(text) => contents(&schema.root, &super::hcl_config::to_json(text, &schema.root)?)?,
        };
        self.unknown.iter().try_fold(value, |value, path| with_unknown(&value, path))
    }
}

impl From<Json> for Config {
    fn from(json: Json) -> Self {
        config(json)
    }
}

#[cfg(not(target_family = "wasm"))]
fn with_unknown(value: &Value, path: &str) -> Result<Value> {
    let path = super::value_path::ValuePath::parse(path)?;
    let mut is_found = false;
    let replaced = value.transform(&mut |at, part| {
        if !path.matches(at) {
            return part;
        }
        is_found = true;
        Value::unknown(part.ty().clone())
    });
    if is_found { Ok(replaced) } else { Err(Diagnostics::error("Unsupported argument", path.text())) }
}

#[cfg(target_family = "wasm")]
fn with_unknown(value: &Value, name: &str) -> Result<Value> {
    let mut parts = value.as_mapping().unwrap_or_default().to_map();
    let ty = parts.get(name).map(|part| part.ty().clone());
    let ty = ty.ok_or_else(|| Diagnostics::error("Unsupported argument", name))?;
    parts.insert(Str::new(name), Value::unknown(ty));
    Ok(Value::object(parts))
}

fn contents(root: &Root, json: &Json) -> Result<Value> {
    let Json::Object(given) = json else {
        return Err(Diagnostics::error("Configuration is not an object", json.to_string()));
    };
    let is_known = |name: &str| {
        root.attributes.iter().any(|a| a.name == name) || root.blocks.iter().any(|block| block.name == name)
    };
    if let Some(name) = given.keys().find(|name| !is_known(name)) {
        return Err(Diagnostics::error("Unsupported argument", name.clone()));
    }
    let mut parts = Vec::new();
    for attribute in &root.attributes {
        let json = given.get(&attribute.name).unwrap_or(&Json::Null);
        let value = match attribute.ty() {
            wardian_value::Type::Dynamic => dynamic(json),
            ty => crate::stored::from_json(json, &ty)?,
        };
        parts.push((Str::new(&attribute.name), value));
    }
    for block in &root.blocks {
        let value = match given.get(&block.name) {
            Some(json) => blocks(block, json)?,
            None => block.empty_value(),
        };
        parts.push((Str::new(&block.name), value));
    }
    Ok(Value::object(parts))
}

fn blocks(block: &Block, json: &Json) -> Result<Value> {
    let each = |json: &Json| contents(&block.contents, json);
    match (block.nesting, json) {
        (BlockNesting::List | BlockNesting::Set, Json::Array(all)) => {
            let elements = all.iter().map(each).collect::<Result<Vec<_>>>()?;
            Ok(match block.ty() {
                wardian_value::Type::Set(element) => Value::set((*element).clone(), elements),
                wardian_value::Type::List(element) => Value::list((*element).clone(), elements),
                _ => Value::tuple(elements),
            })
        }
        (BlockNesting::Map, Json::Object(all)) => {
            let elements =
                all.iter().map(|(key, json)| Ok((Str::new(key), each(json)?))).collect::<Result<Vec<_>>>()?;
            Ok(match block.ty() {
                wardian_value::Type::Map(element) => Value::map((*element).clone(), elements),
                _ => Value::object(elements),
            })
        }
        _ => each(json),
    }
}

/// Converts JSON to the values of a configuration. Arrays become tuples, and objects become
/// objects.
fn dynamic(json: &Json) -> Value {
    match json {
        Json::Null => Value::null(wardian_value::Type::Dynamic),
        Json::Bool(value) => Value::bool(*value),
        Json::Number(number) => wardian_value::Number::parse(&number.to_string())
            .map_or_else(|_| Value::null(wardian_value::Type::Number), Value::number),
        Json::String(text) => Value::string(text.as_str()),
        Json::Array(all) => Value::tuple(all.iter().map(dynamic)),
        Json::Object(all) => Value::object(all.iter().map(|(key, json)| (key.as_str(), dynamic(json)))),
    }
}
