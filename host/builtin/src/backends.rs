//! Where the states of other configurations are.
//!
//! There is one backend now, `local`. Another one is a [`Backend`] that [`find`]
//! knows; nothing else here has to learn of it.

mod local;

use std::collections::BTreeMap;

use async_trait::async_trait;
use wardian_plugin::PluginDiagnostic;
use wardian_value::{Str, Type, Value, View, convert};

use crate::provider::StateFiles;

/// The names of all that Terraform has.
const NAMES: [&str; 13] = [
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

/// A place where states are.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// The arguments that it takes. All are optional.
    fn arguments(&self) -> &'static [(&'static str, Type)];

    /// What is wrong with the arguments beyond their types.
    fn check(&self, arguments: &Arguments) -> Result<(), PluginDiagnostic>;

    /// The outputs of the state of a workspace, `None` where there is no state.
    async fn outputs(
        &self,
        arguments: &Arguments,
        workspace: &str,
        files: &StateFiles,
    ) -> Result<Option<BTreeMap<Str, Value>>, PluginDiagnostic>;
}

/// Why there is no backend.
pub(crate) enum NoBackend {
    /// There is no such thing.
    Unknown(String),
    /// Terraform has it, and this program does not yet.
    NotYet(String),
}

/// The backend of a name.
pub(crate) fn find(name: &str) -> Result<&'static dyn Backend, NoBackend> {
    match name {
        "local" => Ok(&local::Local),
        _ if NAMES.contains(&name) => Err(NoBackend::NotYet(format!(
            "States of the backend \"{name}\" cannot be read yet. There is only \"local\", which reads a state file on \
             this machine."
        ))),
        _ => {
            let suggestion = wardian_diagnostic::closest(name, NAMES);
            let suggestion = suggestion.map(|near| format!(" Did you mean \"{near}\"?")).unwrap_or_default();
            Err(NoBackend::Unknown(format!("There is no backend \"{name}\".{suggestion}")))
        }
    }
}

/// What a backend is given: arguments that are set, of its types.
#[derive(Debug)]
pub(crate) struct Arguments(BTreeMap<Str, Value>);

impl Arguments {
    /// Takes them from a configuration: an object, a map or null, wholly known.
    ///
    /// # Errors
    /// What is wrong with it, in words that end a sentence.
    pub(crate) fn of(config: &Value, backend: &dyn Backend) -> Result<Self, String> {
        let known = backend.arguments();
        let given = match config.view() {
            View::Null => return Ok(Self(BTreeMap::new())),
            View::Object(given) | View::Map(given) => given,
            _ => return Err(format!("an object is needed, not a {}", config.ty().friendly_name())),
        };
        let mut arguments = BTreeMap::new();
        for (name, value) in given {
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

    /// A text, where it is set.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
}
