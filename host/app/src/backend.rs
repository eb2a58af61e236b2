//! The `local` backend, which stores states in files. No other backend is supported.
//!
//! The arguments of a `backend` block take effect when `init` records them. If the block changes
//! later, commands fail, since they would otherwise search for the state in the wrong place. The
//! arguments are recorded in the same file as in Terraform.

mod record;

use std::path::{Path, PathBuf};
use std::time::Duration;

use wardian_config::{Backend, Configuration, Module};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Attribute, EmptyScope};
use wardian_value::{Type, convert};

use crate::compatibility::DEFAULT_WORKSPACE;
use crate::error::AppError;
pub(crate) use record::Record;

const FILE_NAME: &str = "terraform.tfstate";
const WORKSPACE_DIRECTORY: &str = "terraform.tfstate.d";

/// The name of the only supported backend.
pub(crate) const LOCAL: &str = "local";

/// The block type of a `cloud` block.
const CLOUD: &str = "cloud";

/// Terraform's other backends.
const TERRAFORM_BACKENDS: [&str; 12] =
    ["azurerm", "consul", "cos", "gcs", "http", "inmem", "kubernetes", "oci", "oss", "pg", "remote", "s3"];

/// The arguments of the `local` backend, as written by the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalBackend {
    path: Option<String>,
    workspace_dir: Option<String>,
}

/// The options with which `init` configures the backend and migrates its states.
#[derive(Clone, Debug)]
pub struct BackendOptions {
    /// Arguments in addition to the block's arguments: each is `NAME=VALUE`, or a file of such lines.
    pub config: Vec<String>,
    /// Whether to leave the states in the old backend.
    pub reconfigure: bool,
    /// Whether to copy the states to the new backend if the backend has changed.
    pub migrate_state: bool,
    /// Whether to copy the states without asking.
    pub force_copy: bool,
    /// Whether to ask the user.
    pub input: bool,
    /// Whether states are locked while they are copied.
    pub lock: bool,
    /// The maximum time to wait for a lock that another process holds.
    pub lock_timeout: Duration,
}

impl LocalBackend {
    /// Returns the state file of a workspace. Only the default workspace uses the argument `path`.
    pub fn state_path(&self, workspace: &str) -> PathBuf {
        if workspace == DEFAULT_WORKSPACE {
            return PathBuf::from(self.path.as_deref().unwrap_or(FILE_NAME));
        }
        self.workspace_directory().join(workspace).join(FILE_NAME)
    }

    /// Returns the directory with the states of the other workspaces.
    pub fn workspace_directory(&self) -> PathBuf {
        PathBuf::from(self.workspace_dir.as_deref().unwrap_or(WORKSPACE_DIRECTORY))
    }

    /// Reads the arguments of a `backend` block.
    pub(crate) fn from_block(block: &Backend) -> Result<Self, AppError> {
        refuse_others(block)?;
        let mut backend = Self::default();
        let mut problems = Diagnostics::new();
        for attribute in &block.body.attributes {
            problems.collect(backend.set(attribute));
        }
        for inner in &block.body.blocks {
            let detail = format!("The backend \"local\" does not support blocks of type \"{}\".", inner.kind);
            problems.push(Diagnostic::error("Unsupported block type", detail).at(inner.header_span.clone()));
        }
        Ok(problems.in_block("terraform").into_result(backend)?)
    }

    /// Sets one argument of a `backend` block or a file.
    pub(crate) fn set(&mut self, attribute: &Attribute) -> Result<(), Diagnostics> {
        let place = self.argument(&attribute.name).map_err(|detail| {
            Diagnostic::error("Unsupported argument", detail).at(attribute.name_span.clone())
        })?;
        let span = attribute.expression.span();
        let value = attribute.expression.evaluate(&EmptyScope)?;
        let value = convert::convert(&value, &Type::String).map_err(|error| {
            let detail = format!("The argument \"{}\" must be a string: {error}.", attribute.name);
            Diagnostic::error("Incorrect attribute value type", detail).at(span.clone())
        })?;
        let text = value.as_str().map(ToOwned::to_owned);
        if text.as_deref() == Some("") {
            return Err(Diagnostic::error(empty_summary(&attribute.name), EMPTY).at(span.clone()).into());
        }
        *place = text;
        Ok(())
    }

    /// Returns the field for an argument, or an error if the argument does not exist.
    pub(crate) fn argument(&mut self, name: &str) -> Result<&mut Option<String>, String> {
        match name {
            "path" => Ok(&mut self.path),
            "workspace_dir" => Ok(&mut self.workspace_dir),
            _ => {
                let meant = wardian_diagnostic::did_you_mean(name, ["path", "workspace_dir"]);
                Err(format!("The backend \"local\" has no argument \"{name}\".{meant}"))
            }
        }
    }
}

