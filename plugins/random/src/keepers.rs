//! `keepers`: values whose only effect is that changing them replaces the resource.

use std::collections::BTreeMap;

use wardian_sdk::{Attribute, AttributePlan, Type, Value};

/// The keepers in a state. Elements may be null.
pub(crate) type Keepers = Option<BTreeMap<String, Option<String>>>;

/// Returns the attribute `keepers`, which every resource has.
pub(crate) fn attribute() -> Attribute {
    Attribute::map("keepers", Type::String)
        .description("Arbitrary values. Changing one replaces the resource.")
        .force_new_if(replaces)
}

/// Returns whether the change replaces the object. Early versions did not store null elements, and
/// stored null for a map with only null elements; such objects must not be replaced.
fn replaces(change: &AttributePlan<'_>) -> bool {
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
