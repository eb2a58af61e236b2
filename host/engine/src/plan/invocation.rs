//! Planned invocations of actions.

use std::collections::HashMap;
use std::sync::Arc;

use wardian_address::{ActionAddress, ActionInstanceAddress, ProviderConfigAddress, ResourceInstanceAddress};
use wardian_config::LifecycleEvent;
use wardian_plugin::Schema;
use wardian_value::Value;

use super::{Action, Plan};

/// The planned invocation of an action.
#[derive(Clone, Debug)]
pub struct ActionInvocation {
    pub address: ActionInstanceAddress,
    pub provider: ProviderConfigAddress,
    /// The configuration, which may contain unknown values. Sensitive values are marked, and
    /// ephemeral values are null: the apply evaluates the configuration again.
    pub config: Value,
    pub schema: Arc<Schema>,
    pub trigger: InvocationTrigger,
}

/// The reason for an invocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InvocationTrigger {
    /// The change of an object.
    Lifecycle {
        resource: ResourceInstanceAddress,
        event: LifecycleEvent,
        /// The number of the `action_trigger` block in its resource.
        block: usize,
        /// The number of the item in the block's `actions`.
        position: usize,
    },
    /// The option `-invoke`.
    Command,
}

impl InvocationTrigger {
    /// Returns the object whose change triggers the invocation.
    pub fn resource(&self) -> Option<&ResourceInstanceAddress> {
        match self {
            Self::Lifecycle { resource, .. } => Some(resource),
            Self::Command => None,
        }
    }
}

/// An address of `-invoke`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvokeAddress {
    /// An action with all its instances in all instances of its module.
    Action(ActionAddress),
    Instance(ActionInstanceAddress),
}

impl InvokeAddress {
    /// Returns the address of the action block.
    pub fn config(&self) -> ActionAddress {
        match self {
            Self::Action(address) => address.clone(),
            Self::Instance(address) => address.config(),
        }
    }

    /// Whether the address selects an instance. An address without an instance key selects all
    /// instances of the action.
    pub fn includes(&self, address: &ActionInstanceAddress) -> bool {
        match self {
            Self::Action(action) => address.config() == *action,
            Self::Instance(instance) => {
                instance.module == address.module
                    && instance.type_name == address.type_name
                    && instance.name == address.name
                    && (instance.key.is_none() || instance.key == address.key)
            }
        }
    }
}

impl std::fmt::Display for InvokeAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Action(address) => address.fmt(f),
            Self::Instance(address) => address.fmt(f),
        }
    }
}

/// Parses an address; an action without keys selects all its instances.
impl std::str::FromStr for InvokeAddress {
    type Err = wardian_address::InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(action) => Ok(Self::Action(action)),
            Err(_) => text.parse().map(Self::Instance),
        }
    }
}

/// Sorts invocations in the order in which they are displayed and run: by object, phase, block and
/// item.
pub fn sort_invocations(invocations: &mut [ActionInvocation]) {
    invocations.sort_by(|a, b| (&a.trigger, &a.address).cmp(&(&b.trigger, &b.address)));
}

impl Plan {
    /// Whether the plan only invokes actions that the user requested.
    pub fn is_requested_invocation(&self) -> bool {
        self.invocations.iter().any(|invocation| invocation.trigger == InvocationTrigger::Command)
    }

    /// Returns the invocations of each changed object, by the index of the change: the indexes of
    /// those before the change, and of those after it. Cost: O(changes + invocations).
    pub fn invocations_by_change(&self) -> HashMap<usize, ChangeInvocations> {
        let mut found: HashMap<usize, ChangeInvocations> = HashMap::new();
        if self.invocations.is_empty() {
            return found;
        }
        let changes: HashMap<&ResourceInstanceAddress, usize> = self
            .changes
            .iter()
            .enumerate()
            .filter(|(_, change)| {
                change.deposed.is_none()
                    && (matches!(change.action, Action::Create | Action::Update)
                        || change.action.is_replace())
            })
            .map(|(index, change)| (&change.address, index))
            .collect();
        for (index, invocation) in self.invocations.iter().enumerate() {
            let InvocationTrigger::Lifecycle { resource, event, .. } = &invocation.trigger else { continue };
            let Some(change) = changes.get(resource) else { continue };
            let invocations = found.entry(*change).or_default();
            if event.is_before() { invocations.before.push(index) } else { invocations.after.push(index) }
        }
        found
    }
}

/// The invocations that a change triggers, by their indexes in the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeInvocations {
    pub before: Vec<usize>,
    pub after: Vec<usize>,
}
