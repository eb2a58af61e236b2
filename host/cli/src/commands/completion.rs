//! `wardian completion`: prints the script with which a shell completes command lines, and installs
//! it.

use async_trait::async_trait;
use wardian_diagnostic::system_reason;
use wardian_printable::printable;

use crate::arguments::CompletionArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::completion::install::{ShellEdit, ShellEditError, install, uninstall};
use crate::completion::script;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for CompletionArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        let program = context.shell.product().command();
        let environment = &context.app.environment;
        if self.install {
            report(context, &install(environment, program).map_err(failure)?, "installed")
        } else if self.uninstall {
            report(context, &uninstall(environment, program).map_err(failure)?, "removed")
        } else {
            // clap requires a shell.
            let script = self.shell.map(|shell| script(shell, program)).unwrap_or_default();
            context.shell.print_data(script.as_bytes());
            Ok(Status::Success)
        }
    }
}

fn report(context: &CommandContext, edits: &[ShellEdit], done: &str) -> Outcome {
    if edits.is_empty() {
        return Err(Failure::error(
            "No shell found",
            "There is no configuration of a shell in the home directory. Add the output of `wardian completion \
             SHELL` to your shell's configuration; the shells are bash, zsh, fish, powershell and elvish.",
        ));
    }
    for ShellEdit { path, is_changed } in edits {
        let path = path.display();
        context.shell.say(match is_changed {
            true => printable!("Completion was {done}: {path}"),
            false => printable!("Unchanged: {path}"),
        });
    }
    if edits.iter().any(|edit| edit.is_changed) {
        context.shell.say("The change takes effect in new shells.");
    }
    Ok(Status::Success)
}

fn failure(problem: ShellEditError) -> Failure {
    let ShellEditError { path, error } = problem;
    Failure::error(
        "Shell configuration cannot be changed",
        format!(
            "{}: {}. `wardian completion SHELL` prints the script, which can be added by hand.",
            path.display(),
            system_reason(&error)
        ),
    )
}
