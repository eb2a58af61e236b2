//! `wardian state replace-provider`: assigns all resources of one provider to another provider.

use async_trait::async_trait;
use wardian_address::{
    AbsoluteResourceAddress, DEFAULT_HOST, LEGACY_NAMESPACE, ProviderAddress, ProviderAddressError,
};
use wardian_app::AppError;
use wardian_app::sentence;
use wardian_app::state_access::LockPurpose;
use wardian_app::state_change::{self, ChangeRequest, DefaultBackup};
use wardian_app::unless_stopped;

use crate::arguments::StateReplaceProviderArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::shell::{Paint, ViewOptions};
use wardian_printable::{append_line, printable};

#[async_trait(?Send)]
impl CommandSpec for StateReplaceProviderArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &StateReplaceProviderArguments) -> Outcome {
    let from = provider(&arguments.from)
        .map_err(|error| Failure::error("Invalid provider to replace", sentence(&error.to_string())))?;
    let to = ProviderAddress::parse(&arguments.to)
        .map_err(|error| Failure::error("Invalid replacing provider", sentence(&error.to_string())))?;
    let configuration = context.app.configuration()?;
    let stop = interrupt::listen(&context.shell)?;
    let (lock, out) = (&arguments.lock.options(), &arguments.state_out.options());
    let request = ChangeRequest::new(
        &context.app,
        &configuration,
        lock,
        out,
        DefaultBackup::Timed,
        LockPurpose::ProviderReplacement,
    )
    .await?;
    state_change::require(&context.app, &request.location).await?;
    let change = request.open(&context.app, &stop).await?;
    let changed: Vec<AbsoluteResourceAddress> = change
        .state
        .resources()
        .filter(|(_, resource)| resource.provider.provider == from)
        .map(|(address, _)| address.clone())
        .collect();
    let shell = &context.shell;
    if changed.is_empty() {
        shell.say(printable!("No resource in the state belongs to {from}. Nothing was changed."));
        return Ok(Status::Success);
    }
    let mut text = printable!("The provider of {} resources changes from {from} to {to}:\n\n", changed.len());
    for address in &changed {
        append_line!(text, "  {address}");
    }
    shell.print(text);
    if !arguments.auto_approve {
        let question = printable!(
            "\n{}\n  Only 'yes' will be accepted to continue.\n\n  {} ",
            shell.paint(Paint::Bold, "Do you want to make these changes?"),
            shell.paint(Paint::Bold, "Enter a value:")
        );
        let answer = unless_stopped(&stop, shell.ask(question)).await.ok_or_else(AppError::interrupted)?;
        match answer {
            Ok(Some(answer)) if answer.trim() == "yes" => {}
            Ok(Some(_)) => {
                shell.say("Nothing was changed.");
                return Ok(Status::Success);
            }
            Ok(None) => {
                return Err(Failure::error(
                    "No answer",
                    "The input ended without an answer. Nothing was changed. If there is no terminal, use \
                     -auto-approve.",
                ));
            }
            Err(error) => {
                return Err(Failure::error("No answer", format!("The answer cannot be read: {error}.")));
            }
        }
    }
    let mut state = (*change.state).clone();
    for address in &changed {
        if let Some(resource) = state.resource(address) {
            let mut resource = resource.clone();
            resource.provider.provider = to.clone();
            state.set_resource(address.clone(), resource);
        }
    }
    change.save(&state).await?;
    shell.say(printable!("\nThe provider of {} resources was replaced.", changed.len()));
    Ok(Status::Success)
}

/// Parses an address that the user typed. It can be an address without a namespace, from an old
/// state.
fn provider(text: &str) -> Result<ProviderAddress, ProviderAddressError> {
    match ProviderAddress::parse(text) {
        Err(ProviderAddressError::Legacy { .. }) => {
            let name = text.rsplit('/').next().unwrap_or(text);
            ProviderAddress::parse_full(&format!("{DEFAULT_HOST}/{LEGACY_NAMESPACE}/{name}"))
        }
        done => done,
    }
}
