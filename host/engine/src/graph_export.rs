//! The graph of a configuration as data for programs that draw it.

use std::collections::HashMap;

use wardian_address::{ProviderConfigAddress, ResourceAddress};
use wardian_config::Configuration;
use wardian_value::Str;

use crate::apply_order;
use crate::graph::{self, NodeId};
use crate::nodes::{self, DestroyPhase, Node, NodeGraph};
use crate::plan::{Plan, ResourceChange};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    pub kind: GraphNodeKind,
    /// The name, unique in the graph.
    pub name: String,
    /// The nodes that it waits for: sorted indexes into the list that contains the node.
    pub dependencies: Vec<usize>,
    /// The number of the cycle that contains the node. The nodes of a cycle wait for each other.
    pub cycle: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphNodeKind {
    /// A resource with all its instances.
    Resource(ResourceAddress),
    /// An object of a resource, if a plan changes or destroys the object in a separate node.
    Object(ResourceAddress),
    Provider(ProviderConfigAddress),
    RootVariable(Str),
    /// Any other node: a local value, an output, a module.
    Step,
}

/// Returns the graph that a run over a configuration walks. It may contain cycles. Cost: O(objects
/// + references).
pub fn export_graph(configuration: &Configuration) -> Vec<GraphNode> {
    exported(&nodes::build_unchecked(configuration), |node| (kind(node), node.to_string()))
}

/// Returns the graph that an apply of a plan walks: the configuration's graph with the objects that
/// are destroyed and replaced. Cost: the same as [`export_graph`], plus the number of changes and
/// of their dependencies.
pub fn export_plan_graph(configuration: &Configuration, plan: &Plan) -> Vec<GraphNode> {
    let order = apply_order::build(configuration, &nodes::build_unchecked(configuration), plan);
    let destroyed = |place: usize| order.destructions.get(place).and_then(|index| plan.changes.get(*index));
    exported(&order.graph, |node| match node {
        Node::StateObject(place) => destroyed(*place)
            .map_or_else(|| (GraphNodeKind::Step, node.to_string()), |change| object(change, " (destroy)")),
        Node::PlannedChange(index) => plan
            .changes
            .get(*index)
            .map_or_else(|| (GraphNodeKind::Step, node.to_string()), |change| object(change, "")),
        Node::Resource(address) if order.graph.id(&Node::Expand(address.clone())).is_some() => {
            (kind(node), format!("{node} (close)"))
        }
        Node::DestroyBarrier { phase: DestroyPhase::AfterChanges, .. } => {
            (GraphNodeKind::Step, format!("{node} (late)"))
        }
        _ => (kind(node), node.to_string()),
    })
}

/// Returns the kind and the name of the node for an object that a plan changes.
fn object(change: &ResourceChange, done: &str) -> (GraphNodeKind, String) {
    let deposed = change.deposed.as_ref().map_or(String::new(), |key| format!(" (deposed {key})"));
    (GraphNodeKind::Object(change.address.config()), format!("{}{deposed}{done}", change.address))
}

fn exported(graph: &NodeGraph, describe: impl Fn(&Node) -> (GraphNodeKind, String)) -> Vec<GraphNode> {
    let cycles = cycle_numbers(graph);
    graph
        .iter()
        .map(|(id, node)| {
            let mut dependencies: Vec<usize> =
                graph.dependencies(id).map(|dependency| dependency.index()).collect();
            dependencies.sort_unstable();
            dependencies.dedup();
            let (kind, name) = describe(node);
            GraphNode { kind, name, dependencies, cycle: cycles.get(&id).copied() }
        })
        .collect()
}

fn kind(node: &Node) -> GraphNodeKind {
    match node {
        Node::Resource(address) => GraphNodeKind::Resource(address.clone()),
        Node::Provider(address) => GraphNodeKind::Provider(address.clone()),
        Node::Variable(module, name) if module.is_root() => GraphNodeKind::RootVariable(name.clone()),
        _ => GraphNodeKind::Step,
    }
}

/// Returns the nodes that belong to a cycle, each with the number of its cycle.
fn cycle_numbers(graph: &NodeGraph) -> HashMap<NodeId, usize> {
    let cycles = graph::cycles(graph.graph()).into_iter().enumerate();
    cycles.flat_map(|(number, nodes)| nodes.into_iter().map(move |node| (node, number))).collect()
}
