//! `dynamic_resources.json`: resource types that the user defines.
//!
//! The file is an object with a member for each type, whose `attributes` and `blocks` have a
//! member for each attribute and block; README.md lists their members. All mistakes are reported
//! with their location before the definitions are used.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;
use wardian_sdk::file_access::is_granted;
use wardian_sdk::{Diagnostic, Diagnostics, Nesting, Type};

use crate::definition::{
    Attribute, Attributes, Block, BlockCollection, Contents, Definition, Kind, OnChange, Presence, Visibility,
};
use crate::stored_value::{StoredObject, StoredValue};

/// Maximum depth of nested attributes and blocks. Hosts reject much deeper schemas.
const MAX_DEPTH: usize = 32;
/// Names that Terraform reserves.
const RESERVED: [&str; 7] =
    ["connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonContents {
    #[serde(default)]
    attributes: BTreeMap<String, JsonAttribute>,
    #[serde(default)]
    blocks: BTreeMap<String, JsonBlock>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonBlock {
    #[serde(default)]
    attributes: BTreeMap<String, JsonAttribute>,
    #[serde(default)]
    blocks: BTreeMap<String, JsonBlock>,
    mode: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct JsonAttribute {
    #[serde(rename = "type")]
    kind: Option<String>,
    optional: bool,
    required: bool,
    computed: bool,
    value: Option<StoredValue>,
    list: Option<Box<JsonAttribute>>,
    map: Option<Box<JsonAttribute>>,
    set: Option<Box<JsonAttribute>>,
    object: Option<BTreeMap<String, JsonAttribute>>,
    sensitive: bool,
    replace: bool,
    skip_nested_metadata: bool,
}

/// Returns the types in a definition file. Their names must not occur in `others`. If the file does
/// not exist, returns no types.
pub(crate) fn read(
    file: &Path,
    others: &BTreeMap<String, Definition>,
) -> Result<BTreeMap<String, Definition>, Diagnostics> {
    // If the directory is not granted, the file cannot be read, so it is treated as absent.
    if !is_granted(file) {
        return Ok(BTreeMap::new());
    }
    match fs::read(file) {
        Ok(content) => parse(&content, others).map_err(|problems| {
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
            let diagnostics = problems.into_iter().map(|problem| {
                Diagnostic::error("Invalid type definitions", format!("In {name}: {problem}."))
            });
            diagnostics.collect()
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(Diagnostics::error(
            "Failed to read the type definitions",
            format!("failed to read {}: {error}", file.display()),
        )),
    }
}

fn parse(
    content: &[u8],
    others: &BTreeMap<String, Definition>,
) -> Result<BTreeMap<String, Definition>, Vec<String>> {
    let written: BTreeMap<String, JsonContents> =
        serde_json::from_slice(content).map_err(|error| vec![error.to_string()])?;
    let mut reader = Reader { location: Vec::new(), problems: Vec::new() };
    let mut types = BTreeMap::new();
    for (name, one) in written {
        reader.at(&name, |reader| {
            reader.name(&name);
            if others.contains_key(&name) {
                reader.problem("the provider already has this type");
            }
            if one.attributes.contains_key("id") || one.blocks.contains_key("id") {
                reader.problem("\"id\" cannot be defined: every type has it");
            }
            for name in one.attributes.keys().chain(one.blocks.keys()) {
                if RESERVED.contains(&name.as_str()) {
                    reader.problem(format!("Terraform reserves the name {name:?}"));
                }
            }
            let contents = reader.contents(one.attributes, one.blocks);
            types.insert(name.clone(), Definition { description: "", contents });
        });
    }
    if reader.problems.is_empty() { Ok(types) } else { Err(reader.problems) }
}

/// Builds definitions from the JSON and collects the mistakes.
struct Reader {
    location: Vec<String>,
    problems: Vec<String>,
}

impl Reader {
    fn problem(&mut self, what: impl Display) {
        self.problems.push(format!("{}: {what}", self.location.join(".")));
    }

    fn at<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.location.push(name.to_owned());
        let result = read(self);
        self.location.pop();
        result
    }

    fn is_too_deep(&mut self) -> bool {
        let too_deep = self.location.len() > MAX_DEPTH;
        if too_deep {
            self.problem("too many levels of attributes and blocks");
        }
        too_deep
    }

    fn name(&mut self, name: &str) {
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !first || !bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            self.problem("a name must consist of lower-case letters, digits and underscores");
        }
    }

    fn contents(
        &mut self,
        attributes: BTreeMap<String, JsonAttribute>,
        blocks: BTreeMap<String, JsonBlock>,
    ) -> Contents {
        if self.is_too_deep() {
            return Contents::default();
        }
        let attributes = self.attributes(attributes);
        let mut read = BTreeMap::new();
        for (name, block) in blocks {
            self.at(&name, |reader| {
                reader.name(&name);
                if attributes.contains_key(&name) {
                    reader.problem("an attribute and a block cannot have the same name");
                }
                let nesting = match block.mode.as_deref() {
                    None | Some("" | "list") => BlockCollection::List,
                    Some("set") => BlockCollection::Set,
                    Some(other) => {
                        reader.problem(format!("the mode must be \"list\" or \"set\", not {other:?}"));
                        BlockCollection::List
                    }
                };
                let contents = reader.contents(block.attributes, block.blocks);
                read.insert(name.clone(), Block { nesting, contents });
            });
        }
        Contents { attributes, blocks: read }
    }

    fn attributes(&mut self, written: BTreeMap<String, JsonAttribute>) -> Attributes {
        let mut read = BTreeMap::new();
        for (name, one) in written {
            let attribute = self.at(&name, |reader| {
                reader.name(&name);
                reader.attribute(one)
            });
            if let Some(attribute) = attribute {
                read.insert(name, attribute);
            }
        }
        read
    }

    /// Reads an attribute. If its type is invalid, reports the error and returns `None`.
    fn attribute(&mut self, written: JsonAttribute) -> Option<Attribute> {
        let presence = self.presence(&written);
        let visibility = if written.sensitive { Visibility::Sensitive } else { Visibility::Shown };
        let on_change = if written.replace { OnChange::Replace } else { OnChange::Update };
        let value = written.value.clone().map(|value| filled(value, &written));
        let kind = self.kind(written)?;
        let mut attribute =
            Attribute { kind, presence, visibility, on_change, computed_value: None, description: "" };
        if let Some(value) = value {
            if !matches!(presence, Presence::Computed | Presence::OptionalComputed) {
                self.problem("only a computed attribute can have a value");
            }
            match value.value(&attribute.ty()) {
                Ok(value) => attribute.computed_value = Some(value),
                Err(stored_value_error) => {
                    self.problem(format!("the value does not match the type: {stored_value_error}"));
                }
            }
        }
        Some(attribute)
    }

    fn presence(&mut self, written: &JsonAttribute) -> Presence {
        match (written.required, written.optional, written.computed) {
            (true, false, false) => Presence::Required,
            (false, true, false) => Presence::Optional,
            (false, false, true) => Presence::Computed,
            (false, true, true) => Presence::OptionalComputed,
            (false, false, false) => {
                self.problem("one of \"required\", \"optional\" and \"computed\" must be true");
                Presence::Optional
            }
            (true, _, _) => {
                self.problem("\"required\" excludes \"optional\" and \"computed\"");
                Presence::Required
            }
        }
    }

    fn kind(&mut self, written: JsonAttribute) -> Option<Kind> {
        let nests = !written.skip_nested_metadata;
        let nesting = match written.kind.as_deref() {
            Some("integer") => return Some(Kind::Integer),
            Some("float") => return Some(Kind::Float),
            Some("list") => Nesting::List,
            Some("map") => Nesting::Map,
            Some("set") => Nesting::Set,
            Some("object") => Nesting::Single,
            _ => return self.plain_type(written).map(Kind::Plain),
        };
        let element = match nesting {
            Nesting::Single => return self.object(written, nests),
            Nesting::List => &written.list,
            Nesting::Map => &written.map,
            Nesting::Set => &written.set,
        };
        if nests && element.as_ref().is_some_and(|element| element.kind.as_deref() == Some("object")) {
            let element = match nesting {
                Nesting::List => written.list,
                Nesting::Map => written.map,
                _ => written.set,
            };
            let attributes = self.members(*element?)?;
            return Some(Kind::Nested(nesting, attributes));
        }
        self.plain_type(written).map(Kind::Plain)
    }

    fn object(&mut self, written: JsonAttribute, nests: bool) -> Option<Kind> {
        if !nests {
            return self.plain_type(written).map(Kind::Plain);
        }
        self.members(written).map(|attributes| Kind::Nested(Nesting::Single, attributes))
    }

    /// Reads the attributes of a nested object.
    fn members(&mut self, object: JsonAttribute) -> Option<Attributes> {
        if self.is_too_deep() {
            return None;
        }
        let written = object.object.unwrap_or_default();
        if written.is_empty() {
            self.problem("an object must have attributes, in \"object\"");
            return None;
        }
        Some(self.attributes(written))
    }

    fn plain_type(&mut self, written: JsonAttribute) -> Option<Type> {
        if self.is_too_deep() {
            return None;
        }
        let mut element = |name: &str, element: Option<Box<JsonAttribute>>| {
            let Some(element) = element else {
                self.problem(format!("the element type is missing in {name:?}"));
                return None;
            };
            self.at(name, |reader| reader.plain_type(*element))
        };
        match written.kind.as_deref() {
            Some("boolean") => Some(Type::Bool),
            Some("string") => Some(Type::String),
            Some("float" | "integer" | "number") => Some(Type::Number),
            Some("list") => element("list", written.list).map(Type::list),
            Some("map") => element("map", written.map).map(Type::map),
            Some("set") => element("set", written.set).map(Type::set),
            Some("object") => {
                let mut types = Vec::new();
                for (name, one) in written.object.unwrap_or_default() {
                    types.push((name.clone(), self.at(&name, |reader| reader.plain_type(one))?));
                }
                Some(Type::object(types))
            }
            Some(other) => {
                self.problem(format!(
                    "unknown type {other:?}: use boolean, float, integer, number, string, list, map, object \
                     or set"
                ));
                None
            }
            None => {
                self.problem("the type is missing");
                None
            }
        }
    }
}

/// Returns the value of a computed attribute. If an object in the value does not set a member, the
/// member gets the value from its own definition.
fn filled(mut value: StoredValue, attribute: &JsonAttribute) -> StoredValue {
    let each = |all: Option<Vec<StoredValue>>, element: &Option<Box<JsonAttribute>>| match element {
        Some(element) => all.map(|all| all.into_iter().map(|one| filled(one, element)).collect()),
        None => all,
    };
    value.list = each(value.list, &attribute.list);
    value.set = each(value.set, &attribute.set);
    if let (Some(all), Some(element)) = (&mut value.map, &attribute.map) {
        for one in all.values_mut() {
            *one = filled(std::mem::take(one), element);
        }
    }
    if let (Some(members), Some(attributes)) = (&mut value.object, &attribute.object) {
        fill(members, attributes);
    }
    value
}

fn fill(members: &mut StoredObject, attributes: &BTreeMap<String, JsonAttribute>) {
    for (name, attribute) in attributes {
        let stated = members.remove(name).or_else(|| attribute.value.clone());
        if let Some(value) = stated {
            members.insert(name.clone(), filled(value, attribute));
        }
    }
}
