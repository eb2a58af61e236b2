//! A state for people: `show` and `state show`.

use std::collections::BTreeMap;

use wardian_plugin::{ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress, Schema};
use wardian_state::OutputValue;
use wardian_value::{Str, Value};

use super::RenderOptions;

/// An object of a state with all that is needed to show it.
#[derive(Clone, Debug)]
pub(crate) struct StateObject<'a> {
    /// Its address; holds mode, type, name, key and module.
    pub(crate) address: ResourceInstanceAddress,
    /// The key of a deposed object; `None` for the current one.
    pub(crate) deposed: Option<&'a str>,
    /// The provider configuration that it belongs to.
    pub(crate) provider: &'a ProviderConfigAddress,
    /// The schema that the value has.
    pub(crate) schema: &'a Schema,
    /// The version of the schema with which it was stored.
    pub(crate) schema_version: u64,
    /// Its attributes; sensitive parts are marked.
    pub(crate) value: Value,
    /// Whether it is to be replaced.
    pub(crate) tainted: bool,
    /// What it was made from.
    pub(crate) dependencies: &'a [ResourceAddress],
}

/// All objects, in the order of their addresses, and the outputs.
pub(crate) fn render_state<'a>(
    objects: impl IntoIterator<Item = StateObject<'a>>,
    outputs: &BTreeMap<Str, OutputValue>,
    options: RenderOptions,
) -> String {
    let _ = (objects.into_iter().count(), outputs, options);
    String::new()
}

/// One object.
pub(crate) fn render_object(object: &StateObject<'_>, options: RenderOptions) -> String {
    let _ = (object, options);
    String::new()
}