pub(crate) const EMPTY: &str = "The value must not be empty. Omit the argument to use the default.";

pub(crate) fn empty_summary(argument: &str) -> &'static str {
    if argument == "path" {
        "Invalid local state file path"
    } else {
        "Invalid local workspace directory path"
    }
}

/// Returns the `backend` or `cloud` block of a root module, if there is one.
pub(crate) fn configured_block(root: &Module) -> Option<&Backend> {
    root.backend.as_ref().or(root.cloud.as_ref())
}

fn refuse_others(block: &Backend) -> Result<(), AppError> {
    if block.type_name.as_str() == LOCAL {
        return Ok(());
    }
    let name = block.type_name.as_str();
    let error = if name == CLOUD {
        Diagnostic::error(
            "HCP Terraform not available yet",
            "States and runs in HCP Terraform are not supported yet. To try this configuration with a state \
             in this directory, remove the cloud block in a copy of it.",
        )
    } else if TERRAFORM_BACKENDS.contains(&name) {
        Diagnostic::error(
            "Backend not available yet",
            format!(
                "The backend \"{name}\" is not supported yet; only \"local\" is. To try this configuration \
                 with a state in this directory, override the backend: write `terraform {{ backend \
                 \"local\" {{}} }}` to a file backend_override.tf that is not committed, and run `init \
                 -reconfigure`. The new state is empty; a copy of the existing one, which `terraform state \
                 pull` prints, can be stored with `state push`."
            ),
        )
    } else {
        let meant = wardian_diagnostic::did_you_mean(name, TERRAFORM_BACKENDS.into_iter().chain([LOCAL]));
        Diagnostic::error("Unsupported backend type", format!("There is no backend type \"{name}\".{meant}"))
    };
    Err(error.at(block.type_span.clone()).in_block("terraform").into())
}

/// Returns the backend that commands use.
///
/// # Errors
/// Returns an error if the configuration differs from the record of `init`.
pub fn in_effect(
    data_directory: &Path,
    configuration: Option<&Configuration>,
) -> Result<LocalBackend, AppError> {
    let block = configuration.and_then(|configuration| configured_block(&configuration.root().module));
    if let Some(block) = block {
        refuse_others(block)?;
    }
    let recorded = Record::read(data_directory)?;
    let (block, recorded) = match (block, recorded) {
        (None, None) => return Ok(LocalBackend::default()),
        (None, Some(recorded)) => {
            return Err(not_initialized(&format!(
                "`wardian init` was run with the backend \"{}\", which the configuration no longer has.",
                recorded.type_name
            )));
        }
        (Some(_), None) => {
            return Err(not_initialized(
                "The configuration has a backend \"local\" for which `wardian init` has not been run yet.",
            ));
        }
        (Some(block), Some(recorded)) => (block, recorded),
    };
    let wanted = LocalBackend::from_block(block)?;
    match recorded.same_as(&wanted) {
        Some(backend) => Ok(backend),
        None if recorded.type_name == LOCAL => Err(not_initialized(
            "The arguments of the backend \"local\" have changed since `wardian init` was run.",
        )),
        None => Err(not_initialized(&format!(
            "`wardian init` was run with the backend \"{}\", but the configuration now has \"local\".",
            recorded.type_name
        ))),
    }
}

/// Returns the backend recorded by `init`, even if the configuration has changed since then.
pub fn recorded(data_directory: &Path) -> Result<LocalBackend, AppError> {
    Ok(Record::read(data_directory)?.map(|recorded| recorded.config).unwrap_or_default())
}

/// Returns the backend that a saved plan uses. The plan's directory does not have to be initialized.
pub fn for_plan(data_directory: &Path, configuration: &Configuration) -> Result<LocalBackend, AppError> {
    let Some(block) = configured_block(&configuration.root().module) else {
        return Ok(LocalBackend::default());
    };
    let wanted = LocalBackend::from_block(block)?;
    let recorded = Record::read(data_directory)?;
    Ok(recorded.and_then(|recorded| recorded.same_as(&wanted)).unwrap_or(wanted))
}

fn not_initialized(reason: &str) -> AppError {
    AppError::new(
        "Backend initialization required, please run \"wardian init\"",
        format!(
            "{reason} The state would be read from a different location than before, so nothing was changed. \
             `wardian init -migrate-state` copies the state to the new location; `wardian init \
             -reconfigure` leaves it where it is."
        ),
    )
}
