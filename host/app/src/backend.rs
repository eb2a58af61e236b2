//! The backend of a configuration.
//!
//! The states are in a backend that is built in, or in the state store of a plugin.
//!
//! The arguments of a `backend` or `state_store` block take effect when `init` records them. If the block changes
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
use wardian_config::{Backend as BackendBlock, Configuration, Module, StateStoreBlock};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_policy::ServiceRule;
use wardian_state::StateStorage;

use crate::context::AppContext;
use crate::error::AppError;
use crate::state_store::{self, StorePlugin, StoreSelection};
pub(crate) use arguments::{ArgumentSchema, decode, with_options};
pub(crate) use record::{Record, Recorded};

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
    source: BackendSource,
    backend: Arc<dyn Backend>,
    /// The rule that permits an untrusted configuration to read the states.
    rule: Option<ServiceRule>,
}

/// The kind of a backend, and its arguments.
#[derive(Clone, Debug)]
enum BackendSource {
    BuiltIn {
        kind: &'static dyn BackendType,
        config: BackendConfig,
    },
    StateStore(StoreSelection),
    /// The state store of an untrusted configuration, which is not opened.
    Withheld(String),
}

impl PartialEq for BackendSource {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BuiltIn { kind: one, config }, Self::BuiltIn { kind: other, config: others }) => {
                one.name() == other.name() && config == others
            }
            (Self::StateStore(one), Self::StateStore(other)) => one == other,
            (Self::Withheld(one), Self::Withheld(other)) => one == other,
            _ => false,
        }
    }
}

/// The block that determines the location of the states.
#[derive(Clone, Copy)]
pub(crate) enum StateBlock<'a> {
    /// A `backend` or `cloud` block.
    Backend(&'a BackendBlock),
    StateStore(&'a StateStoreBlock),
}

impl StateBlock<'_> {
    /// Describes the location for messages.
    fn description(self) -> String {
        match self {
            Self::Backend(block) => format!("a backend \"{}\"", block.type_name),
            Self::StateStore(block) => format!("a state store \"{}\"", block.type_name),
        }
    }
}

impl PartialEq for ConfiguredBackend {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl ConfiguredBackend {
    /// Returns the backend that is used if no backend is configured.
    pub(crate) fn local() -> Self {
        let kind = wardian_backend::local_type();
        let config = BackendConfig::empty(kind.schema());
        let source = BackendSource::BuiltIn { kind, config };
        Self { source, backend: Arc::new(LocalBackend::default()), rule: None }
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
            return Ok(Self { source: BackendSource::BuiltIn { kind, config }, backend, rule: None });
        }
        let rule = match context.untrusted_backend(kind.name(), config.value())? {
            Ok(rule) => rule,
            Err(reason) => return Ok(Self::withheld(context, kind, config, &reason)),
        };
        let host = context.untrusted_backend_host(&rule, kind.needs_service_hosts());
        let backend = kind.configure(&config, &host).map_err(|error| invalid(error, block))?;
        let backend = Arc::new(ReadOnlyBackend::new(backend, "the configuration is not trusted"));
        Ok(Self { source: BackendSource::BuiltIn { kind, config }, backend, rule: Some(rule) })
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
        Self { source: BackendSource::BuiltIn { kind, config }, backend, rule: None }
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
        Ok((withheld::backend(context, self.type_name(), &reason).state(workspace)?, false))
    }

    /// Opens a state store. Problems refer to the block that contains its arguments, if there is one.
    ///
    /// # Errors
    /// Returns an error if the plugin rejects the configuration.
    pub(crate) async fn open_store(
        context: &AppContext,
        plugin: &StorePlugin,
        selection: StoreSelection,
        block: Option<&StateStoreBlock>,
    ) -> Result<Self, AppError> {
        let backend = selection.open(context, plugin, block).await?;
        Ok(Self { source: BackendSource::StateStore(selection), backend, rule: None })
    }

    /// Returns the backend in place of the state store of an untrusted configuration.
    pub(crate) fn withheld_store(context: &AppContext, type_name: &str) -> Self {
        let backend = withheld::backend(context, type_name, "no state store is opened");
        Self { source: BackendSource::Withheld(type_name.to_owned()), backend, rule: None }
    }

