//! `wardian state rm`: removes instances from the state.

use async_trait::async_trait;
use wardian_address::ResourceInstanceAddress;
use wardian_app::state_access::LockPurpose;
use wardian_app::state_change::{self, ChangeRequest, DefaultBackup};

use super::state_list::names;
use crate::arguments::StateRmArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::shell::ViewOptions;
use wardian_printable::{PrintableText, append_line};

#[async_trait(?Send)]
impl CommandSpec for StateRmArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

/// Removes instances from the state. An address that matches no instances is ignored, unless none
/// of the addresses matches any.
async fn run(context: &CommandContext, arguments: &StateRmArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let stop = interrupt::listen(&context.shell)?;
    let (lock, out) = (&arguments.lock.options(), &arguments.state_out.options());
    let request = ChangeRequest::new(
        &context.app,
        &configuration,
        lock,
        out,
        DefaultBackup::Timed,
        LockPurpose::Removal,
    )
    .await?;
    state_change::require(&context.app, &request.location).await?;
    let change = request.open(&context.app, &stop).await?;
    let mut state = (*change.state).clone();
    let mut removed: Vec<ResourceInstanceAddress> = Vec::new();
    for target in &arguments.addresses {
        removed
            .extend(state.instances().map(|(address, ..)| address).filter(|address| names(target, address)));
        // An instance that is included in two addresses is removed only once.
        for address in &removed {
            state.remove_instance(address);
        }
    }
    if removed.is_empty() {
        return Err(Failure::error(
            "Invalid target address",
            format!(
                "None of these addresses exists in the state: {}. `wardian state list` lists the instances.",
                arguments.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            ),
        ));
    }
    let what = if arguments.dry_run { "Would remove" } else { "Removed" };
    let mut text = PrintableText::new();
    for address in &removed {
        append_line!(text, "{what} {address}");
    }
    if !arguments.dry_run {
        change.save(&state).await?;
        match removed.len() {
            1 => append_line!(text, "1 instance was removed from the state."),
            count => append_line!(text, "{count} instances were removed from the state."),
        }
    }
    context.shell.print(text);
    Ok(Status::Success)
}
