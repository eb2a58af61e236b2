//! Initializes the backend for `wardian init`.

use std::fs;
use std::path::Path;

use wardian_config::Module;
use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_engine::StopSignal;
use wardian_lang::{SourceBytes, parse_body};

use crate::backend::{BackendOptions, EMPTY, LOCAL, LocalBackend, Record, configured_block, empty_summary};
use crate::context::AppContext;
use crate::error::AppError;
use crate::frontend::AppEvent;
use crate::state_migration;

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
) -> Result<LocalBackend, AppError> {
    let recorded = Record::read(&context.data_directory())?;
    let Some(block) = configured_block(root) else {
        if !options.config.is_empty() {
            let detail = "-backend-config sets arguments of a backend block, but the configuration has no \
                          backend block.";
            context.frontend.warn(&Diagnostic::warning("Missing backend configuration", detail).into());
        }
        let here = LocalBackend::default();
        if let Some(recorded) = recorded {
            change_backend(context, &recorded, &here, options, stop).await?;
            Record::write(&context.data_directory(), None)?;
            context.frontend.report(AppEvent::BackendUnset);
        }
        return Ok(here);
    };
    let block = LocalBackend::from_block(block)?;
    let mut wanted = block.clone();
    for given in &options.config {
        apply_argument(context, &mut wanted, given)?;
    }
    let same = recorded.as_ref().and_then(|recorded| recorded.same_as(&block));
    match same {
        Some(same) if !options.reconfigure && (options.config.is_empty() || same == wanted) => {
            return Ok(same);
        }
        _ => {}
    }
    match &recorded {
        Some(recorded) => change_backend(context, recorded, &wanted, options, stop).await?,
        None => state_migration::migrate(context, &LocalBackend::default(), &wanted, options, stop).await?,
    }
    Record::write(&context.data_directory(), Some((&wanted, &block)))?;
    context.frontend.report(AppEvent::BackendConfigured);
    Ok(wanted)
}

/// Changes from the recorded backend to a different backend.
async fn change_backend(
    context: &AppContext,
    recorded: &Record,
    wanted: &LocalBackend,
    options: &BackendOptions,
    stop: &StopSignal,
) -> Result<(), AppError> {
    if options.reconfigure {
        return state_migration::migrate(context, &LocalBackend::default(), wanted, options, stop).await;
    }
    if !options.migrate_state && !options.force_copy {
        return Err(AppError::new(
            "Backend configuration changed",
            "The backend has changed since this directory was initialized. Choose how to handle the states: \
             `wardian init -migrate-state` copies them to the new backend, `wardian init -reconfigure` \
             leaves them where they are.",
        ));
    }
    if recorded.type_name != LOCAL {
        return Err(AppError::new(
            "Backend not available yet",
            format!(
                "The states are in a \"{}\" backend, from which they cannot be copied yet. Fetch each with \
                 `terraform state pull`, run `wardian init -reconfigure`, and store it with `wardian \
                 state push`.",
                recorded.type_name
            ),
        ));
    }
    state_migration::migrate(context, &recorded.config, wanted, options, stop).await
}

/// Applies a value of `-backend-config`: `NAME=VALUE`, or a file of such lines.
fn apply_argument(context: &AppContext, backend: &mut LocalBackend, given: &str) -> Result<(), AppError> {
    let Some((name, value)) = given.split_once('=') else {
        return apply_file(context, backend, Path::new(given));
    };
    let (name, value) = (name.trim(), value.trim());
    let place = backend
        .argument(name)
        .map_err(|detail| AppError::new("Invalid backend configuration argument", detail))?;
    if value.is_empty() {
        return Err(AppError::new(empty_summary(name), EMPTY));
    }
    *place = Some(value.to_owned());
    Ok(())
}

fn apply_file(context: &AppContext, backend: &mut LocalBackend, path: &Path) -> Result<(), AppError> {
    let bytes = fs::read(path).map_err(|error| {
        AppError::new(
            "Backend configuration cannot be read",
            format!(
                "The file {}, given with -backend-config, cannot be read: {}.",
                path.display(),
                system_reason(&error)
            ),
        )
    })?;
    let file = SourceBytes::new(&path.display().to_string(), bytes)?.into_file();
    let (body, mut problems) = parse_body(&file);
    for block in &body.blocks {
        let detail = "A file of backend arguments cannot contain blocks.";
        problems.push(Diagnostic::error("Unsupported block type", detail).at(block.header_span.clone()));
    }
    for attribute in &body.attributes {
        problems.collect::<()>(backend.set(attribute));
    }
    let warnings: Diagnostics = problems;
    context.frontend.accept((), &warnings)
}
