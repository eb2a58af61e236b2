//! `terraform_remote_state`: the outputs of another configuration's state.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use wardian_plugin::{
    Attribute, CallContext, Description, PluginDiagnostic, PluginDiagnostics, Schema, Setting,
};
use wardian_value::{Path, Str, Type, Value, View};

use crate::attributes::{attribute, schema_of};
use crate::backends::{OtherBackend, OtherBackendError};
use crate::state_sources::StateSources;

pub(crate) const TYPE_NAME: &str = "terraform_remote_state";

const INVALID: &str = "Invalid backend configuration";

pub(crate) fn schema() -> Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        let described = |ty: Type, setting: Setting, text: &str| Attribute {
            description: Description { text: text.to_owned(), markdown: true },
            ..attribute(ty, setting)
        };
        schema_of([
            (
                "backend",
                described(
                    Type::String,
                    Setting::Required,
                    "The type of the backend that stores the state, such as `local`.",
                ),
            ),
            (
                "config",
                described(
                    Type::Dynamic,
                    Setting::Optional,
                    "The configuration of the backend: an object with the arguments of its `backend` block.",
                ),
            ),
            (
                "defaults",
                described(
                    Type::Dynamic,
                    Setting::Optional,
                    "Default values for outputs that the state does not contain.",
                ),
            ),
            (
                "outputs",
                described(Type::Dynamic, Setting::Computed, "All outputs of the state's root module."),
            ),
            (
                "workspace",
                described(Type::String, Setting::Optional, "The workspace, if it is not the default one."),
            ),
        ])
    });
    Arc::clone(&SCHEMA)
}

/// Validates a configuration that may contain unknown values.
pub(crate) fn validate(config: &Value, sources: &StateSources) -> PluginDiagnostics {
    let mut diagnostics = Vec::new();
    let (backend, arguments) = (part(config, "backend"), part(config, "config"));
    if backend.is_known() && arguments.is_wholly_known() {
        diagnostics.extend(configured(&backend, &arguments, sources).err());
    } else if !can_be_object(&arguments) {
        diagnostics.push(about("config", INVALID, "The configuration of a backend must be an object."));
    }
    if !can_be_object(&part(config, "defaults")) {
        diagnostics.push(about(
            "defaults",
            "Invalid default values",
            "The defaults must be an object with an attribute for each output.",
        ));
    }
    diagnostics
}

/// Reads the outputs. The configuration is wholly known.
pub(crate) async fn read(
    context: &CallContext,
    config: &Value,
    sources: &StateSources,
) -> Result<Value, PluginDiagnostics> {
    let found = validate(config, sources);
    if !found.is_empty() {
        return Err(found);
    }
    let backend = configured(&part(config, "backend"), &part(config, "config"), sources)
        .map_err(|found| vec![found])?;
    let workspace = part(config, "workspace");
    let workspace = workspace.as_str().unwrap_or("default");
    let read = backend.outputs(context, workspace, sources).await?;
    let Some(stored) = read else {
        let detail = format!(
            "The backend \"{}\" has no state for the workspace \"{workspace}\". Apply the other \
             configuration first, or correct \"config\" and \"workspace\".",
            part(config, "backend").as_str().unwrap_or_default()
        );
        return Err(vec![about("workspace", "Unable to find remote state", detail)]);
    };
    let mut outputs: BTreeMap<Str, Value> = match part(config, "defaults").view() {
        View::Object(defaults) | View::Map(defaults) => defaults.to_map(),
        _ => BTreeMap::new(),
    };
    outputs.extend(stored);
    Ok(config.with_attribute("outputs", Value::object(outputs)))
}

fn configured(
    backend: &Value,
    config: &Value,
    sources: &StateSources,
) -> Result<OtherBackend, PluginDiagnostic> {
    let Some(name) = backend.as_str() else {
        return Err(about(
            "backend",
            INVALID,
            "The value must not be null; set the argument to the backend that stores the state.",
        ));
    };
    let backend = OtherBackend::new(name, config).map_err(|error| match error {
        OtherBackendError::Unknown(detail) => about("backend", INVALID, detail),
        OtherBackendError::Unsupported(detail) => about("backend", "Backend not available", detail),
        OtherBackendError::Arguments(problem) => about(
            "config",
            INVALID,
            format!("The backend \"{name}\" has an invalid configuration: {problem}."),
        ),
    })?;
    backend.check(sources)?;
    Ok(backend)
}

/// Returns whether the value is, or may turn out to be, an object or a map.
fn can_be_object(value: &Value) -> bool {
    matches!(value.ty(), Type::Dynamic | Type::Object(_) | Type::Map(_))
}

fn part(config: &Value, name: &str) -> Value {
    config.get(name).cloned().unwrap_or_else(|| Value::null(Type::Dynamic))
}

fn about(attribute: &str, summary: &str, detail: impl Into<String>) -> PluginDiagnostic {
    PluginDiagnostic {
        attribute: Some(Path::root().attribute(attribute)),
        ..PluginDiagnostic::error(summary, detail)
    }
}
