//! `wardian state show`: shows one resource instance.

use std::collections::BTreeMap;

use async_trait::async_trait;
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_app::state_access;
use wardian_state::Object;

use crate::arguments::StateShowArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::commands::show;
use crate::commands::state_list::existing_state;
use crate::failure::{Failure, Outcome, Status};
use crate::render::json::StateJson;
use crate::render::state::render_object;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for StateShowArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &StateShowArguments) -> Outcome {
    let state = match arguments.at {
        Some(serial) => {
            let configuration = context.app.configuration()?;
            state_access::read_version(&context.app, Some(&configuration), serial).await?.into()
        }
        None => existing_state(context, arguments.state.as_deref()).await?.state,
    };
    let address = &arguments.address;
    let missing = || {
        Failure::error(
            "No such instance",
            format!(
                "The state has no instance {address}. `wardian state list` lists the instances; with count \
                 or for_each, an instance's address includes its key."
            ),
        )
    };
    let instance = state.instance(address).ok_or_else(missing)?;
    let resource = state.resource(&address.resource).ok_or_else(missing)?;
    let schemas = show::schemas(context, &state).await?;
    let provider = &resource.provider;
    let object: &Object = instance.current.as_deref().ok_or_else(missing)?;
    let shown = show::state_object(address.clone(), None, provider, object, &schemas)?;
    if arguments.json {
        let outputs = BTreeMap::new();
        let document = StateJson::new(TERRAFORM_VERSION, vec![shown], &outputs, None);
        context.shell.document(&document);
    } else {
        context.shell.print(render_object(&shown, context.shell.render_options()));
    }
    Ok(Status::Success)
}
