//! The invocations of actions in a plan.

use std::collections::HashMap;
use std::sync::Arc;

use crate::change::{ChangeId, ReviewedChange};
use crate::value::{AttributePath, ReviewedValue};

/// The index of an invocation in [`Review::invocations`](crate::Review::invocations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvocationId(u32);

impl InvocationId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One planned invocation of an action.
#[derive(Clone, Debug)]
pub struct ReviewedInvocation {
    /// The address of the action's instance: `module.a["x"].action.aws_lambda_invoke.warm_up[0]`.
    pub address: Arc<str>,
    /// The address of the action in the configuration, without instance keys.
    pub action: Arc<str>,
    /// The source address of the provider.
    pub provider: Arc<str>,
    /// The object whose change triggers the invocation; `None` if `-invoke` requests it.
    pub trigger: Option<ReviewedTrigger>,
    /// The values in the action's configuration, in the order of their paths.
    pub arguments: Box<[ActionArgument]>,
}

/// The change that triggers an invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedTrigger {
    /// The address of the object.
    pub object: Arc<str>,
    /// The change of the object, if the plan contains it.
    pub change: Option<ChangeId>,
    pub event: ActionEvent,
}

/// The event that triggers an invocation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ActionEvent {
    BeforeCreate,
    AfterCreate,
    BeforeUpdate,
    AfterUpdate,
    BeforeDestroy,
    AfterDestroy,
    /// An event that this version does not know.
    Other(Arc<str>),
}

impl ActionEvent {
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "BeforeCreate" => Self::BeforeCreate,
            "AfterCreate" => Self::AfterCreate,
            "BeforeUpdate" => Self::BeforeUpdate,
            "AfterUpdate" => Self::AfterUpdate,
            "BeforeDestroy" => Self::BeforeDestroy,
            "AfterDestroy" => Self::AfterDestroy,
            other => Self::Other(other.into()),
        }
    }

    /// Returns the time of the invocation: `after it is created`; `None` if this version does not know
    /// the event.
    pub fn time(&self) -> Option<&'static str> {
        Some(match self {
            Self::BeforeCreate => "before it is created",
            Self::AfterCreate => "after it is created",
            Self::BeforeUpdate => "before it is updated",
            Self::AfterUpdate => "after it is updated",
            Self::BeforeDestroy => "before it is destroyed",
            Self::AfterDestroy => "after it is destroyed",
            Self::Other(_) => return None,
        })
    }

    /// Returns the time of the invocation, or the name of an event that this version does not know.
    pub fn description(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.time().unwrap_or_default(),
        }
    }
}

/// A value in the configuration of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionArgument {
    pub path: AttributePath,
    pub value: ReviewedValue,
}

/// Invocations of one action that the same event of different objects triggers, or that `-invoke`
/// requests.
#[derive(Clone, Debug)]
pub struct GroupedInvocations {
    /// The address of the action in the configuration, without instance keys.
    pub action: Arc<str>,
    /// The event; `None` if `-invoke` requests the invocations.
    pub event: Option<ActionEvent>,
    /// The members in the order of the plan; at least one.
    pub members: Vec<InvocationId>,
}

/// The invocations of a plan by the changes that trigger them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TriggeredInvocations(HashMap<ChangeId, Vec<InvocationId>>);

impl TriggeredInvocations {
    /// Sets the changes that trigger the invocations. The cost is linear in the size of the plan.
    pub(crate) fn new(invocations: &mut [ReviewedInvocation], changes: &[ReviewedChange]) -> Self {
        let mut triggered = Self::default();
        if invocations.is_empty() {
            return triggered;
        }
        let by_address: HashMap<&str, ChangeId> = (0..)
            .zip(changes)
            .filter(|(_, change)| change.deposed.is_none())
            .map(|(index, change)| (&*change.address, ChangeId(index)))
            .collect();
        for (index, invocation) in (0..).zip(invocations) {
            let Some(trigger) = &mut invocation.trigger else { continue };
            trigger.change = by_address.get(&*trigger.object).copied();
            if let Some(id) = trigger.change {
                triggered.0.entry(id).or_default().push(InvocationId(index));
            }
        }
        triggered
    }

    /// Returns the invocations that a change triggers, in their order.
    pub(crate) fn by(&self, change: ChangeId) -> &[InvocationId] {
        self.0.get(&change).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns the groups in the order of their first members.
pub(crate) fn invocation_groups(invocations: &[ReviewedInvocation]) -> Vec<GroupedInvocations> {
    let mut groups: Vec<GroupedInvocations> = Vec::new();
    let mut known: HashMap<(&str, Option<&ActionEvent>), usize> = HashMap::new();
    for (index, invocation) in (0..).zip(invocations) {
        let event = invocation.trigger.as_ref().map(|trigger| &trigger.event);
        let group = *known.entry((&invocation.action, event)).or_insert(groups.len());
        if let Some(group) = groups.get_mut(group) {
            group.members.push(InvocationId(index));
        } else {
            groups.push(GroupedInvocations {
                action: Arc::clone(&invocation.action),
                event: event.cloned(),
                members: vec![InvocationId(index)],
            });
        }
    }
    groups
}
