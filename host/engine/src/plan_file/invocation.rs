//! Encodes the invocations of actions in a plan file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wardian_address::{ActionInstanceAddress, ProviderConfigAddress};
use wardian_config::LifecycleEvent;
use wardian_plugin::ProviderSchema;

use super::value::{Typed, decode_typed, encode_typed};
use super::{PlanFileError, parse};
use crate::plan::{ActionInvocation, InvocationTrigger};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InvocationContents {
    address: String,
    provider: String,
    config: Typed,
    /// Absent for an invocation that the user requested.
    trigger: Option<TriggerContents>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct TriggerContents {
    resource: String,
    event: String,
    block: usize,
    position: usize,
}

pub(super) fn encode_invocation(invocation: &ActionInvocation) -> Result<InvocationContents, PlanFileError> {
    let trigger = match &invocation.trigger {
        InvocationTrigger::Command => None,
        InvocationTrigger::Lifecycle { resource, event, block, position } => Some(TriggerContents {
            resource: resource.to_string(),
            event: event.keyword().into(),
            block: *block,
            position: *position,
        }),
    };
    Ok(InvocationContents {
        address: invocation.address.to_string(),
        provider: invocation.provider.to_string(),
        config: encode_typed(&invocation.config, invocation.schema.implied_type())?,
        trigger,
    })
}

pub(super) fn decode_invocation<'a>(
    contents: InvocationContents,
    schema_of: &impl Fn(&ProviderConfigAddress) -> Option<&'a Arc<ProviderSchema>>,
) -> Result<ActionInvocation, PlanFileError> {
    let address: ActionInstanceAddress =
        parse(&contents.address, |text| text.parse().ok(), "action instance")?;
    let provider: ProviderConfigAddress =
        parse(&contents.provider, |text| text.parse().ok(), "provider configuration")?;
    let schema = schema_of(&provider)
        .and_then(|schema| schema.actions.get(&address.type_name))
        .cloned()
        .ok_or_else(|| PlanFileError::NoSchema(contents.address.clone()))?;
    let event = |text: &str| LifecycleEvent::ALL.into_iter().find(|event| event.keyword() == text);
    let trigger = match contents.trigger {
        None => InvocationTrigger::Command,
        Some(trigger) => InvocationTrigger::Lifecycle {
            resource: parse(&trigger.resource, |text| text.parse().ok(), "resource instance")?,
            event: parse(&trigger.event, event, "event")?,
            block: trigger.block,
            position: trigger.position,
        },
    };
    Ok(ActionInvocation {
        config: decode_typed(&contents.config, schema.implied_type())?,
        address,
        provider,
        schema,
        trigger,
    })
}
