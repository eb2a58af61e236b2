//! The backend of a configuration.
//!
//! The arguments of a `backend` block take effect when `init` records them. If the block changes
//! later, commands fail, since they would otherwise search for the state in the wrong place. The
//! arguments are recorded in the same file as in Terraform.
//!
//! A backend of an untrusted configuration is opened only if it stores states in local files, or if the
//! organisation's policy names it: its arguments determine the server to which the user's credentials
//! would be sent. A named backend is read, and neither locked nor changed. With another backend,
//! commands work without a state.

mod arguments;
mod record;
mod withheld;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wardian_backend::{
    Backend, BackendConfig, BackendError, BackendType, DEFAULT_WORKSPACE, LOCAL, LocalBackend,
    ReadOnlyBackend, UnavailableBackend,
};
use wardian_config::{Backend as BackendBlock, Configuration, Module};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_policy::ServiceRule;
use wardian_state::StateStorage;

use crate::context::AppContext;
use crate::error::AppError;
pub(crate) use arguments::{decode, with_options};
pub(crate) use record::Record;

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

/// A backend with its arguments.
#[derive(Clone, Debug)]
pub struct ConfiguredBackend {
    kind: &'static dyn BackendType,
    config: BackendConfig,
    backend: Arc<dyn Backend>,
    /// The rule that permits an untrusted configuration to read the states.
    rule: Option<ServiceRule>,
}

impl PartialEq for ConfiguredBackend {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name() == other.kind.name() && self.config == other.config
    }
}

impl ConfiguredBackend {
    /// Returns the backend that is used if no backend is configured.
    pub(crate) fn local() -> Self {
        let kind = wardian_backend::local_type();
        let config = BackendConfig::empty(kind.schema());
        Self { kind, config, backend: Arc::new(LocalBackend::default()), rule: None }
    }

    /// Configures a backend. Problems refer to the block that contains its arguments, if there is one.
    ///
    /// # Errors
    /// Returns an error if an argument is missing or has an invalid value.
    pub(crate) fn new(
        context: &AppContext,
        kind: &'static dyn BackendType,
        config: BackendConfig,
        block: Option<&BackendBlock>,
    ) -> Result<Self, AppError> {
        if !is_restricted(context, kind) {
            let configured = kind.configure(&config, &context.backend_host(kind.needs_service_hosts()));
            let backend = configured.map_err(|error| invalid(error, block))?;
            return Ok(Self { kind, config, backend, rule: None });
        }
        let rule = match context.untrusted_backend(kind.name(), config.value())? {
            Ok(rule) => rule,
            Err(reason) => return Ok(Self::withheld(context, kind, config, &reason)),
        };
        let host = context.untrusted_backend_host(&rule, kind.needs_service_hosts());
        let backend = kind.configure(&config, &host).map_err(|error| invalid(error, block))?;
        let backend = Arc::new(ReadOnlyBackend::new(backend, "the configuration is not trusted"));
        Ok(Self { kind, config, backend, rule: Some(rule) })
    }

    /// Returns a backend that is not opened, because the configuration is not trusted. `reason` is the
    /// end of a sentence.
    pub(crate) fn withheld(
        context: &AppContext,
        kind: &'static dyn BackendType,
        config: BackendConfig,
        reason: &str,
    ) -> Self {
        let backend = withheld::backend(context, kind.name(), reason);
        Self { kind, config, backend, rule: None }
    }

    /// Returns the storage of a workspace's state for an untrusted configuration, and whether it contains
    /// the state.
    ///
    /// # Errors
    /// Returns an error if the backend does not support the workspace.
    pub(crate) fn untrusted_state(
        &self,
        context: &AppContext,
        workspace: &str,
    ) -> Result<(Arc<dyn StateStorage>, bool), BackendError> {
        let Some(rule) = &self.rule else { return Ok((self.backend.state(workspace)?, false)) };
        // The arguments of a backend without workspaces determine its state.
        if !self.backend.has_workspaces() {
            let only = self.backend.default_workspace().unwrap_or(DEFAULT_WORKSPACE);
            return Ok((self.backend.state(only)?, true));
        }
        if rule.permits_workspace(workspace) {
            return Ok((self.backend.state(workspace)?, true));
        }
        let reason = format!(
            "the organisation's policy does not include the workspace \"{workspace}\" ({})",
            rule.location()
        );
        Ok((withheld::backend(context, self.kind.name(), &reason).state(workspace)?, false))
    }

    pub fn type_name(&self) -> &'static str {
        self.kind.name()
    }

    pub(crate) fn config(&self) -> &BackendConfig {
        &self.config
    }

    /// Returns the backend that stores states in local files.
    pub fn as_local(&self) -> Option<&LocalBackend> {
        self.backend.as_local()
    }
}

/// Whether the organisation's policy determines whether a backend is opened, because the configuration is
/// not trusted.
pub(crate) fn is_restricted(context: &AppContext, kind: &dyn BackendType) -> bool {
    context.confinement.is_some() && kind.name() != LOCAL
}

impl std::ops::Deref for ConfiguredBackend {
    type Target = dyn Backend;

    fn deref(&self) -> &Self::Target {
        &*self.backend
    }
}

