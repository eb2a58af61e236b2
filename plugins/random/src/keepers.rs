//! `keepers`: values that have no meaning but that a change of them replaces
//! the resource.

use std::collections::BTreeMap;

use wardian_sdk::{Attribute, AttributeChange, Type, Value};

/// Keepers in a state. Single ones may be null.
pub(crate) type Keepers = Option<BTreeMap<String, Option<String>>>;

/// The attribute, the same for every resource.
pub(crate) fn attribute() -> Attribute {
    Attribute::map("keepers", Type::String)
        .description("Values of your choice. When one of them changes, the resource is replaced.")
        .force_new_if(replaces)
}

/// Early versions did not store null values, and stored a map of nothing else
/// as null. Such a state must not be replaced for what it never held.
fn replaces(change: &AttributeChange<'_>) -> bool {
    let Some(configured) = change.config().as_mapping() else {
        return !(change.config().is_null() && change.prior().is_null());
    };
    let Some(stored) = change.prior().as_mapping() else {
        return !configured.values().all(Value::is_null);
    };
    let is_new = configured.iter().any(|(key, value)| match stored.get(key) {
        Some(stored) => stored != value,
        None => !value.is_null(),
    });
    is_new || stored.keys().any(|key| !configured.contains_key(key))
}
