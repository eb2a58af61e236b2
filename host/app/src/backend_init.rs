//! Initializes the backend for `wardian init`.

use wardian_backend::{BackendType, DEFAULT_WORKSPACE};
use wardian_config::{Backend as BackendBlock, Module, StateStoreBlock};
use wardian_diagnostic::Diagnostic;
use wardian_engine::StopSignal;

use crate::backend::{
    ArgumentSchema, BackendOptions, ConfiguredBackend, Record, Recorded, StateBlock, configured_block,
    decode, is_restricted, kind_of, with_options,
};
use crate::context::AppContext;
use crate::error::AppError;
use crate::frontend::AppEvent;
use crate::state_migration;
use crate::state_store::{self, StoreRecord};
use crate::workspaces::{self, SelectedBy};

/// Configures the backend as specified in the root module, copies the states whose location has
/// changed, and records the result. Returns the backend in effect.
///
/// # Errors
/// Returns an error if the backend cannot be used, or if it has changed and the options do not
/// specify what to do with the states.
pub async fn initialize(
    context: &AppContext,
    root: &Module,
    options: &BackendOptions,
    stop: &StopSignal,
) -> Result<ConfiguredBackend, AppError> {
    context.set_encryption_root(root);
    let recorded = Recorded::read(&context.data_directory())?;
    let Some(block) = configured_block(root) else {
        if !options.config.is_empty() {
            let detail = "-backend-config sets arguments of a backend block, but the configuration has no \
                          backend block.";
            context.frontend.warn(&Diagnostic::warning("Missing backend configuration", detail).into());
        }
        let here = ConfiguredBackend::local();
        if let Some(recorded) = recorded {
            change_backend(context, &recorded, &here, options, stop).await?;
            Recorded::write(&context.data_directory(), None)?;
            context.frontend.report(AppEvent::BackendUnset);
        }
        return Ok(here);
    };
    let change = match block {
        StateBlock::StateStore(block) if context.confinement.is_some() => {
            return Ok(ConfiguredBackend::withheld_store(context, &block.type_name));
        }
        StateBlock::StateStore(block) => {
            store_change(context, root, block, recorded.as_ref(), options).await?
        }
        StateBlock::Backend(block) => {
            let kind = kind_of(block)?;
            let change = backend_change(context, block, kind, recorded.as_ref(), options)?;
            // If the configuration is not trusted, no state is copied.
            if is_restricted(context, kind) {
                return Ok(change.wanted);
            }
            change
        }
    };
    let BackendChange { wanted, record } = change;
    if let Some(record) = record {
        match &recorded {
            Some(recorded) => change_backend(context, recorded, &wanted, options, stop).await?,
            None => {
                state_migration::migrate(context, &ConfiguredBackend::local(), &wanted, options, stop)
                    .await?;
            }
        }
        Recorded::write(&context.data_directory(), Some(record))?;
        select_workspace(context, &wanted).await?;
        context
            .frontend
            .report(AppEvent::BackendConfigured { kind: wanted.kind(), type_name: wanted.type_name() });
    } else {
        select_workspace(context, &wanted).await?;
    }
    Ok(wanted)
}

/// The backend that a block configures.
struct BackendChange {
    wanted: ConfiguredBackend,
    /// The record of the new configuration; [`None`] if it is the recorded one.
    record: Option<Recorded>,
}

fn backend_change(
    context: &AppContext,
    block: &BackendBlock,
    kind: &'static dyn BackendType,
    recorded: Option<&Recorded>,
    options: &BackendOptions,
) -> Result<BackendChange, AppError> {
    let own = decode(block, kind)?;
    let config = with_options(context, ArgumentSchema::for_backend(kind), &own, &options.config)?;
    let same = match recorded {
        Some(Recorded::Backend(recorded)) => recorded.same_as(kind, &own),
        Some(Recorded::StateStore(_)) | None => None,
    };
    let same = same.filter(|same| !options.reconfigure && (options.config.is_empty() || *same == config));
    // The arguments that -backend-config has set before are still in effect.
    let is_same = same.is_some();
    let wanted = ConfiguredBackend::new(context, kind, same.unwrap_or(config), Some(block))?;
    let config = wanted.config().filter(|_| !is_same);
    let record = config.map(|config| Recorded::Backend(Record::new(kind, config, &own)));
    Ok(BackendChange { wanted, record })
}

async fn store_change(
    context: &AppContext,
    root: &Module,
    block: &StateStoreBlock,
    recorded: Option<&Recorded>,
    options: &BackendOptions,
) -> Result<BackendChange, AppError> {
    let (plugin, own) = state_store::decode(context, root, block).await?;
    let config = own.with_options(context, &plugin, &options.config)?;
    let same = match recorded {
        Some(Recorded::StateStore(recorded)) => recorded.same_as(&plugin, &own),
        Some(Recorded::Backend(_)) | None => None,
    };
    let same = same.filter(|same| !options.reconfigure && (options.config.is_empty() || *same == config));
    let is_same = same.is_some();
    let selection = same.unwrap_or(config);
    let record = StoreRecord::new(context, &plugin, &selection, &own);
    let wanted = ConfiguredBackend::open_store(context, &plugin, selection, Some(block)).await?;
    if is_same {
        // The provider may have been upgraded.
        let is_recorded = matches!(recorded, Some(Recorded::StateStore(old)) if *old == record);
        if !is_recorded {
            Recorded::write(&context.data_directory(), Some(Recorded::StateStore(record)))?;
        }
        return Ok(BackendChange { wanted, record: None });
    }
    Ok(BackendChange { wanted, record: Some(Recorded::StateStore(record)) })
}

/// Selects the workspace of a backend that has only one, or that has no default workspace and only
/// one other.
async fn select_workspace(context: &AppContext, backend: &ConfiguredBackend) -> Result<(), AppError> {
    let selection = &context.workspace;
    if selection.selected_by != SelectedBy::Directory {
        return Ok(());
    }
    let only = match backend.default_workspace() {
        Some(name) if !backend.has_workspaces() => Some(name.to_owned()),
        Some(_) => None,
        None if selection.name == DEFAULT_WORKSPACE => {
            let mut names = backend.workspaces().await?.into_iter();
            names.next().filter(|_| names.next().is_none())
        }
        None => None,
    };
    match only {
        Some(name) if name != selection.name => workspaces::select(&context.environment, &name),
        _ => Ok(()),
    }
}

/// Changes from the recorded backend to a different backend.
async fn change_backend(
    context: &AppContext,
    recorded: &Recorded,
    wanted: &ConfiguredBackend,
    options: &BackendOptions,
    stop: &StopSignal,
) -> Result<(), AppError> {
    if options.reconfigure {
        return state_migration::migrate(context, &ConfiguredBackend::local(), wanted, options, stop).await;
    }
    if !options.migrate_state && !options.force_copy {
        return Err(AppError::new(
            "Backend configuration changed",
            "The backend has changed since this directory was initialized. Choose how to handle the states: \
             `wardian init -migrate-state` copies them to the new backend, `wardian init -reconfigure` \
             leaves them where they are.",
        ));
    }
    let old = ConfiguredBackend::open_recorded(context, recorded).await?;
    state_migration::migrate(context, &old, wanted, options, stop).await
}
