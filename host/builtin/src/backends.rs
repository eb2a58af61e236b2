//! Backends that store the states of other configurations.
//!
//! Only `local` is supported so far. To add another backend, implement [`Backend`] and return it
//! from [`find`]; nothing else in this crate has to change.

mod local;

use std::collections::BTreeMap;

use async_trait::async_trait;
use wardian_plugin::{CallContext, PluginDiagnostic};
use wardian_value::{Str, Type, Value, View, convert};

use crate::state_files::StateFiles;

/// The names of Terraform's backends.
const TERRAFORM_BACKENDS: [&str; 13] = [
    "azurerm",
    "cloud",
    "consul",
    "cos",
    "gcs",
    "http",
    "inmem",
    "kubernetes",
    "local",
    "oss",
    "pg",
    "remote",
    "s3",
];

/// A backend from which states can be read.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// The supported arguments. All are optional.
    fn arguments(&self) -> &'static [(&'static str, Type)];

    /// Validates the arguments. Their types have already been checked.
    fn check(&self, arguments: &Arguments) -> Result<(), PluginDiagnostic>;

    /// Returns the outputs of a workspace's state, or `None` if the state does not exist.
    async fn outputs(
        &self,
        context: &CallContext,
        arguments: &Arguments,
        workspace: &str,
        files: &StateFiles,
    ) -> Result<Option<BTreeMap<Str, Value>>, PluginDiagnostic>;
}

/// A backend that cannot be used.
pub(crate) enum BackendError {
    /// The backend does not exist.
    Unknown(String),
    /// The backend exists in Terraform but is not supported yet.
    Unsupported(String),
}

pub(crate) fn find(name: &str) -> Result<&'static dyn Backend, BackendError> {
    match name {
        "local" => Ok(&local::Local),
        _ if TERRAFORM_BACKENDS.contains(&name) => Err(BackendError::Unsupported(format!(
            "States of the backend \"{name}\" cannot be read yet. Only \"local\" is supported, which reads \
             a state file on this machine."
        ))),
        _ => {
            let suggestion = wardian_diagnostic::did_you_mean(name, TERRAFORM_BACKENDS);
            Err(BackendError::Unknown(format!("There is no backend \"{name}\".{suggestion}")))
        }
    }
}

/// The arguments of a backend that are set, converted to their types.
#[derive(Debug)]
pub(crate) struct Arguments(BTreeMap<Str, Value>);

impl Arguments {
    /// Converts a backend configuration: a wholly known object or map, or null.
    ///
    /// # Errors
    /// Returns a description of the problem, as the end of a sentence.
    pub(crate) fn from_config(config: &Value, backend: &dyn Backend) -> Result<Self, String> {
        let known = backend.arguments();
        let configured = match config.view() {
            View::Null => return Ok(Self(BTreeMap::new())),
            View::Object(configured) | View::Map(configured) => configured,
            _ => return Err(format!("an object is required, not a {}", config.ty().friendly_name())),
        };
        let mut arguments = BTreeMap::new();
        for (name, value) in configured {
            let Some((_, ty)) = known.iter().find(|(known, _)| *known == name.as_str()) else {
                let suggestion = wardian_diagnostic::closest(name, known.iter().map(|(known, _)| *known))
                    .map(|near| format!("; did you mean \"{near}\"?"));
                return Err(format!(
                    "there is no argument \"{name}\"{}",
                    suggestion.unwrap_or_default().trim_end_matches('?')
                ));
            };
            let value =
                convert::convert(value, ty).map_err(|error| format!("the argument \"{name}\": {error}"))?;
            if !value.is_null() {
                arguments.insert(name.clone(), value);
            }
        }
        Ok(Self(arguments))
    }

    /// Returns a string argument, if it is set.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
}