fn invalid(error: BackendError, block: Option<&BackendBlock>) -> AppError {
    let BackendError { summary, detail, argument } = error;
    let diagnostic = Diagnostic::error(summary, detail);
    let Some(block) = block else { return diagnostic.into() };
    let attribute = argument.and_then(|name| block.body.attribute(name));
    let span = attribute.map_or(&block.type_span, |attribute| attribute.expression.span());
    diagnostic.at(span.clone()).in_block("terraform").into()
}

impl From<BackendError> for AppError {
    fn from(error: BackendError) -> Self {
        invalid(error, None)
    }
}

/// Returns the `backend` or `cloud` block of a root module, if there is one.
pub(crate) fn configured_block(root: &Module) -> Option<&BackendBlock> {
    root.backend.as_ref().or(root.cloud.as_ref())
}

/// Returns the type of a block's backend.
///
/// # Errors
/// Returns an error if the backend does not exist or is not supported.
pub(crate) fn kind_of(block: &BackendBlock) -> Result<&'static dyn BackendType, AppError> {
    let name = block.type_name.as_str();
    let unavailable = match wardian_backend::find(name) {
        Ok(kind) => return Ok(kind),
        Err(unavailable) => unavailable,
    };
    let error = match unavailable {
        UnavailableBackend::Refused(reason) => {
            Diagnostic::error("Backend not supported", format!("{reason} {LOCAL_INSTEAD}"))
        }
        UnavailableBackend::Unknown(reason) => Diagnostic::error("Unsupported backend type", reason),
    };
    Err(error.at(block.type_span.clone()).in_block("terraform").into())
}

const LOCAL_INSTEAD: &str = "To try this configuration with a state in this directory, override the backend: write `terraform \
     { backend \"local\" {} }` to a file backend_override.tf that is not committed, and run `init -reconfigure`. \
     The new state is empty; a copy of the existing one, which `terraform state pull` prints, can be stored with \
     `state push`.";

/// Returns the backend that commands use.
///
/// # Errors
/// Returns an error if the configuration differs from the record of `init`, or the recorded arguments
/// are not valid.
pub fn in_effect(
    context: &AppContext,
    configuration: Option<&Configuration>,
) -> Result<ConfiguredBackend, AppError> {
    let block = configuration.and_then(|configuration| configured_block(&configuration.root().module));
    let kind = block.map(kind_of).transpose()?;
    if let (Some(block), Some(kind)) = (block, kind)
        && is_restricted(context, kind)
    {
        return ConfiguredBackend::new(context, kind, decode(block, kind)?, Some(block));
    }
    let recorded = Record::read(&context.data_directory())?;
    let (block, kind, recorded) = match (block, kind, recorded) {
        (Some(block), Some(kind), Some(recorded)) => (block, kind, recorded),
        (_, _, None) if block.is_none() => return Ok(ConfiguredBackend::local()),
        (_, _, Some(recorded)) => {
            return Err(not_initialized(&format!(
                "`wardian init` was run with the backend \"{}\", which the configuration no longer has.",
                recorded.type_name
            )));
        }
        (_, kind, None) => {
            return Err(not_initialized(&format!(
                "The configuration has a backend \"{}\" for which `wardian init` has not been run yet.",
                kind.map_or(LOCAL, |kind| kind.name())
            )));
        }
    };
    let wanted = decode(block, kind)?;
    match recorded.same_as(kind, &wanted) {
        Some(config) => ConfiguredBackend::new(context, kind, config, Some(block)),
        None if recorded.type_name == kind.name() => Err(not_initialized(&format!(
            "The arguments of the backend \"{}\" have changed since `wardian init` was run.",
            kind.name()
        ))),
        None => Err(not_initialized(&format!(
            "`wardian init` was run with the backend \"{}\", but the configuration now has \"{}\".",
            recorded.type_name,
            kind.name()
        ))),
    }
}

/// Returns the backend that a saved plan uses. The plan's directory does not have to be initialized.
pub fn for_plan(context: &AppContext, configuration: &Configuration) -> Result<ConfiguredBackend, AppError> {
    let Some(block) = configured_block(&configuration.root().module) else {
        return Ok(ConfiguredBackend::local());
    };
    let kind = kind_of(block)?;
    let wanted = decode(block, kind)?;
    let recorded = Record::read(&context.data_directory())?;
    let config = recorded.and_then(|recorded| recorded.same_as(kind, &wanted)).unwrap_or(wanted);
    ConfiguredBackend::new(context, kind, config, Some(block))
}

/// Returns the paths of the states in the backend that `init` has recorded: the state of the default
/// workspace, and the directory of the other states. If the backend does not store states in local
/// files, these are the default paths.
pub(crate) fn recorded_state_paths(data_directory: &Path) -> Result<Vec<PathBuf>, AppError> {
    let recorded = Record::read(data_directory)?.filter(|recorded| recorded.type_name == LOCAL);
    let local = match recorded {
        Some(recorded) => {
            LocalBackend::from_config(&recorded.config(wardian_backend::local_type())).unwrap_or_default()
        }
        None => LocalBackend::default(),
    };
    Ok(vec![local.state_path(DEFAULT_WORKSPACE), local.workspace_directory()])
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

/// Adds the position of the block to diagnostics.
fn in_terraform_block(problems: Diagnostics) -> Diagnostics {
    problems.in_block("terraform")
}
