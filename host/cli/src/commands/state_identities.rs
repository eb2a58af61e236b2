//! `wardian state identities`: prints the identities of resource instances as JSON.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde_json::Value;
use wardian_state::Identity;

use crate::arguments::StateIdentitiesArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::commands::state_list::{existing_state, has_id, names};
use crate::failure::{Outcome, Status};
use crate::render::json::pretty;
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for StateIdentitiesArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.json {
            return Ok(());
        }
        Err(InvalidOptions::new(
            "Option required",
            "Identities are printed only as JSON. Add the option -json.",
        ))
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

/// Prints the identities of instances, by address.
async fn run(context: &CommandContext, arguments: &StateIdentitiesArguments) -> Outcome {
    let look = existing_state(context, arguments.state.as_deref()).await?;
    let mut identities: BTreeMap<String, Value> = BTreeMap::new();
    for (address, _, instance) in look.state.instances() {
        let is_wanted = arguments.addresses.is_empty()
            || arguments.addresses.iter().any(|target| names(target, &address));
        let has_id = arguments.id.as_deref().is_none_or(|id| has_id(instance, id));
        let identity = instance.current.as_ref().and_then(|object| object.identity.as_ref());
        if let (true, true, Some(Identity { attributes, .. })) = (is_wanted, has_id, identity) {
            // The text is valid JSON, because the state file was parsed.
            identities.insert(address.to_string(), serde_json::from_str(attributes).unwrap_or_default());
        }
    }
    context.shell.print_json(&pretty(&identities));
    Ok(Status::Success)
}
