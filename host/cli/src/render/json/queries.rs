//! Renders the progress and the results of queries as JSON messages.

use serde::Serialize;
use wardian_engine::{ListInstance, ListedObject};
use wardian_value::Value;

use super::values::PlainValue;

/// The start of a query.
#[derive(Serialize)]
pub(crate) struct ListStart {
    pub(super) address: String,
    resource_type: String,
    input_config: Shown,
}

/// An object that a query found.
#[derive(Serialize)]
pub(crate) struct ListResourceFound<'a> {
    pub(super) address: String,
    display_name: &'a str,
    identity: PlainValue<'a>,
    resource_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_object: Option<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    import_config: Option<&'a str>,
}

/// The end of a query.
#[derive(Serialize)]
pub(crate) struct ListComplete {
    pub(super) address: String,
    resource_type: String,
    total: usize,
}

/// A value whose sensitive parts are null.
struct Shown(Value);

impl Serialize for Shown {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PlainValue(&self.0).serialize(serializer)
    }
}

impl Shown {
    fn new(value: &Value) -> Self {
        if !value.has_sensitive() {
            return Self(value.clone());
        }
        Self(value.transform(&mut |_, part| {
            if part.marks().is_sensitive() { Value::null(part.ty().clone()) } else { part }
        }))
    }
}

impl ListStart {
    pub(super) fn new(list: &ListInstance, config: &Value) -> Self {
        Self {
            address: list.to_string(),
            resource_type: list.type_name.to_string(),
            input_config: Shown::new(config),
        }
    }
}

impl<'a> ListResourceFound<'a> {
    pub(super) fn new(list: &'a ListInstance, object: &'a ListedObject) -> Self {
        let generated = object.generated.as_ref();
        Self {
            address: list.to_string(),
            display_name: &object.display_name,
            identity: PlainValue(&object.identity),
            resource_type: &list.type_name,
            resource_object: object.object.as_ref().map(Shown::new),
            config: generated.map(|generated| generated.resource.as_str()),
            import_config: generated.map(|generated| generated.import.as_str()),
        }
    }
}

impl ListComplete {
    pub(super) fn new(list: &ListInstance, found: &[ListedObject]) -> Self {
        Self { address: list.to_string(), resource_type: list.type_name.to_string(), total: found.len() }
    }
}
