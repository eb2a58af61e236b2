//! The graph of a configuration, for those who draw it.

use std::collections::HashSet;

use wardian_address::{ProviderConfigAddress, ResourceAddress};
use wardian_config::Configuration;
use wardian_value::Str;

use crate::apply_order;
use crate::graph::NodeId;
use crate::nodes::{self, Node, NodeGraph};
use crate::plan::{Plan, ResourceChange};

/// One object of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnNode {
    /// What it is.
    pub kind: DrawnKind,
    /// Its name, unique in the graph.
    pub name: String,
    /// What it waits for: places in the list that it is in.
    pub dependencies: Vec<usize>,
    /// It is one of those that wait for each other and never begin.
    pub is_in_cycle: bool,
}

/// What an object of a graph is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrawnKind {
    /// A resource with all its instances.
    Resource(ResourceAddress),
    /// One object of a resource that a plan changes or destroys in a step of its own.
    Object(ResourceAddress),
    /// A provider configuration.
    Provider(ProviderConfigAddress),
    /// A variable of the root module.
    RootVariable(Str),
    /// A step between others: a local value, an output, a module.
    Step,
}

/// The graph that a run over a configuration walks, cycles included. Cost:
/// O(objects + references).
pub fn draw(configuration: &Configuration) -> Vec<DrawnNode> {
    drawn(&nodes::build_unchecked(configuration), |node| (kind(node), node.to_string()))
}

/// The graph that an apply of a plan walks: that of the configuration, and the objects
/// that are destroyed and replaced. Cost: as [`draw`], and the plan's changes with what
/// they depend on.
pub fn draw_plan(configuration: &Configuration, plan: &Plan) -> Vec<DrawnNode> {
    let order = apply_order::build(configuration, &nodes::build_unchecked(configuration), plan);
    let destroyed = |place: usize| order.destructions.get(place).and_then(|index| plan.changes.get(*index));
    drawn(&order.graph, |node| match node {
        Node::Object(place) => destroyed(*place)
            .map_or_else(|| (DrawnKind::Step, node.to_string()), |change| object(change, " (destroy)")),
        Node::Change(index) => plan
            .changes
            .get(*index)
            .map_or_else(|| (DrawnKind::Step, node.to_string()), |change| object(change, "")),
        Node::Resource(address) if order.graph.id(&Node::Expand(address.clone())).is_some() => {
            (kind(node), format!("{node} (close)"))
        }
        Node::Gate { is_late: true, .. } => (DrawnKind::Step, format!("{node} (late)")),
        _ => (kind(node), node.to_string()),
    })
}

/// An object that a plan changes, with what is done to it.
fn object(change: &ResourceChange, done: &str) -> (DrawnKind, String) {
    let deposed = change.deposed.as_ref().map_or(String::new(), |key| format!(" (deposed {key})"));
    (DrawnKind::Object(change.address.config()), format!("{}{deposed}{done}", change.address))
}

fn drawn(graph: &NodeGraph, told: impl Fn(&Node) -> (DrawnKind, String)) -> Vec<DrawnNode> {
    let in_cycle = in_cycle(graph);
    graph
        .iter()
        .map(|(id, node)| {
            let mut dependencies: Vec<usize> =
                graph.graph.dependencies(id).iter().map(|dependency| dependency.index()).collect();
            dependencies.sort_unstable();
            dependencies.dedup();
            let (kind, name) = told(node);
            DrawnNode { kind, name, dependencies, is_in_cycle: in_cycle.contains(&id) }
        })
        .collect()
}

fn kind(node: &Node) -> DrawnKind {
    match node {
        Node::Resource(address) => DrawnKind::Resource(address.clone()),
        Node::Provider(address) => DrawnKind::Provider(address.clone()),
        Node::Variable(module, name) if module.is_root() => DrawnKind::RootVariable(name.clone()),
        _ => DrawnKind::Step,
    }
}

/// The nodes of one cycle, where there is any.
fn in_cycle(graph: &NodeGraph) -> HashSet<NodeId> {
    graph.graph.order().err().into_iter().flatten().collect()
}