    /// Opens the location that `init` has recorded.
    ///
    /// # Errors
    /// Returns an error if the backend does not exist, or the plugin cannot be used.
    pub(crate) async fn open_recorded(context: &AppContext, recorded: &Recorded) -> Result<Self, AppError> {
        match recorded {
            Recorded::StateStore(record) if context.confinement.is_some() => {
                Ok(Self::withheld_store(context, record.type_name()))
            }
            Recorded::StateStore(record) => {
                let (plugin, selection) = record.load(context).await?;
                Self::open_store(context, &plugin, selection, None).await
            }
            Recorded::Backend(record) => {
                let kind = wardian_backend::find(&record.type_name).map_err(|_| unavailable(record))?;
                if is_restricted(context, kind) {
                    // The record is part of the untrusted configuration, and states are not copied into
                    // its directory.
                    let reason = "no state is copied from it";
                    return Ok(Self::withheld(context, kind, record.config(kind), reason));
                }
                Self::new(context, kind, record.config(kind), None)
            }
        }
    }

    pub fn type_name(&self) -> &str {
        match &self.source {
            BackendSource::BuiltIn { kind, .. } => kind.name(),
            BackendSource::StateStore(selection) => &selection.type_name,
            BackendSource::Withheld(type_name) => type_name,
        }
    }

