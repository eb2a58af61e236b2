//! `wardian state pull`: prints the stored state.

use async_trait::async_trait;
use wardian_app::state_access;
use wardian_printable::escape::escape_json;
use wardian_state::encode_state;

use crate::arguments::StatePullArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for StatePullArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

/// Prints the stored state, or a version of it. Prints nothing if there is no state.
async fn run(context: &CommandContext, arguments: &StatePullArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let state = match arguments.at {
        Some(serial) => state_access::read_version(&context.app, Some(&configuration), serial).await?.into(),
        None => {
            let look = state_access::read_unlocked(&context.app, Some(&configuration), None).await?;
            if !look.exists {
                return Ok(Status::Success);
            }
            look.state
        }
    };
    let text = encode_state(&state)
        .map_err(|problem| Failure::error("State cannot be written", format!("{problem}.")))?;
    context.shell.print_data(escape_json(&text).as_bytes());
    Ok(Status::Success)
}
