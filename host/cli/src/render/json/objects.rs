//! Renders the modules and objects of a state as JSON.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use wardian_address::{InstanceKey, ResourceMode};
use wardian_value::{Value, View};

use super::values::{Parts, PlainValue};
use crate::render::state::StateObject;
use crate::render::state::module_tree::ModuleTree;

/// A module instance with its child modules.
pub(super) struct Module<'a>(pub(super) ModuleTree<'a>);

impl Serialize for Module<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Branch(&self.0).serialize(serializer)
    }
}

struct Branch<'a>(&'a ModuleTree<'a>);

impl Serialize for Branch<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tree = self.0;
        let mut module = serializer.serialize_struct("module", 3)?;
        if !tree.objects().is_empty() {
            module.serialize_field("resources", &Resources(tree.objects()))?;
        }
        if !tree.address().is_root() {
            module.serialize_field("address", &tree.address().to_string())?;
        }
        if tree.children().len() > 0 {
            let children: Vec<Branch<'_>> = tree.children().map(Branch).collect();
            module.serialize_field("child_modules", &children)?;
        }
        module.end()
    }
}

struct Resources<'a>(&'a [StateObject<'a>]);

impl Serialize for Resources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Resource::new))
    }
}

#[derive(Serialize)]
struct Resource<'a> {
    address: String,
    mode: &'static str,
    #[serde(rename = "type")]
    type_name: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Index<'a>>,
    provider_name: String,
    schema_version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<PlainValue<'a>>,
    sensitive_values: Parts<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tainted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    deposed_key: Option<&'a str>,
}

/// An instance key.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Index<'a> {
    /// An integer key, from `count`.
    Number(u64),
    /// A string key, from `for_each`.
    Text(&'a str),
}

impl<'a> Index<'a> {
    /// Returns the key; `None` for an instance without a key.
    pub(super) fn from_key(key: &'a InstanceKey) -> Option<Self> {
        match key {
            InstanceKey::None => None,
            InstanceKey::Int(index) => Some(Self::Number(*index)),
            InstanceKey::String(key) => Some(Self::Text(key)),
        }
    }
}

pub(super) fn mode_name(mode: ResourceMode) -> &'static str {
    match mode {
        ResourceMode::Data => "data",
        ResourceMode::Managed => "managed",
        ResourceMode::Ephemeral => "ephemeral",
    }
}

impl<'a> Resource<'a> {
    fn new(object: &'a StateObject<'_>) -> Self {
        let address = &object.address;
        Self {
            address: address.to_string(),
            mode: mode_name(address.mode()),
            type_name: address.type_name(),
            name: address.name(),
            index: Index::from_key(&address.key),
            provider_name: object.provider.provider.to_string(),
            schema_version: object.schema_version,
            values: says_anything(&object.value).then_some(PlainValue(&object.value)),
            sensitive_values: Parts::sensitive(&object.value),
            depends_on: object.dependencies.iter().map(ToString::to_string).collect(),
            tainted: object.tainted,
            deposed_key: object.deposed,
        }
    }
}

/// Returns whether any attribute is known. An object without known attributes has no `values`,
/// as in Terraform's documents.
fn says_anything(object: &Value) -> bool {
    match object.view() {
        View::Object(attributes) => attributes.iter().any(|(_, value)| value.is_known()),
        View::Null | View::Unknown => false,
        _ => true,
    }
}
