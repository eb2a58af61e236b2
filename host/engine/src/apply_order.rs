//! The order of an apply.
//!
//! Objects are made and changed in the order of the configuration's references, as
//! in a plan; objects are destroyed in the reverse order of what they were made
//! from, as the state remembers it. Between the two:
//!
//! - an object that is destroyed and then made anew is destroyed first;
//! - one that is made anew and then destroyed is destroyed last, when all that
//!   depend on it know the new one;
//! - an object is changed only when those that were made from it and go are gone.
//!
//! "All destroyed that were made from R" is a node of its own (a gate), so that n
//! objects made from m others cost n + m edges, not n · m.

use std::collections::{HashMap, HashSet};

use wardian_plugin::ResourceAddress;
use wardian_state::State;

use crate::graph::NodeId;
use crate::nodes::{Node, NodeGraph};
use crate::plan::{Action, Mode, Plan, ResourceChange};

/// A graph for an apply.
pub struct ApplyGraph {
    /// The configuration's graph with a node for each destruction and the gates.
    pub graph: NodeGraph,
    /// The change of each destruction, by the number of its node.
    pub destructions: Vec<usize>,
}

/// Builds the graph of an apply from the configuration's.
pub fn build(configuration: &NodeGraph, plan: &Plan) -> ApplyGraph {
    let mut graph = configuration.clone();
    let destructions: Vec<usize> = plan
        .changes
        .iter()
        .enumerate()
        .filter(|(_, change)| change.action == Action::Delete || change.action.is_replace())
        .map(|(index, _)| index)
        .collect();
    if destructions.is_empty() {
        return ApplyGraph { graph, destructions };
    }
    let nodes: Vec<NodeId> = (0..destructions.len()).map(|i| graph.add(Node::Object(i))).collect();
    let created_first: HashSet<ResourceAddress> = plan
        .changes
        .iter()
        .filter(|change| change.action == Action::CreateThenDelete)
        .map(|change| change.address.config())
        .collect();
    let mut gates = Gates { graph: &mut graph, early: HashMap::new(), late: HashMap::new() };
    let mut depends: Vec<(NodeId, NodeId)> = Vec::new();
    for (number, index) in destructions.iter().enumerate() {
        let change = &plan.changes[*index];
        let node = nodes[number];
        let resource = change.address.config();
        let provider = gates.graph.add(Node::Provider(change.provider.clone()));
        depends.push((node, provider));
        let is_late = change.action == Action::CreateThenDelete;
        for dependency in dependencies_of(&plan.prior_state, change) {
            if *dependency != resource {
                let gate = gates.of(dependency, is_late);
                depends.push((gate, node));
            }
        }
        if let (true, Some(made)) = (plan.mode == Mode::Normal, gates.graph.id(&Node::Resource(resource))) {
            match change.action {
                Action::DeleteThenCreate => depends.push((made, node)),
                Action::CreateThenDelete => depends.push((node, made)),
                _ => {}
            }
        }
    }
    for (number, index) in destructions.iter().enumerate() {
        let resource = plan.changes[*index].address.config();
        for gate in gates.both(&resource) {
            depends.push((nodes[number], gate));
        }
    }
    let Gates { early, .. } = gates;
    if plan.mode == Mode::Normal {
        depends.extend(changes_after_destructions(&graph, &early, &created_first));
        if !created_first.is_empty() {
            depends.extend(destructions_after_dependents(&graph, plan, &destructions, &nodes));
        }
    }
    for (node, dependency) in depends {
        graph.graph.depend(node, dependency);
    }
    ApplyGraph { graph, destructions }
}

fn dependencies_of<'a>(
    state: &'a State,
    change: &ResourceChange,
) -> impl Iterator<Item = &'a ResourceAddress> + use<'a> {
    let object = state.instance(&change.address).and_then(|instance| match &change.deposed {
        Some(key) => instance.deposed.get(key),
        None => instance.current.as_ref(),
    });
    object.into_iter().flat_map(|object| object.dependencies.iter())
}

struct Gates<'a> {
    graph: &'a mut NodeGraph,
    early: HashMap<ResourceAddress, NodeId>,
    late: HashMap<ResourceAddress, NodeId>,
}

impl Gates<'_> {
    fn of(&mut self, resource: &ResourceAddress, is_late: bool) -> NodeId {
        let gates = if is_late { &mut self.late } else { &mut self.early };
        if let Some(gate) = gates.get(resource) {
            return *gate;
        }
        let gate = self.graph.add(Node::Gate { resource: resource.clone(), is_late });
        gates.insert(resource.clone(), gate);
        gate
    }

    fn both(&self, resource: &ResourceAddress) -> impl Iterator<Item = NodeId> + use<> {
        [self.early.get(resource).copied(), self.late.get(resource).copied()].into_iter().flatten()
    }
}

/// A resource changes when what was made from it and goes is gone; but not where a
/// provider that does the destroying needs the resource.
fn changes_after_destructions(
    graph: &NodeGraph,
    early: &HashMap<ResourceAddress, NodeId>,
    created_first: &HashSet<ResourceAddress>,
) -> Vec<(NodeId, NodeId)> {
    let providers = graph.iter().filter(|(_, node)| matches!(node, Node::Provider(_))).map(|(id, _)| id);
    let behind_providers = graph.graph.closure(providers);
    early
        .iter()
        .filter(|(resource, _)| !created_first.contains(*resource))
        .filter_map(|(resource, gate)| Some((graph.id(&Node::Resource(resource.clone()))?, *gate)))
        .filter(|(made, _)| behind_providers.get(made.index()).is_none_or(|behind| !behind))
        .collect()
}

/// A replaced object is destroyed when all that depend on it know the new one.
fn destructions_after_dependents(
    graph: &NodeGraph,
    plan: &Plan,
    destructions: &[usize],
    nodes: &[NodeId],
) -> Vec<(NodeId, NodeId)> {
    let mut dependents: HashMap<ResourceAddress, Vec<NodeId>> = HashMap::new();
    for (id, node) in graph.iter() {
        if matches!(node, Node::Resource(_)) {
            for dependency in graph.resources_behind(id).iter() {
                dependents.entry(dependency.clone()).or_default().push(id);
            }
        }
    }
    let mut depends = Vec::new();
    for (number, index) in destructions.iter().enumerate() {
        let change = &plan.changes[*index];
        if change.action == Action::CreateThenDelete {
            for dependent in dependents.get(&change.address.config()).into_iter().flatten() {
                depends.push((nodes[number], *dependent));
            }
        }
    }
    depends
}
