//! `wardian force-unlock`: releases the lock of a process that ended without releasing it.

use async_trait::async_trait;
use wardian_app::state_access::{self, StateLocation};
use wardian_app::{AppError, sentence};
use wardian_printable::printable;
use wardian_state::LockError;

use crate::arguments::ForceUnlockArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::{OutputKind, Paint, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for ForceUnlockArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &ForceUnlockArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let location = state_access::state_location(&context.app, Some(&configuration), None).await?;
    // A local lock is never released, so there is nothing to approve.
    if location.file().is_none() && !arguments.force && !is_approved(context, &location).await? {
        context.shell.say("The lock was not released.");
        return Ok(Status::Failed);
    }
    location.storage().force_unlock(&arguments.id).await.map_err(failure)?;
    let text = context.shell.paint(Paint::Success, printable!("The lock on {location} was released."));
    context.shell.say(text);
    Ok(Status::Success)
}

async fn is_approved(context: &CommandContext, location: &StateLocation) -> Outcome<bool> {
    let shell = &context.shell;
    let question = printable!(
        "\n{}\n  The lock on {location} protects the state from concurrent changes. Release it only if the process \
         that holds it has ended.\n  Only 'yes' will be accepted to confirm.\n\n  {} ",
        shell.paint(Paint::Bold, printable!("Do you really want to force-unlock?")),
        shell.paint(Paint::Bold, "Enter a value:")
    );
    match shell.ask(question).await {
        Ok(Some(answer)) => Ok(answer.trim() == "yes"),
        Ok(None) => Err(Failure::error(
            "No answer",
            "Releasing a lock needs approval, and the input ended without an answer. If there is no terminal, use \
             -force.",
        )),
        Err(error) => Err(Failure::error("No answer", format!("The answer cannot be read: {error}."))),
    }
}

fn failure(error: LockError) -> Failure {
    match error {
        LockError::SystemLock { path, id, is_held: false } => Failure::error(
            "Local state is not locked",
            format!(
                "{} is not locked, so there is no lock {id} to release: a lock never outlives its process.",
                path.display()
            ),
        ),
        LockError::SystemLock { path, id, is_held: true } => Failure::error(
            "Local state cannot be unlocked",
            format!(
                "The lock {id} on {} is held by a process on this machine, and the system releases it when that \
                 process ends: a lock never outlives its process. The lock error names that process: \
                 end it, or wait until it ends.",
                path.display()
            ),
        ),
        error => AppError::new("Failed to unlock state", sentence(&error.to_string())).into(),
    }
}
