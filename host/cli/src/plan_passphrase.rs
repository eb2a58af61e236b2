//! Reads the passphrases of encrypted plan files.

use std::path::Path;

use wardian_app::AppError;
use wardian_app::saved_plan::{self, SavedPlan};
use wardian_app::unless_stopped;
use wardian_engine::StopSignal;

use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::interrupt;

/// Returns the passphrase for a new plan file. It is read from the environment, or typed twice by
/// the user.
///
/// # Errors
/// Returns an error if no passphrase is given, or the two passphrases differ.
pub(crate) async fn new_passphrase(context: &CommandContext, stop: &StopSignal) -> Outcome<String> {
    if let Some(passphrase) = context.app.environment.plan_passphrase() {
        return Ok(passphrase);
    }
    let first = ask_passphrase(context, stop, "Passphrase for the plan file: ").await?;
    if first != ask_passphrase(context, stop, "Repeat the passphrase: ").await? {
        return Err(Failure::error(
            "Passphrases differ",
            "The two passphrases differ, so the plan was not saved.",
        ));
    }
    Ok(first)
}

async fn ask_passphrase(
    context: &CommandContext,
    stop: &StopSignal,
    question: &'static str,
) -> Outcome<String> {
    let answer = unless_stopped(stop, context.shell.ask_secret(question)).await;
    match answer.ok_or_else(AppError::interrupted)? {
        Ok(Some(passphrase)) if !passphrase.is_empty() => Ok(passphrase),
        Ok(_) => Err(Failure::error(
            "No passphrase",
            "An encrypted plan file needs a passphrase, and none was given. If there is no terminal, set \
             WARDIAN_PLAN_PASSPHRASE.",
        )),
        Err(error) => {
            Err(Failure::error("No passphrase", format!("The passphrase cannot be read: {error}.")))
        }
    }
}

/// Reads a saved plan, and shows the warnings of its configuration. If the plan is encrypted, asks for the passphrase until it is correct or the
/// user interrupts the command.
///
/// # Errors
/// Returns an error if the file is not a plan of this version of Wardian.
pub(crate) async fn read_plan(
    path: &Path,
    context: &CommandContext,
    stop: Option<&StopSignal>,
) -> Outcome<SavedPlan> {
    let saved = decode_plan(path, &saved_plan::read(path)?, context, stop).await?;
    context.shell.diagnostics(&saved.warnings);
    Ok(saved)
}

/// Decodes a saved plan. Asks for the passphrase like [`read_plan`].
///
/// # Errors
/// Returns an error if the file is not a plan of this version of Wardian.
pub(crate) async fn decode_plan(
    path: &Path,
    bytes: &[u8],
    context: &CommandContext,
    stop: Option<&StopSignal>,
) -> Outcome<SavedPlan> {
    let bytes = &*saved_plan::decrypt(path, bytes, &context.app).await?;
    if !saved_plan::is_sealed(bytes) {
        return Ok(SavedPlan::decode(path, bytes, None, &context.app)?);
    }
    let passphrase = match context.app.environment.plan_passphrase() {
        Some(passphrase) => passphrase,
        None => {
            let stop = match stop {
                Some(stop) => stop.clone(),
                None => interrupt::listen(&context.shell)?,
            };
            ask_passphrase(context, &stop, "Passphrase of the plan file: ").await?
        }
    };
    Ok(SavedPlan::decode(path, bytes, Some(&passphrase), &context.app)?)
}
