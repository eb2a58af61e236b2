//! The graph of a configuration, for those who draw it.

use std::collections::HashSet;

use wardian_config::Configuration;
use wardian_plugin::{ProviderConfigAddress, ResourceAddress};
use wardian_value::Str;

use crate::graph::NodeId;
use crate::nodes::{self, Node, NodeGraph};

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
    let graph = nodes::build_unchecked(configuration);
    let in_cycle = in_cycle(&graph);
    graph
        .iter()
        .map(|(id, node)| {
            let mut dependencies: Vec<usize> =
                graph.graph.dependencies(id).iter().map(|dependency| dependency.index()).collect();
            dependencies.sort_unstable();
            dependencies.dedup();
            DrawnNode {
                kind: kind(node),
                name: node.to_string(),
                dependencies,
                is_in_cycle: in_cycle.contains(&id),
            }
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
