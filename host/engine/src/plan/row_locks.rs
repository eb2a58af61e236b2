//! The rows of a state that the apply of a plan writes, and the resources that its result depends on.
//!
//! Two runs that lock these rows have the same effect on the state as if one had started after the
//! other had ended. Besides the objects that change, everything that depends on them is part of the
//! plan: it was planned to stay as it is, which is correct only if nothing else changes that it
//! depends on. So the run reads all dependencies of the objects that change and of their dependents.
//! An object that does not depend on a change may depend on another run's changes: it is as if that
//! run had started later.

use std::collections::BTreeSet;

use wardian_config::Configuration;
use wardian_state::{RowChanges, RowKey, RowLocks, StateProblem};

use super::{Action, Plan};
use crate::graph::NodeId;
use crate::nodes::{self, Node, NodeGraph};
use crate::targets::Included;

/// Returns the rows that the apply of a plan writes, and the resources that it reads. Cost: O(n) in the
/// size of the plan and of the configuration's graph.
///
/// # Errors
/// Returns an error if the value of an output cannot be stored.
pub fn row_locks(configuration: &Configuration, plan: &Plan) -> Result<RowLocks, StateProblem> {
    let mut locks = RowLocks::default();
    let graph = nodes::build_unchecked(configuration);
    let mut changed: BTreeSet<NodeId> = BTreeSet::new();
    for change in plan
        .changes
        .iter()
        .filter(|change| change.action != Action::NoOp || change.previous_address.is_some())
    {
        for address in std::iter::once(&change.address).chain(&change.previous_address) {
            locks.write.insert(RowKey::for_instance(address));
            changed.extend(graph.id(&Node::Resource(address.config())));
        }
    }
    // Objects that were changed outside of Wardian are written as they are now.
    let refreshed = RowChanges::between(&plan.previous_state, &plan.prior_state)?;
    locks.write.extend(refreshed.keys().cloned());
    for (name, change) in &plan.outputs {
        if change.action != Action::NoOp {
            locks.write.insert(RowKey::for_output(name));
        }
    }
    for key in refreshed.keys() {
        if let Ok(address) = key.resource.parse() {
            changed.extend(graph.id(&Node::Resource(address)));
        }
    }
    let mut affected = reachable(&graph, &changed, |node| graph.dependents(node).collect());
    affected.extend(changed);
    // A node that only determines the order depends on no value, and nothing was planned for nodes that
    // the plan does not include.
    let included = Included::from_plan(&graph, plan);
    affected.retain(|node| !is_order_only(graph.node(*node)) && included.node(*node));
    let dependencies = affected.iter().flat_map(|node| graph.dependencies(*node));
    let dependencies: BTreeSet<NodeId> = dependencies.filter(|node| !is_barrier(graph.node(*node))).collect();
    let mut read = reachable(&graph, &dependencies, |node| graph.dependencies(node).collect());
    read.extend(dependencies);
    for node in read {
        if let Node::Resource(address) = graph.node(node) {
            locks.read.insert(address.to_string());
        }
    }
    Ok(locks)
}

/// Returns the nodes that are reached from others, without going through barriers.
fn reachable(
    graph: &NodeGraph,
    starts: &BTreeSet<NodeId>,
    next: impl Fn(NodeId) -> Vec<NodeId>,
) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut open: Vec<NodeId> = starts.iter().copied().collect();
    while let Some(node) = open.pop() {
        for reached in next(node) {
            if !is_barrier(graph.node(reached)) && found.insert(reached) {
                open.push(reached);
            }
        }
    }
    found
}

/// Returns whether a node waits for other nodes without using their values.
fn is_order_only(node: &Node) -> bool {
    matches!(node, Node::ModuleDone(_)) || is_barrier(node)
}

/// Returns whether a node waits for nodes that the configuration does not refer to.
fn is_barrier(node: &Node) -> bool {
    matches!(
        node,
        Node::CheckBarrier | Node::Close(_) | Node::DestroyBarrier { .. } | Node::DependentsDone(_)
    )
}

/// Returns whether two plans of one configuration change the same objects and outputs in the same way.
pub fn has_same_changes(plan: &Plan, other: &Plan) -> bool {
    let effective = |plan: &Plan| {
        plan.changes
            .iter()
            .filter(|change| change.action != Action::NoOp || change.previous_address.is_some())
            .map(|change| {
                (
                    change.address.clone(),
                    change.previous_address.clone(),
                    change.deposed.clone(),
                    change.action,
                    change.provider.clone(),
                    (change.before.clone(), change.after.clone()),
                )
            })
            .collect::<Vec<_>>()
    };
    let outputs = |plan: &Plan| {
        plan.outputs
            .iter()
            .filter(|(_, change)| change.action != Action::NoOp)
            .map(|(name, change)| (name.clone(), change.action, change.before.clone(), change.after.clone()))
            .collect::<Vec<_>>()
    };
    let invocations = |plan: &Plan| {
        plan.invocations
            .iter()
            .map(|invocation| {
                (invocation.address.clone(), invocation.trigger.clone(), invocation.config.clone())
            })
            .collect::<Vec<_>>()
    };
    plan.errored == other.errored
        && plan.mode == other.mode
        && invocations(plan) == invocations(other)
        && effective(plan) == effective(other)
        && outputs(plan) == outputs(other)
}
