//! `terraform_remote_state`: the outputs of another configuration's state.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use wardian_plugin::{Attribute, Description, PluginDiagnostic, PluginDiagnostics, Schema, Setting};
use wardian_value::{Path, Str, Type, Value, View};

use crate::backends::{self, Arguments, Backend, NoBackend};
use crate::provider::StateFiles;
use crate::schemas::{attribute, schema_of};

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
                    "The kind of backend that has the state, such as `local`.",
                ),
            ),
            (
                "config",
                described(
                    Type::Dynamic,
                    Setting::Optional,
                    "What the backend is configured with: an object of the arguments that its `backend` block takes.",
                ),
            ),
            (
                "defaults",
                described(
                    Type::Dynamic,
                    Setting::Optional,
                    "Values of outputs that the state does not have.",
                ),
            ),
            (
                "outputs",
                described(Type::Dynamic, Setting::Computed, "All outputs of the state's root module."),
            ),
            (
                "workspace",
                described(Type::String, Setting::Optional, "The workspace, where it is not the default one."),
            ),
        ])
    });
    Arc::clone(&SCHEMA)
}

/// Checks a configuration of which parts may not be known yet.
pub(crate) fn validate(config: &Value) -> PluginDiagnostics {
    let mut diagnostics = Vec::new();
    let (backend, arguments) = (part(config, "backend"), part(config, "config"));
    if backend.is_known() && arguments.is_wholly_known() {
        diagnostics.extend(configured(&backend, &arguments).err());
    } else if !can_be_object(&arguments) {
        diagnostics.push(about("config", INVALID, "The configuration of a backend is an object."));
    }
    if !can_be_object(&part(config, "defaults")) {
        diagnostics.push(about(
            "defaults",
            "Invalid default values",
            "The defaults are an object: an attribute for each output.",
        ));
    }
    diagnostics
}

/// Reads the outputs. Everything is known.
pub(crate) async fn read(config: &Value, files: &StateFiles) -> Result<Value, PluginDiagnostics> {
    let found = validate(config);
    if !found.is_empty() {
        return Err(found);
    }
    let (backend, arguments) =
        configured(&part(config, "backend"), &part(config, "config")).map_err(|found| vec![found])?;
    let workspace = part(config, "workspace");
    let workspace = workspace.as_str().unwrap_or("default");
    let read = backend.outputs(&arguments, workspace, files).await.map_err(|found| vec![found])?;
    let Some(stored) = read else {
        let detail = format!(
            "There is no state of the workspace \"{workspace}\" where the backend \"{}\" looks for it. Apply the other \
             configuration first, or correct \"config\" and \"workspace\".",
            part(config, "backend").as_str().unwrap_or_default()
        );
        return Err(vec![about("workspace", "Unable to find remote state", detail)]);
    };
    let mut outputs: BTreeMap<Str, Value> = match part(config, "defaults").view() {
        View::Object(defaults) | View::Map(defaults) => defaults.clone(),
        _ => BTreeMap::new(),
    };
    outputs.extend(stored);
    Ok(config.with_attribute("outputs", Value::object(outputs)))
}

fn configured(
    backend: &Value,
    config: &Value,
) -> Result<(&'static dyn Backend, Arguments), PluginDiagnostic> {
    let Some(name) = backend.as_str() else {
        return Err(about("backend", INVALID, "It must not be null: say which backend has the state."));
    };
    let backend = backends::find(name).map_err(|missing| match missing {
        NoBackend::Unknown(detail) => about("backend", INVALID, detail),
        NoBackend::NotYet(detail) => about("backend", "Backend not available", detail),
    })?;
    let arguments = Arguments::of(config, backend).map_err(|problem| {
        about("config", INVALID, format!("The backend \"{name}\" cannot be configured so: {problem}."))
    })?;
    backend.check(&arguments)?;
    Ok((backend, arguments))
}

/// Whether this is, or may turn out to be, something with named parts.
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
