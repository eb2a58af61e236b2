//! `wardian state restore`: replaces the state with one of its versions.

use async_trait::async_trait;
use wardian_app::state_access::{self, LockPurpose};
use wardian_app::state_change::ChangeRequest;
use wardian_printable::printable;
use wardian_state::BackupRule;

use crate::arguments::StateRestoreArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::interrupt;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for StateRestoreArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &StateRestoreArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let serial = arguments.serial;
    let restored = state_access::read_version(&context.app, Some(&configuration), serial).await?;
    let stop = interrupt::listen(&context.shell)?;
    let request = ChangeRequest {
        lock: true,
        lock_timeout: arguments.lock_timeout,
        location: state_access::state_location(&context.app, Some(&configuration), None).await?,
        written: None,
        backup: BackupRule::Off,
        purpose: LockPurpose::Restoration,
    };
    let change = request.open(&context.app, &stop).await?;
    change.save(&restored).await?;
    context.shell.say(printable!(
        "The state is as it was at serial {serial}. `wardian plan` shows how remote objects differ from it."
    ));
    Ok(Status::Success)
}
