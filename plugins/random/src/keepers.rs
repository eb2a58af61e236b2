//! `keepers`: values whose only effect is that changing them replaces the resource.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wardian_sdk::{Attribute, AttributePlan, AttributeShape, AttributeType, Value};

/// The attribute `keepers`, which every resource has. Elements may be null.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Keepers(Option<BTreeMap<String, Option<String>>>);

impl AttributeType for Keepers {
    const ACCEPTS_NULL: bool = true;

    fn shape() -> AttributeShape {
        BTreeMap::<String, String>::shape()
    }

    fn configure(attribute: Attribute) -> Attribute {
        attribute.description("Arbitrary values. Changing one replaces the resource.").force_new_if(replaces)
    }
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
