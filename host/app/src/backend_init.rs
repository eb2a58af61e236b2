//! Initializes the backend for `wardian init`.

use wardian_backend::DEFAULT_WORKSPACE;
use wardian_config::Module;
use wardian_diagnostic::Diagnostic;
use wardian_engine::StopSignal;

use crate::backend::{
    BackendOptions, ConfiguredBackend, Record, configured_block, decode, is_restricted, kind_of, with_options,
};
use crate::context::AppContext;
use crate::error::AppError;
use crate::frontend::AppEvent;
use crate::state_migration;
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
    let recorded = Record::read(&context.data_directory())?;
    let Some(block) = configured_block(root) else {
        if !options.config.is_empty() {
            let detail = "-backend-config sets arguments of a backend block, but the configuration has no \
                          backend block.";
            context.frontend.warn(&Diagnostic::warning("Missing backend configuration", detail).into());
        }
        let here = ConfiguredBackend::local();
        if let Some(recorded) = recorded {
            change_backend(context, &recorded, &here, options, stop).await?;
            Record::write(&context.data_directory(), None)?;
            context.frontend.report(AppEvent::BackendUnset);
        }
        return Ok(here);
    };
    let kind = kind_of(block)?;
    let own = decode(block, kind)?;
    let config = with_options(context, kind, &own, &options.config)?;
    let same = recorded.as_ref().and_then(|recorded| recorded.same_as(kind, &own));
    let same = same.filter(|same| !options.reconfigure && (options.config.is_empty() || *same == config));
    // The arguments that -backend-config has set before are still in effect.
    let is_same = same.is_some();
    let wanted = ConfiguredBackend::new(context, kind, same.unwrap_or(config), Some(block))?;
    // If the configuration is not trusted, no state is copied.
    if is_same || is_restricted(context, kind) {
        if !is_restricted(context, kind) {
            select_workspace(context, &wanted).await?;
        }
        return Ok(wanted);
    }
    match &recorded {
        Some(recorded) => change_backend(context, recorded, &wanted, options, stop).await?,
        None => {
            state_migration::migrate(context, &ConfiguredBackend::local(), &wanted, options, stop).await?;
        }
    }
    Record::write(&context.data_directory(), Some((kind, wanted.config(), &own)))?;
    select_workspace(context, &wanted).await?;
    context.frontend.report(AppEvent::BackendConfigured { type_name: kind.name() });
    Ok(wanted)
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
    recorded: &Record,
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
    let Ok(kind) = wardian_backend::find(&recorded.type_name) else {
        return Err(AppError::new(
            "Backend not available yet",
            format!(
                "The states are in a \"{}\" backend, from which they cannot be copied yet. Fetch each with \
                 `terraform state pull`, run `wardian init -reconfigure`, and store it with `wardian \
                 state push`.",
                recorded.type_name
            ),
        ));
    };
    let old = if is_restricted(context, kind) {
        // The record is part of the untrusted configuration, and states are not copied into its directory.
        ConfiguredBackend::withheld(context, kind, recorded.config(kind), "no state is copied from it")
    } else {
        ConfiguredBackend::new(context, kind, recorded.config(kind), None)?
    };
    state_migration::migrate(context, &old, wanted, options, stop).await
}
