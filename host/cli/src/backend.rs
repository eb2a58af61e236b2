//! Where states are kept: the `local` backend, the only one so far.
//!
//! What a `backend` block says counts from the `init` on that records it: a block
//! that was changed since is refused, since the state would be looked for in a place
//! where it is not. The record is the file that Terraform keeps.

mod initialise;
mod migration;
mod record;

use std::path::PathBuf;

use wardian_config::{Backend, Configuration};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Attribute, EmptyScope};
use wardian_value::{Type, convert};

use crate::compatibility::DEFAULT_WORKSPACE;
use crate::failure::{Failure, Outcome};
use crate::session::Session;
pub(crate) use initialise::initialise;
use record::Record;

const FILE_NAME: &str = "terraform.tfstate";
const WORKSPACE_DIRECTORY: &str = "terraform.tfstate.d";

/// The name of the backend that there is.
const LOCAL: &str = "local";

/// The arguments of the `local` backend, as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalBackend {
    path: Option<String>,
    workspace_dir: Option<String>,
}

impl LocalBackend {
    /// Where the state of a workspace is: `path` is about the default one only.
    pub(crate) fn state_path(&self, workspace: &str) -> PathBuf {
        if workspace == DEFAULT_WORKSPACE {
            return PathBuf::from(self.path.as_deref().unwrap_or(FILE_NAME));
        }
        self.workspace_directory().join(workspace).join(FILE_NAME)
    }

    /// Where the states of the other workspaces are.
    pub(crate) fn workspace_directory(&self) -> PathBuf {
        PathBuf::from(self.workspace_dir.as_deref().unwrap_or(WORKSPACE_DIRECTORY))
    }

    /// What a block says.
    fn of_block(block: &Backend) -> Outcome<Self> {
        refuse_others(block)?;
        let mut backend = Self::default();
        let mut problems = Diagnostics::new();
        for attribute in &block.body.attributes {
            problems.collect(backend.set(attribute));
        }
        for inner in &block.body.blocks {
            let detail = format!("The backend \"local\" takes no blocks of type \"{}\".", inner.kind);
            problems.push(Diagnostic::error("Unsupported block type", detail).at(inner.header_span.clone()));
        }
        Ok(problems.in_block("terraform").into_result(backend)?)
    }

    /// Takes one argument, from a block or a file.
    fn set(&mut self, attribute: &Attribute) -> Result<(), Diagnostics> {
        let place = self.argument(&attribute.name).map_err(|detail| {
            Diagnostic::error("Unsupported argument", detail).at(attribute.name_span.clone())
        })?;
        let span = attribute.expression.span();
        let value = attribute.expression.evaluate(&EmptyScope)?;
        let value = convert::convert(&value, &Type::String).map_err(|error| {
            let detail = format!("The argument \"{}\" must be a text: {error}.", attribute.name);
            Diagnostic::error("Incorrect attribute value type", detail).at(span.clone())
        })?;
        let text = value.as_str().map(ToOwned::to_owned);
        if text.as_deref() == Some("") {
            return Err(Diagnostic::error(empty_summary(&attribute.name), EMPTY).at(span.clone()).into());
        }
        *place = text;
        Ok(())
    }

    /// The place of an argument, or why there is none.
    fn argument(&mut self, name: &str) -> Result<&mut Option<String>, String> {
        match name {
            "path" => Ok(&mut self.path),
            "workspace_dir" => Ok(&mut self.workspace_dir),
            _ => {
                let meant = wardian_diagnostic::closest(name, ["path", "workspace_dir"])
                    .map_or(String::new(), |near| format!(" Did you mean \"{near}\"?"));
                Err(format!("The backend \"local\" has no argument \"{name}\".{meant}"))
            }
        }
    }
}

const EMPTY: &str = "It must not be empty. Leave the argument out for the default.";

fn empty_summary(argument: &str) -> &'static str {
    if argument == "path" {
        "Invalid local state file path"
    } else {
        "Invalid local workspace directory path"
    }
}

/// The block that says where the states of a configuration are.
fn block_of(configuration: Option<&Configuration>) -> Option<&Backend> {
    let module = &configuration?.root().module;
    module.backend.as_ref().or(module.cloud.as_ref())
}

fn refuse_others(block: &Backend) -> Outcome<()> {
    if block.type_name.as_str() == LOCAL {
        return Ok(());
    }
    let error = Diagnostic::error(
        "Backend not available yet",
        format!(
            "Keeping the state in a \"{}\" backend is not available yet: only \"local\" is.",
            block.type_name
        ),
    );
    Err(error.at(block.span.clone()).in_block("terraform").into())
}

/// The backend that commands work with.
///
/// # Errors
/// Where the configuration says other than what `init` has recorded.
pub(crate) fn in_effect(session: &Session, configuration: Option<&Configuration>) -> Outcome<LocalBackend> {
    let block = block_of(configuration);
    if let Some(block) = block {
        refuse_others(block)?;
    }
    let recorded = Record::read(session)?;
    let (block, recorded) = match (block, recorded) {
        (None, None) => return Ok(LocalBackend::default()),
        (None, Some(recorded)) => {
            return Err(not_initialised(&format!(
                "`wardian init` was run with the backend \"{}\", which the configuration no longer has.",
                recorded.type_name
            )));
        }
        (Some(_), None) => {
            return Err(not_initialised(
                "The configuration has a backend \"local\" that `wardian init` has not seen yet.",
            ));
        }
        (Some(block), Some(recorded)) => (block, recorded),
    };
    let wanted = LocalBackend::of_block(block)?;
    match recorded.same_as(&wanted) {
        Some(backend) => Ok(backend),
        None if recorded.type_name == LOCAL => Err(not_initialised(
            "The arguments of the backend \"local\" are others than when `wardian init` was run.",
        )),
        None => Err(not_initialised(&format!(
            "`wardian init` was run with the backend \"{}\", and the configuration has \"local\" now.",
            recorded.type_name
        ))),
    }
}

/// Where `init` has recorded that states are, whatever the configuration says.
///
/// # Errors
/// Where what it recorded cannot be read.
pub(crate) fn as_recorded(session: &Session) -> Outcome<LocalBackend> {
    Ok(Record::read(session)?.map(|recorded| recorded.config).unwrap_or_default())
}

/// The backend of a saved plan, whose directory nobody needs to have initialised.
///
/// # Errors
/// Where it is not `local`.
pub(crate) fn of_plan(session: &Session, configuration: &Configuration) -> Outcome<LocalBackend> {
    let Some(block) = block_of(Some(configuration)) else { return Ok(LocalBackend::default()) };
    let wanted = LocalBackend::of_block(block)?;
    let recorded = Record::read(session)?;
    Ok(recorded.and_then(|recorded| recorded.same_as(&wanted)).unwrap_or(wanted))
}

fn not_initialised(reason: &str) -> Failure {
    Failure::error(
        "Backend initialization required, please run \"wardian init\"",
        format!(
            "{reason} The state would be looked for in another place than before, so nothing was done. `wardian init \
             -migrate-state` brings the state along; `wardian init -reconfigure` leaves it where it is."
        ),
    )
}
