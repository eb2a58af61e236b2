//! Resources with an ID and a secret. The ID is the input, which lets a test determine the text
//! that the host shows; `hostile_thief` reveals every state that it receives.

use wardian_value::{Type, Value, json, msgpack};

use crate::bindings::exports::wardian::plugin::provider as wit;
use crate::bindings::wardian::plugin::types::RawState;
use crate::{probe, run};

/// The resource types of this module.
pub(crate) const NAMES: &[&str] = &["hostile_named", "hostile_thief", run::RECORDED];

const ATTRIBUTES: [&str; 4] = ["id", "input", "result", "secret"];

pub(crate) fn is_named(type_name: &str) -> bool {
    NAMES.contains(&type_name)
}

fn object_type() -> Type {
    Type::object(ATTRIBUTES.map(|name| (name, Type::String)))
}

pub(crate) fn decode(bytes: &[u8]) -> Option<Value> {
    msgpack::decode(bytes, &object_type()).ok().filter(|value| !value.is_null())
}

fn encode(value: &Value) -> Vec<u8> {
    msgpack::encode(value, &object_type()).unwrap_or_default()
}

pub(crate) fn with(value: &Value, changes: &[(&str, Value)]) -> Vec<u8> {
    let attribute = |name: &str| {
        let changed = changes.iter().find(|(changed, _)| *changed == name).map(|(_, value)| value);
        changed.or_else(|| value.get(name)).cloned().unwrap_or_else(|| Value::null(Type::String))
    };
    encode(&Value::object(ATTRIBUTES.map(|name| (name, attribute(name)))))
}

/// Returns an object with this ID, as a provider records it.
pub(crate) fn recorded(id: &str) -> Vec<u8> {
    with(&Value::empty_object(), &[("id", Value::from(id)), ("result", Value::from("recorded"))])
}

fn raw(state: &RawState) -> String {
    match state {
        RawState::Json(text) => String::from_utf8_lossy(text).into_owned(),
        RawState::Flatmap(entries) => format!("{entries:?}"),
    }
}

/// Returns an object whose ID contains the state of another object, in an encoding in which a
/// search for its values does not find them.
pub(crate) fn steal(state: RawState) -> Vec<u8> {
    let text: String = raw(&state).bytes().map(|byte| format!("{byte:02x}")).collect();
    with(&Value::empty_object(), &[("id", Value::from(text.as_str()))])
}

pub(crate) fn upgrade(type_name: &str, state: RawState) -> Vec<u8> {
    if type_name == "hostile_thief" {
        return steal(state);
    }
    let RawState::Json(text) = state else { return Vec::new() };
    json::decode(text, &object_type()).map(|value| encode(&value)).unwrap_or_default()
}

pub(crate) fn import(request: wit::ImportResourceStateRequest) -> wit::ImportResourceStateResponse {
    let id = match request.target {
        wit::ImportTarget::Id(id) => id,
        wit::ImportTarget::Identity(_) => String::new(),
    };
    let state = with(&Value::empty_object(), &[("id", Value::from(id.as_str()))]);
    wit::ImportResourceStateResponse {
        imported_resources: vec![wit::ImportedResource {
            type_name: request.type_name,
            state,
            private: Vec::new(),
            identity: None,
        }],
        diagnostics: Vec::new(),
        deferred: None,
    }
}

pub(crate) fn plan(request: wit::PlanResourceChangeRequest) -> wit::PlanResourceChangeResponse {
    let planned_state = match decode(&request.proposed_new_state) {
        Some(proposed) if decode(&request.prior_state).is_none() => {
            let unknown = Value::unknown(Type::String);
            with(&proposed, &[("id", unknown.clone()), ("result", unknown)])
        }
        _ => request.proposed_new_state,
    };
    wit::PlanResourceChangeResponse {
        planned_state,
        requires_replace: Vec::new(),
        planned_private: request.prior_private,
        diagnostics: Vec::new(),
        legacy_type_system: false,
        deferred: None,
        planned_identity: None,
    }
}

/// Creates an object. If the input is a probe, runs the probe.
pub(crate) fn apply(request: wit::ApplyResourceChangeRequest) -> wit::ApplyResourceChangeResponse {
    if request.type_name == run::RECORDED {
        return run::apply(request);
    }
    let new_state = match decode(&request.planned_state) {
        Some(planned) => {
            let input = planned.get("input").and_then(Value::as_str).unwrap_or_default().to_owned();
            let result = if input.starts_with("steps:") { probe::probe(&input) } else { String::new() };
            let id = if input.starts_with("steps:") { "steps" } else { &*input };
            let known = |name: &str, value: &str| match planned.get(name) {
                Some(planned) if planned.is_known() => planned.clone(),
                _ => Value::from(value),
            };
            with(&planned, &[("id", known("id", id)), ("result", known("result", &result))])
        }
        None => request.planned_state,
    };
    wit::ApplyResourceChangeResponse {
        new_state,
        private: request.planned_private,
        diagnostics: Vec::new(),
        legacy_type_system: false,
        new_identity: None,
    }
}
