//! `terraform_data`: an object that stores its input.
//!
//! | change | effect |
//! |---|---|
//! | creation | `id` and `output` are known after the apply |
//! | `triggers_replace` | the object is replaced: both are known after the apply |
//! | `input` | `output` is known after the apply |
//!
//! `output` already has the type of `input` in the plan, and is null if `input` is null when the
//! object is created or replaced. Values of different types are not equal: `1` is not equal to
//! `"1"`.

use std::sync::{Arc, LazyLock};

use wardian_plugin::{
    ApplyRequest, ApplyResponse, ImportRequest, ImportResponse, ImportTarget, ImportedResource, MoveRequest,
    MoveResponse, PlanRequest, PlanResponse, PluginDiagnostic, PluginDiagnostics, PrivateBytes, RawState,
    Schema, Setting, UpgradeStateRequest, UpgradeStateResponse,
};
use wardian_value::{Path, Refinement, Str, Type, Value, View, json};

use crate::attributes::{attribute, schema_of};

pub(crate) const TYPE_NAME: &str = "terraform_data";

/// The other resource type whose objects can be moved to this resource type.
const MOVED_FROM: &str = "null_resource";

pub(crate) fn schema() -> Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        schema_of([
            ("id", attribute(Type::String, Setting::Computed)),
            ("input", attribute(Type::Dynamic, Setting::Optional)),
            ("output", attribute(Type::Dynamic, Setting::Computed)),
            ("triggers_replace", attribute(Type::Dynamic, Setting::Optional)),
        ])
    });
    Arc::clone(&SCHEMA)
}

/// Rejects configured values of attributes that only the provider sets.
pub(crate) fn validate(config: &Value) -> PluginDiagnostics {
    ["id", "output"]
        .into_iter()
        .filter(|name| config.get(name).is_some_and(|value| !value.is_null()))
        .map(|name| PluginDiagnostic {
            attribute: Some(Path::root().attribute(name)),
            ..PluginDiagnostic::error(
                format!("\"{name}\" attribute is read-only"),
                format!("\"{name}\" is computed and cannot be set."),
            )
        })
        .collect()
}

pub(crate) fn upgrade(request: &UpgradeStateRequest) -> UpgradeStateResponse {
    let RawState::Json(text) = &request.raw else {
        let detail = "It has the format of Terraform before 0.12, which had no terraform_data.";
        return UpgradeStateResponse { upgraded: None, diagnostics: unreadable(detail) };
    };
    match json::decode(text.as_bytes(), schema().implied_type()) {
        Ok(value) => UpgradeStateResponse { upgraded: Some(value), diagnostics: Vec::new() },
        Err(error) => UpgradeStateResponse { upgraded: None, diagnostics: unreadable(&format!("{error}.")) },
    }
}

fn unreadable(detail: &str) -> PluginDiagnostics {
    vec![PluginDiagnostic::error(
        "Stored object cannot be read",
        format!("The object of terraform_data in the state is invalid. {detail}"),
    )]
}

pub(crate) fn plan(request: PlanRequest) -> PlanResponse {
    let PlanRequest { prior_state, proposed_new_state, prior_private, .. } = request;
    let (planned, requires_replace) = planned(&prior_state, proposed_new_state);
    PlanResponse {
        planned_state: Some(planned),
        requires_replace,
        planned_private: prior_private,
        legacy_type_system: false,
        deferred: None,
        planned_identity: None,
        diagnostics: Vec::new(),
    }
}

fn planned(prior: &Value, proposed: Value) -> (Value, Vec<Path>) {
    let Some(input) = proposed.get("input").cloned() else { return (proposed, Vec::new()) };
    let new_id = || Value::unknown_with(Type::String, Refinement::not_null());
    let new_output = || if input.is_null() { input.clone() } else { Value::unknown(input.ty().clone()) };
    if prior.is_null() {
        let planned = [("id", new_id()), ("output", new_output())];
        return (proposed.with_attributes(planned), Vec::new());
    }
    if prior.get("triggers_replace") != proposed.get("triggers_replace") {
        let planned = [("id", new_id()), ("output", new_output())];
        return (proposed.with_attributes(planned), vec![Path::root().attribute("triggers_replace")]);
    }
    if prior.get("input") != Some(&input) {
        let output = Value::unknown(input.ty().clone());
        return (proposed.with_attributes([("output", output)]), Vec::new());
    }
    (proposed, Vec::new())
}

