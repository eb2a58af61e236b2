//! What `init` does about the backend.

use std::fs;
use std::path::Path;

use wardian_config::Configuration;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::StopSignal;
use wardian_lang::{SourceBytes, parse_body};

use super::record::Record;
use super::{EMPTY, LOCAL, LocalBackend, block_of, empty_summary, migration};
use crate::arguments::BackendArguments;
use crate::failure::{Failure, Outcome};
use crate::session::Session;

/// Takes over what the configuration says, brings states along where they belong in
/// another place now, and records it. Returns the backend in effect.
///
/// # Errors
/// Where the backend cannot be used, or it changed and nobody says what becomes of
/// the states.
pub(crate) async fn initialise(
    session: &Session,
    configuration: &Configuration,
    arguments: &BackendArguments,
    stop: &StopSignal,
) -> Outcome<LocalBackend> {
    let recorded = Record::read(session)?;
    let Some(block) = block_of(Some(configuration)) else {
        if !arguments.backend_config.is_empty() {
            let detail = "-backend-config completes a backend block, and the configuration has none.";
            session.shell.diagnostics(&Diagnostic::warning("Missing backend configuration", detail).into());
        }
        let here = LocalBackend::default();
        if let Some(recorded) = recorded {
            leave(session, &recorded, &here, arguments, stop).await?;
            Record::write(session, None)?;
            session.shell.say("The backend is unset; states are kept in this directory.");
        }
        return Ok(here);
    };
    let block = LocalBackend::of_block(block)?;
    let mut wanted = block.clone();
    for given in &arguments.backend_config {
        complete(session, &mut wanted, given)?;
    }
    let same = recorded.as_ref().and_then(|recorded| recorded.same_as(&block));
    match same {
        Some(same) if !arguments.reconfigure && (arguments.backend_config.is_empty() || same == wanted) => {
            return Ok(same);
        }
        _ => {}
    }
    match &recorded {
        Some(recorded) => leave(session, recorded, &wanted, arguments, stop).await?,
        None => migration::migrate(session, &LocalBackend::default(), &wanted, arguments, stop).await?,
    }
    Record::write(session, Some((&wanted, &block)))?;
    session.shell.say("The backend \"local\" is configured, and is used until its block changes.");
    Ok(wanted)
}

/// Turns from what was recorded to something else.
async fn leave(
    session: &Session,
    recorded: &Record,
    wanted: &LocalBackend,
    arguments: &BackendArguments,
    stop: &StopSignal,
) -> Outcome<()> {
    if arguments.reconfigure {
        return migration::migrate(session, &LocalBackend::default(), wanted, arguments, stop).await;
    }
    if !arguments.migrate_state && !arguments.force_copy {
        return Err(Failure::error(
            "Backend configuration changed",
            "The backend is another one than when this directory was initialised. Say what becomes of the states: \
             `wardian init -migrate-state` brings them along, `wardian init -reconfigure` leaves them where they are.",
        ));
    }
    if recorded.type_name != LOCAL {
        return Err(Failure::error(
            "Backend not available yet",
            format!(
                "The states are in a \"{}\" backend, from which they cannot be brought along yet. Fetch each with \
                 `terraform state pull`, run `wardian init -reconfigure`, and store it with `wardian state push`.",
                recorded.type_name
            ),
        ));
    }
    migration::migrate(session, &recorded.config, wanted, arguments, stop).await
}

/// `-backend-config`: `NAME=VALUE`, or a file of such lines.
fn complete(session: &Session, backend: &mut LocalBackend, given: &str) -> Outcome<()> {
    let Some((name, value)) = given.split_once('=') else {
        return complete_from_file(session, backend, Path::new(given));
    };
    let (name, value) = (name.trim(), value.trim());
    let place = backend
        .argument(name)
        .map_err(|detail| Failure::error("Invalid backend configuration argument", detail))?;
    if value.is_empty() {
        return Err(Failure::error(empty_summary(name), EMPTY));
    }
    *place = Some(value.to_owned());
    Ok(())
}

fn complete_from_file(session: &Session, backend: &mut LocalBackend, path: &Path) -> Outcome<()> {
    let bytes = fs::read(path).map_err(|error| {
        Failure::error(
            "Backend configuration cannot be read",
            format!("The file {}, given with -backend-config, cannot be read: {error}.", path.display()),
        )
    })?;
    let file = SourceBytes::new(&path.display().to_string(), bytes)?.into_file();
    let (body, mut problems) = parse_body(&file);
    for block in &body.blocks {
        let detail = "A file of backend arguments has no blocks.";
        problems.push(Diagnostic::error("Unsupported block type", detail).at(block.header_span.clone()));
    }
    for attribute in &body.attributes {
        problems.collect::<()>(backend.set(attribute));
    }
    let warnings: Diagnostics = problems;
    session.shell.warned((), &warnings)
}
