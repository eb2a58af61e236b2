//! Renders the invocations of actions as JSON: in plans, and as messages.

use serde::Serialize;
use wardian_address::{ActionInstanceAddress, InstanceKey, ModuleInstance};
use wardian_engine::{ActionInvocation, InvocationTrigger};

use super::messages::ResourceMessage;
use super::objects::Index;
use super::values::{Parts, PlainValue};

/// An object without members.
#[derive(Serialize)]
pub(super) struct NoMembers {}

/// An invocation in the document of a plan.
#[derive(Serialize)]
pub(super) struct InvocationDocument<'a> {
    address: String,
    #[serde(rename = "type")]
    type_name: &'a str,
    name: &'a str,
    config_values: PlainValue<'a>,
    config_sensitive: Parts<'a>,
    config_unknown: Parts<'a>,
    provider_name: String,
    #[serde(flatten)]
    trigger: TriggerDocument,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum TriggerDocument {
    LifecycleActionTrigger {
        triggering_resource_address: String,
        action_trigger_event: &'static str,
        action_trigger_block_index: usize,
        actions_list_index: usize,
    },
    InvokeActionTrigger(NoMembers),
}

impl<'a> InvocationDocument<'a> {
    pub(super) fn new(invocation: &'a ActionInvocation) -> Self {
        Self {
            address: invocation.address.to_string(),
            type_name: &invocation.address.type_name,
            name: &invocation.address.name,
            config_values: PlainValue(&invocation.config),
            config_sensitive: Parts::sensitive(&invocation.config),
            config_unknown: Parts::unknown(&invocation.config),
            provider_name: invocation.provider.provider.to_string(),
            trigger: match &invocation.trigger {
                InvocationTrigger::Command => TriggerDocument::InvokeActionTrigger(NoMembers {}),
                InvocationTrigger::Lifecycle { resource, event, block, position } => {
                    TriggerDocument::LifecycleActionTrigger {
                        triggering_resource_address: resource.to_string(),
                        action_trigger_event: event.name(),
                        action_trigger_block_index: *block,
                        actions_list_index: *position,
                    }
                }
            },
        }
    }
}

/// The address of an action in a message, split into its components.
#[derive(Serialize)]
struct ActionMessage<'a> {
    addr: String,
    module: String,
    action: String,
    implied_provider: &'a str,
    action_type: &'a str,
    action_name: &'a str,
    action_key: Option<Index<'a>>,
}

impl<'a> ActionMessage<'a> {
    fn new(address: &'a ActionInstanceAddress) -> Self {
        let inside = ActionInstanceAddress { module: ModuleInstance::root(), ..address.clone() };
        let type_name: &str = &address.type_name;
        Self {
            addr: address.to_string(),
            module: address.module.to_string(),
            action: inside.to_string(),
            implied_provider: type_name.split('_').next().unwrap_or(type_name),
            action_type: type_name,
            action_name: &address.name,
            action_key: match &address.key {
                InstanceKey::None => None,
                key => Index::from_key(key),
            },
        }
    }
}

/// The trigger of an invocation in a message.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum TriggerMessage<'a> {
    ActionTrigger(NoMembers),
    LifecycleTrigger {
        triggering_resource: ResourceMessage<'a>,
        triggering_event: &'static str,
        action_trigger_block_index: usize,
        actions_list_index: usize,
        on_failure: &'static str,
    },
}

impl<'a> TriggerMessage<'a> {
    fn new(trigger: &'a InvocationTrigger) -> Self {
        match trigger {
            InvocationTrigger::Command => Self::ActionTrigger(NoMembers {}),
            InvocationTrigger::Lifecycle { resource, event, block, position } => Self::LifecycleTrigger {
                triggering_resource: ResourceMessage::new(resource),
                triggering_event: event.name(),
                action_trigger_block_index: *block,
                actions_list_index: *position,
                on_failure: "ActionOnFailureHalt",
            },
        }
    }
}

/// A planned invocation in a message.
#[derive(Serialize)]
pub(super) struct InvocationMessage<'a> {
    action_addr: ActionMessage<'a>,
    #[serde(flatten)]
    trigger: TriggerMessage<'a>,
}

impl<'a> InvocationMessage<'a> {
    pub(super) fn new(invocation: &'a ActionInvocation) -> Self {
        Self {
            action_addr: ActionMessage::new(&invocation.address),
            trigger: TriggerMessage::new(&invocation.trigger),
        }
    }
}

/// An event about an action.
#[derive(Serialize)]
pub(crate) struct ActionHook<'a> {
    action: ActionMessage<'a>,
    #[serde(flatten)]
    trigger: TriggerMessage<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip)]
    pub(super) kind: &'static str,
    #[serde(skip)]
    pub(super) text: String,
}

impl<'a> ActionHook<'a> {
    fn new(
        kind: &'static str,
        address: &'a ActionInstanceAddress,
        trigger: &'a InvocationTrigger,
        text: String,
    ) -> Self {
        let (action, trigger) = (ActionMessage::new(address), TriggerMessage::new(trigger));
        Self { action, trigger, message: None, error: None, kind, text }
    }

    pub(super) fn started(address: &'a ActionInstanceAddress, trigger: &'a InvocationTrigger) -> Self {
        let by = trigger.resource().map(|resource| format!(" (triggered by {resource})")).unwrap_or_default();
        Self::new("action_start", address, trigger, format!("Action started: {address}{by}"))
    }

    pub(super) fn progressed(
        address: &'a ActionInstanceAddress,
        trigger: &'a InvocationTrigger,
        message: &'a str,
    ) -> Self {
        let text = format!("Action progress ({address}): {message}");
        Self { message: Some(message), ..Self::new("action_progress", address, trigger, text) }
    }

    pub(super) fn completed(address: &'a ActionInstanceAddress, trigger: &'a InvocationTrigger) -> Self {
        Self::new("action_complete", address, trigger, format!("Action complete: {address}"))
    }

    pub(super) fn failed(
        address: &'a ActionInstanceAddress,
        trigger: &'a InvocationTrigger,
        error: &'a str,
    ) -> Self {
        let text = format!("Action errored: {address}: {error}");
        Self { error: Some(error), ..Self::new("action_errored", address, trigger, text) }
    }
}