pub(crate) fn apply(request: ApplyRequest) -> ApplyResponse {
    let planned = request.planned_state;
    let attribute = |name: &str| planned.get(name).cloned().unwrap_or_else(|| Value::null(Type::String));
    let (id, output) = (attribute("id"), attribute("output"));
    let output = if output.is_known() { output } else { attribute("input") };
    let id = if id.is_known() { id } else { Value::string(uuid::Uuid::new_v4().to_string()) };
    let new = planned.with_attributes([("id", id), ("output", output)]);
    ApplyResponse {
        new_state: Some(new),
        private: request.planned_private,
        legacy_type_system: false,
        new_identity: None,
        diagnostics: Vec::new(),
    }
}

/// Imports any identifier, since there is no remote object.
pub(crate) fn import(request: ImportRequest) -> ImportResponse {
    let (imported, diagnostics) = match request.target {
        ImportTarget::Id(id) => {
            let state = schema().block.empty_value().with_attribute("id", Value::string(id));
            let found = ImportedResource {
                type_name: request.type_name,
                state,
                private: PrivateBytes::default(),
                identity: None,
            };
            (vec![found], Vec::new())
        }
        ImportTarget::Identity(_) => {
            let detail = "Objects of terraform_data have no identity; import them by their id.";
            (Vec::new(), vec![PluginDiagnostic::error("Import by identity", detail)])
        }
    };
    ImportResponse { imported, deferred: None, diagnostics }
}

/// Moves an object of `null_resource`: `triggers` is moved to `triggers_replace`, as an object.
pub(crate) fn move_state(request: &MoveRequest) -> MoveResponse {
    let moved = moved(request);
    let (target_state, diagnostics) = match moved {
        Ok(state) => (Some(state), Vec::new()),
        Err(diagnostic) => (None, vec![diagnostic]),
    };
    MoveResponse { target_state, target_private: PrivateBytes::default(), target_identity: None, diagnostics }
}

fn moved(request: &MoveRequest) -> Result<Value, PluginDiagnostic> {
    let address = &request.source_provider_address;
    if &*request.source_type_name != MOVED_FROM || !address.ends_with("hashicorp/null") {
        let detail = format!(
            "Only an object of null_resource of the provider hashicorp/null can be moved to terraform_data, \
             but this object has the type {} of the provider {address}. Destroy the old object and create a \
             new one, or remove the old one from the state.",
            request.source_type_name
        );
        return Err(PluginDiagnostic::error("Object cannot be moved", detail));
    }
    let ty = Type::object([("id", Type::String), ("triggers", Type::map(Type::String))]);
    let RawState::Json(text) = &request.source_state else {
        let detail = "The object has the format of Terraform before 0.12. Apply a configuration with its \
                      provider first.";
        return Err(PluginDiagnostic::error("Stored object cannot be read", detail));
    };
    let old = json::decode(text.as_bytes(), &ty)
        .map_err(|error| PluginDiagnostic::error("Stored object cannot be read", format!("{error}.")))?;
    let mut new = schema().block.empty_value();
    if let Some(id) = old.get("id").filter(|id| !id.is_null()) {
        new = new.with_attribute("id", id.clone());
    }
    if let Some(View::Map(triggers)) = old.get("triggers").map(Value::view) {
        let attributes = triggers.iter().map(|(name, value)| (Str::clone(name), value.clone()));
        new = new.with_attribute("triggers_replace", Value::object(attributes));
    }
    Ok(new)
}

#[cfg(test)]
mod tests;
