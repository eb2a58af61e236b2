//! `wardian state list`: lists resource instances, one per line.

use std::path::Path;

use async_trait::async_trait;
use wardian_address::{InstanceKey, ResourceInstanceAddress};
use wardian_app::state_access::{self, UnlockedState};
use wardian_app::state_change;
use wardian_engine::TargetAddress;
use wardian_printable::{PrintableText, append_line};
use wardian_state::{Attributes, Instance};

use crate::arguments::StateListArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::shell::ViewOptions;

#[async_trait(?Send)]
impl CommandSpec for StateListArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &StateListArguments) -> Outcome {
    let look = existing_state(context, arguments.state.as_deref()).await?;
    let mut text = PrintableText::new();
    let mut list = |is_wanted: &dyn Fn(&ResourceInstanceAddress) -> bool| {
        let mut is_known = false;
        for (address, _, instance) in look.state.instances().filter(|(address, _, _)| is_wanted(address)) {
            is_known = true;
            let has_id = arguments.id.as_deref().is_none_or(|id| has_id(instance, id));
            if instance.current.is_some() && has_id {
                append_line!(text, "{address}");
            }
        }
        is_known
    };
    if arguments.addresses.is_empty() {
        list(&|_| true);
    }
    for target in &arguments.addresses {
        if !list(&|address| names(target, address)) {
            return Err(unknown(target));
        }
    }
    context.shell.print(text);
    Ok(Status::Success)
}

/// Returns the error for an address that is not in the state.
fn unknown(target: &TargetAddress) -> Failure {
    let summary = match target {
        TargetAddress::Module(_) => "Unknown module",
        TargetAddress::Instance(instance) if instance.key != InstanceKey::None => "Unknown resource instance",
        TargetAddress::Resource(_) | TargetAddress::Instance(_) => "Unknown resource",
    };
    let detail = format!(
        "The state has no {target}. A resource that is new in the configuration is stored by the next \
         `wardian apply`."
    );
    Failure::error(summary, detail)
}

/// Returns whether an address includes an instance. An address that ends without an instance key
/// includes all instances of the resource in that module instance.
pub(super) fn names(target: &TargetAddress, address: &ResourceInstanceAddress) -> bool {
    match target {
        TargetAddress::Instance(wanted) if wanted.key.is_none() => address.resource == wanted.resource,
        _ => target.includes(address),
    }
}

/// Reads a state that must exist.
///
/// # Errors
/// Returns an error if the state does not exist.
pub(super) async fn existing_state(context: &CommandContext, named: Option<&Path>) -> Outcome<UnlockedState> {
    let configuration = context.app.configuration()?;
    let look = state_access::read_unlocked(&context.app, Some(&configuration), named).await?;
    if look.exists {
        return Ok(look);
    }
    Err(state_change::missing(&look.location).into())
}

/// Returns whether the attribute `id` of an instance has this value.
pub(super) fn has_id(instance: &Instance, wanted: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct WithId {
        id: Option<serde_json::Value>,
    }
    instance.current.as_ref().is_some_and(|object| match &object.attributes {
        Attributes::Json(text) => serde_json::from_str::<WithId>(text)
            .is_ok_and(|object| object.id.is_some_and(|id| id.as_str() == Some(wanted))),
        Attributes::Flat(attributes) => attributes.get("id").is_some_and(|id| id == wanted),
    })
}
