//! Orders the invocations of actions.

use std::collections::HashMap;

use crate::graph::NodeId;
use crate::nodes::{InvocationGroup, Node, NodeGraph};
use crate::plan::{Action, ChangeInvocations, InvocationTrigger, Plan};

/// Adds a node for each group of invocations. Actions before a change run before its step, and after
/// the destruction of an object that is destroyed before its replacement is created. Every group
/// waits for everything to which the configurations of its actions refer. Cost: O(invocations).
pub(super) fn add(
    graph: &mut NodeGraph,
    plan: &Plan,
    invocations: &HashMap<usize, ChangeInvocations>,
    steps: &HashMap<usize, NodeId>,
    destroyed: &HashMap<usize, NodeId>,
    depends: &mut Vec<(NodeId, NodeId)>,
) {
    // Nodes are added in the order of the changes, which makes runs reproducible.
    let mut changes: Vec<usize> = invocations.keys().copied().collect();
    changes.sort_unstable();
    for change in changes {
        let (Some(triggered), Some(step)) = (invocations.get(&change), steps.get(&change)) else { continue };
        let resource = plan.changes[change].address.config();
        if !triggered.before.is_empty() {
            let group = graph.add(Node::Invocations(InvocationGroup::Before(change)));
            wait_for_actions(graph, plan, &triggered.before, group, depends);
            depends.extend(graph.id(&Node::Expand(resource.clone())).map(|expansion| (group, expansion)));
            if plan.changes[change].action == Action::DeleteThenCreate {
                depends.extend(destroyed.get(&change).map(|destruction| (group, *destruction)));
            }
            depends.push((*step, group));
        }
        if !triggered.after.is_empty() {
            let group = graph.add(Node::Invocations(InvocationGroup::After(change)));
            wait_for_actions(graph, plan, &triggered.after, group, depends);
            depends.push((group, *step));
            depends.extend(graph.id(&Node::ActionTriggers(resource)).map(|done| (done, group)));
        }
    }
    for (index, invocation) in plan.invocations.iter().enumerate() {
        if invocation.trigger == InvocationTrigger::Command {
            let group = graph.add(Node::Invocations(InvocationGroup::Command(index)));
            wait_for_actions(graph, plan, &[index], group, depends);
        }
    }
}

fn wait_for_actions(
    graph: &NodeGraph,
    plan: &Plan,
    invocations: &[usize],
    group: NodeId,
    depends: &mut Vec<(NodeId, NodeId)>,
) {
    for index in invocations {
        let action = graph.id(&Node::Action(plan.invocations[*index].address.config()));
        depends.extend(action.map(|action| (group, action)));
    }
}
