//! Renders changes of objects and outputs as JSON.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use wardian_engine::{Action, Importing, OutputChange, ResourceChange};
use wardian_value::{Path, PathStep, Value};

use super::objects::{Index, mode_name};
use super::values::{Parts, PlainValue};

/// The change of one object.
#[derive(Serialize)]
pub(super) struct ResourceChangeDocument<'a> {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module_address: Option<String>,
    mode: &'static str,
    #[serde(rename = "type")]
    type_name: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Index<'a>>,
    provider_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deposed: Option<&'a str>,
    change: ChangeDocument<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action_reason: Option<&'static str>,
}

impl<'a> ResourceChangeDocument<'a> {
    pub(super) fn new(change: &'a ResourceChange) -> Self {
        let address = &change.address;
        let from = change.previous_address.as_ref().filter(|from| *from != address);
        Self {
            address: address.to_string(),
            previous_address: from.map(ToString::to_string),
            module_address: (!address.module().is_root()).then(|| address.module().to_string()),
            mode: mode_name(address.mode()),
            type_name: address.type_name(),
            name: address.name(),
            index: Index::from_key(&address.key),
            provider_name: change.provider.provider.to_string(),
            deposed: change.deposed.as_deref(),
            change: ChangeDocument {
                actions: actions(change.action),
                before: PlainValue(&change.before),
                after: After(&change.after),
                after_unknown: Unknown { value: &change.after, whole: Whole::Object },
                before_sensitive: Sensitive::Parts(Parts::sensitive(&change.before)),
                after_sensitive: Sensitive::Parts(Parts::sensitive(&change.after)),
                replace_paths: change.required_replace.iter().map(PathDocument).collect(),
                importing: change.importing.as_ref().map(ImportingDocument),
                generated_config: change.generated_config.as_deref(),
            },
            action_reason: change.reason.map(wardian_engine::ActionReason::name),
        }
    }
}

/// The change of a value.
#[derive(Serialize)]
pub(super) struct ChangeDocument<'a> {
    actions: &'static [&'static str],
    before: PlainValue<'a>,
    #[serde(skip_serializing_if = "After::is_unknown")]
    after: After<'a>,
    after_unknown: Unknown<'a>,
    before_sensitive: Sensitive<'a>,
    after_sensitive: Sensitive<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    replace_paths: Vec<PathDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importing: Option<ImportingDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generated_config: Option<&'a str>,
}

impl<'a> ChangeDocument<'a> {
    /// Returns the change of an output. An output is either sensitive as a whole or not sensitive.
    pub(super) fn from_output(change: &'a OutputChange) -> Self {
        Self {
            actions: actions(change.action),
            before: PlainValue(&change.before),
            after: After(&change.after),
            after_unknown: Unknown { value: &change.after, whole: Whole::Flag },
            before_sensitive: Sensitive::Flag(change.sensitive),
            after_sensitive: Sensitive::Flag(change.sensitive),
            replace_paths: Vec::new(),
            importing: None,
            generated_config: None,
        }
    }
}

fn actions(action: Action) -> &'static [&'static str] {
    match action {
        Action::NoOp => &["no-op"],
        Action::Create => &["create"],
        Action::Read => &["read"],
        Action::Update => &["update"],
        Action::Delete => &["delete"],
        Action::DeleteThenCreate => &["delete", "create"],
        Action::CreateThenDelete => &["create", "delete"],
        Action::Forget => &["forget"],
    }
}

/// The new value. It is omitted if no part of it is known.
struct After<'a>(&'a Value);

impl After<'_> {
    fn is_unknown(&self) -> bool {
        !self.0.is_known()
    }
}

impl Serialize for After<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PlainValue(self.0).serialize(serializer)
    }
}

/// The unknown parts of a value.
struct Unknown<'a> {
    value: &'a Value,
    /// The document for a fully known value.
    whole: Whole,
}

enum Whole {
    /// `{}`
    Object,
    /// `false`
    Flag,
}

impl Serialize for Unknown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.whole {
            _ if !self.value.is_wholly_known() => Parts::unknown(self.value).serialize(serializer),
            Whole::Object => serializer.serialize_map(Some(0))?.end(),
            Whole::Flag => serializer.serialize_bool(false),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Sensitive<'a> {
    Parts(Parts<'a>),
    Flag(bool),
}

/// A path as attribute names and indices.
pub(super) struct PathDocument<'a>(pub(super) &'a Path);

impl Serialize for PathDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.steps().iter().map(|step| match step {
            PathStep::Attribute(name) | PathStep::Key(name) => Index::Text(name),
            PathStep::Index(index) => Index::Number(*index),
        }))
    }
}

/// The ID or identity of an imported object.
pub(super) struct ImportingDocument<'a>(pub(super) &'a Importing);

impl Serialize for ImportingDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self.0 {
            Importing::Id(id) => map.serialize_entry("id", &**id)?,
            Importing::Identity(identity) => map.serialize_entry("identity", &PlainValue(identity))?,
            Importing::Unknown => map.serialize_entry("unknown", &true)?,
        }
        map.end()
    }
}
