//! `dynamic_resources.json`: types that the person defines.
//!
//! An object with a member for each type, in which `attributes` and `blocks` have a
//! member for each of them. README.md has the members of these. Everything that is
//! wrong with a file is found before anything is done with it, and names its place.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;
use wardian_sdk::granted::is_granted;
use wardian_sdk::{Diagnostic, Diagnostics, Nesting, Type};

use crate::definition::{
    Attribute, Attributes, Block, BlockCollection, Contents, Definition, Kind, OnChange, Presence, Visibility,
};
use crate::stored_value::{StoredObject, StoredValue};

/// Attributes and blocks inside each other. Hosts refuse schemas much deeper.
const DEEPEST: usize = 32;
/// What the language means something else by.
const RESERVED: [&str; 7] =
    ["connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenContents {
    #[serde(default)]
    attributes: BTreeMap<String, WrittenAttribute>,
    #[serde(default)]
    blocks: BTreeMap<String, WrittenBlock>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBlock {
    #[serde(default)]
    attributes: BTreeMap<String, WrittenAttribute>,
    #[serde(default)]
    blocks: BTreeMap<String, WrittenBlock>,
    mode: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenAttribute {
    #[serde(rename = "type")]
    kind: Option<String>,
    optional: bool,
    required: bool,
    computed: bool,
    value: Option<StoredValue>,
    list: Option<Box<WrittenAttribute>>,
    map: Option<Box<WrittenAttribute>>,
    set: Option<Box<WrittenAttribute>>,
    object: Option<BTreeMap<String, WrittenAttribute>>,
    sensitive: bool,
    replace: bool,
    skip_nested_metadata: bool,
}

/// The types that a file defines beside those that are there; none if there is no
/// such file.
pub(crate) fn read(
    file: &Path,
    others: &BTreeMap<String, Definition>,
) -> Result<BTreeMap<String, Definition>, Diagnostics> {
    // Without the directory there is nothing that the file could be in.
    if !is_granted(file) {
        return Ok(BTreeMap::new());
    }
    match fs::read(file) {
        Ok(content) => parse(&content, others).map_err(|problems| {
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
            let told = problems.into_iter().map(|problem| {
                Diagnostic::error("Invalid type definitions", format!("In {name}: {problem}."))
            });
            told.collect()
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(Diagnostics::error(
            "Type definitions not read",
            format!("failed to read {}: {error}", file.display()),
        )),
    }
}

fn parse(
    content: &[u8],
    others: &BTreeMap<String, Definition>,
) -> Result<BTreeMap<String, Definition>, Vec<String>> {
    let written: BTreeMap<String, WrittenContents> =
        serde_json::from_slice(content).map_err(|error| vec![error.to_string()])?;
    let mut reader = Reader { place: Vec::new(), problems: Vec::new() };
    let mut types = BTreeMap::new();
    for (name, one) in written {
        reader.at(&name, |reader| {
            reader.name(&name);
            if others.contains_key(&name) {
                reader.problem("the provider has this type already");
            }
            if one.attributes.contains_key("id") || one.blocks.contains_key("id") {
                reader.problem("\"id\" cannot be defined: every type has it");
            }
            for name in one.attributes.keys().chain(one.blocks.keys()) {
                if RESERVED.contains(&name.as_str()) {
                    reader.problem(format!("the language has another meaning for {name:?}"));
                }
            }
            let contents = reader.contents(one.attributes, one.blocks);
            types.insert(name.clone(), Definition { description: "", contents });
        });
    }
    if reader.problems.is_empty() { Ok(types) } else { Err(reader.problems) }
}

/// Makes definitions of what is written, and collects what is wrong with it.
struct Reader {
    place: Vec<String>,
    problems: Vec<String>,
}

impl Reader {
    fn problem(&mut self, what: impl Display) {
        self.problems.push(format!("{}: {what}", self.place.join(".")));
    }

    fn at<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(name.to_owned());
        let result = read(self);
        self.place.pop();
        result
    }

    fn is_too_deep(&mut self) -> bool {
        let too_deep = self.place.len() > DEEPEST;
        if too_deep {
            self.problem("too many levels of attributes and blocks");
        }
        too_deep
    }

    fn name(&mut self, name: &str) {
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !first || !bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            self.problem("a name has to be of lower-case letters, digits and underscores");
        }
    }

    fn contents(
        &mut self,
        attributes: BTreeMap<String, WrittenAttribute>,
        blocks: BTreeMap<String, WrittenBlock>,
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
                        reader.problem(format!("the mode has to be \"list\" or \"set\", not {other:?}"));
                        BlockCollection::List
                    }
                };
                let contents = reader.contents(block.attributes, block.blocks);
                read.insert(name.clone(), Block { nesting, contents });
            });
        }
        Contents { attributes, blocks: read }
    }

    fn attributes(&mut self, written: BTreeMap<String, WrittenAttribute>) -> Attributes {
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

    /// `None` where its type is not to be made out, which has been told.
    fn attribute(&mut self, written: WrittenAttribute) -> Option<Attribute> {
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
                Err(misfit) => self.problem(format!("the value does not fit: {misfit}")),
            }
        }
        Some(attribute)
    }

    fn presence(&mut self, written: &WrittenAttribute) -> Presence {
        match (written.required, written.optional, written.computed) {
            (true, false, false) => Presence::Required,
            (false, true, false) => Presence::Optional,
            (false, false, true) => Presence::Computed,
            (false, true, true) => Presence::OptionalComputed,
            (false, false, false) => {
                self.problem("one of \"required\", \"optional\" and \"computed\" has to be true");
                Presence::Optional
            }
            (true, _, _) => {
                self.problem("\"required\" excludes \"optional\" and \"computed\"");
                Presence::Required
            }
        }
    }

    fn kind(&mut self, written: WrittenAttribute) -> Option<Kind> {
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

    fn object(&mut self, written: WrittenAttribute, nests: bool) -> Option<Kind> {
        if !nests {
            return self.plain_type(written).map(Kind::Plain);
        }
        self.members(written).map(|attributes| Kind::Nested(Nesting::Single, attributes))
    }

    /// The attributes of a nested object.
    fn members(&mut self, object: WrittenAttribute) -> Option<Attributes> {
        if self.is_too_deep() {
            return None;
        }
        let written = object.object.unwrap_or_default();
        if written.is_empty() {
            self.problem("an object has to have attributes, in \"object\"");
            return None;
        }
        Some(self.attributes(written))
    }

    fn plain_type(&mut self, written: WrittenAttribute) -> Option<Type> {
        if self.is_too_deep() {
            return None;
        }
        let mut element = |name: &str, element: Option<Box<WrittenAttribute>>| {
            let Some(element) = element else {
                self.problem(format!("the type of the elements is missing, in {name:?}"));
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
                    "there is no type {other:?}: use boolean, float, integer, number, string, list, map, \
                     object or set"
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

/// The value of a computed attribute, in which what the objects inside it do not state
/// is taken from the values that their own attributes have.
fn filled(mut value: StoredValue, attribute: &WrittenAttribute) -> StoredValue {
    let each = |all: Option<Vec<StoredValue>>, element: &Option<Box<WrittenAttribute>>| match element {
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

fn fill(members: &mut StoredObject, attributes: &BTreeMap<String, WrittenAttribute>) {
    for (name, attribute) in attributes {
        let stated = members.remove(name).or_else(|| attribute.value.clone());
        if let Some(value) = stated {
            members.insert(name.clone(), filled(value, attribute));
        }
    }
}