    /// Returns the kind of the location: `backend` or `state store`.
    pub fn kind(&self) -> &'static str {
        match &self.source {
            BackendSource::BuiltIn { .. } => "backend",
            BackendSource::StateStore(_) | BackendSource::Withheld(_) => "state store",
        }
    }

    /// Returns the arguments of a built-in backend.
    pub(crate) fn config(&self) -> Option<&BackendConfig> {
        match &self.source {
            BackendSource::BuiltIn { config, .. } => Some(config),
            BackendSource::StateStore(_) | BackendSource::Withheld(_) => None,
        }
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

fn unavailable(record: &Record) -> AppError {
    AppError::new(
        "Backend not available yet",
        format!(
            "The states are in a \"{}\" backend, from which they cannot be copied yet. Fetch each with \
             `terraform state pull`, run `wardian init -reconfigure`, and store it with `wardian \
             state push`.",
            record.type_name
        ),
    )
}

/// Returns the block of a root module that determines the location of the states, if there is one.
pub(crate) fn configured_block(root: &Module) -> Option<StateBlock<'_>> {
    let backend = root.backend.as_ref().or(root.cloud.as_ref()).map(StateBlock::Backend);
    backend.or_else(|| root.state_store.as_ref().map(StateBlock::StateStore))
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
pub async fn in_effect(
    context: &AppContext,
    configuration: Option<&Configuration>,
) -> Result<ConfiguredBackend, AppError> {
    let root = configuration.map(|configuration| &configuration.root().module);
    let block = root.and_then(|root| Some((root, configured_block(root)?)));
    match block {
        Some((_, StateBlock::StateStore(block))) if context.confinement.is_some() => {
            return Ok(ConfiguredBackend::withheld_store(context, &block.type_name));
        }
        Some((_, StateBlock::Backend(block))) => {
            let kind = kind_of(block)?;
            if is_restricted(context, kind) {
                return ConfiguredBackend::new(context, kind, decode(block, kind)?, Some(block));
            }
        }
        _ => {}
    }
    let recorded = Recorded::read(&context.data_directory())?;
    let (root, block, recorded) = match (block, recorded) {
        (Some((root, block)), Some(recorded)) => (root, block, recorded),
        (None, None) => return Ok(ConfiguredBackend::local()),
        (None, Some(recorded)) => {
            return Err(not_initialized(&format!(
                "`wardian init` was run with {}, which the configuration no longer has.",
                recorded.description()
            )));
        }
        (Some((_, block)), None) => {
            return Err(not_initialized(&format!(
                "The configuration has {} for which `wardian init` has not been run yet.",
                block.description()
            )));
        }
    };
    match (block, &recorded) {
        (StateBlock::Backend(block), Recorded::Backend(record)) => {
            let kind = kind_of(block)?;
            let wanted = decode(block, kind)?;
            if let Some(config) = record.same_as(kind, &wanted) {
                return ConfiguredBackend::new(context, kind, config, Some(block));
            }
            if record.type_name == kind.name() {
                return Err(changed(&recorded));
            }
        }
        (StateBlock::StateStore(block), Recorded::StateStore(record)) => {
            let (plugin, wanted) = state_store::decode(context, root, block).await?;
            if let Some(selection) = record.same_as(&plugin, &wanted) {
                return ConfiguredBackend::open_store(context, &plugin, selection, Some(block)).await;
            }
            if record.type_name() == wanted.type_name && *record.provider() == wanted.provider {
                return Err(changed(&recorded));
            }
        }
        _ => {}
    }
    Err(not_initialized(&format!(
        "`wardian init` was run with {}, but the configuration now has {}.",
        recorded.description(),
        block.description()
    )))
}

fn changed(recorded: &Recorded) -> AppError {
    not_initialized(&format!(
        "The arguments of {} have changed since `wardian init` was run.",
        recorded.description()
    ))
}

/// Returns the backend that a saved plan uses. The plan's directory does not have to be initialized.
pub async fn for_plan(
    context: &AppContext,
    configuration: &Configuration,
) -> Result<ConfiguredBackend, AppError> {
    let root = &configuration.root().module;
    let Some(block) = configured_block(root) else {
        return Ok(ConfiguredBackend::local());
    };
    let recorded = Recorded::read(&context.data_directory());
    match block {
        StateBlock::Backend(block) => {
            let kind = kind_of(block)?;
            let wanted = decode(block, kind)?;
            let config = match recorded? {
                Some(Recorded::Backend(record)) => record.same_as(kind, &wanted),
                Some(Recorded::StateStore(_)) | None => None,
            };
            ConfiguredBackend::new(context, kind, config.unwrap_or(wanted), Some(block))
        }
        StateBlock::StateStore(block) if context.confinement.is_some() => {
            Ok(ConfiguredBackend::withheld_store(context, &block.type_name))
        }
        StateBlock::StateStore(block) => {
            let (plugin, wanted) = state_store::decode(context, root, block).await?;
            let selection = match recorded? {
                Some(Recorded::StateStore(record)) => record.same_as(&plugin, &wanted),
                Some(Recorded::Backend(_)) | None => None,
            };
            ConfiguredBackend::open_store(context, &plugin, selection.unwrap_or(wanted), Some(block)).await
        }
    }
}

/// Returns the backend of a run in a test file, which `init` does not record.
///
/// # Errors
/// Returns an error if the backend does not exist or its arguments are not valid.
pub(crate) fn for_test(context: &AppContext, block: &BackendBlock) -> Result<ConfiguredBackend, AppError> {
    let kind = kind_of(block)?;
    ConfiguredBackend::new(context, kind, decode(block, kind)?, Some(block))
}

/// Returns the paths of the states in the backend that `init` has recorded: the state of the default
/// workspace, and the directory of the other states. If the backend does not store states in local
/// files, these are the default paths.
pub(crate) fn recorded_state_paths(data_directory: &Path) -> Result<Vec<PathBuf>, AppError> {
    let local = recorded_local_backend(data_directory)?.unwrap_or_default();
    Ok(vec![local.state_path(DEFAULT_WORKSPACE), local.workspace_directory()])
}

/// Returns the backend that `init` has recorded, or the default one, if it stores states in local files.
/// No file except the record is read.
///
/// # Errors
/// Returns an error if the record cannot be read.
pub fn recorded_local_backend(data_directory: &Path) -> Result<Option<LocalBackend>, AppError> {
    Ok(match Recorded::read(data_directory)? {
        Some(Recorded::Backend(recorded)) if recorded.type_name == LOCAL => {
            let config = recorded.config(wardian_backend::local_type());
            Some(LocalBackend::from_config(&config).unwrap_or_default())
        }
        Some(_) => None,
        None => Some(LocalBackend::default()),
    })
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
