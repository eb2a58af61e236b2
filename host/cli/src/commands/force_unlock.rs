//! `wardian force-unlock`: always fails.

use async_trait::async_trait;
use wardian_app::state_access;
use wardian_state::StateFile;

use crate::arguments::ForceUnlockArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome};
use crate::shell::{OutputKind, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for ForceUnlockArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Report
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

/// Always fails. The lock of a local state belongs to the operating system, which releases it when
/// the process that holds it ends, even after a crash.
fn run(context: &CommandContext, arguments: &ForceUnlockArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let path = state_access::state_path(&context.app, Some(&configuration), None)?;
    if !StateFile::is_locked_at(&path) {
        return Err(Failure::error(
            "Local state is not locked",
            format!(
                "{} is not locked, so there is no lock {} to release: a lock never outlives its process.",
                path.display(),
                arguments.id
            ),
        ));
    }
    Err(Failure::error(
        "Local state cannot be unlocked",
        format!(
            "The lock {} on {} is held by a process on this machine, and the system releases it when that \
             process ends: a lock never outlives its process. End the process that the message about \
             the lock names, or wait for it.",
            arguments.id,
            path.display()
        ),
    ))
}
