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
//! Where any instance of a resource is replaced, each instance has a chain of its
//! own, so that one that cannot be destroyed keeps no other from being made anew.
//!
//! "All destroyed that were made from R" is a node of its own (a gate), so that n
//! objects made from m others cost n + m edges, not n · m.

use std::collections::{HashMap, HashSet};

use wardian_address::{ResourceAddress, ResourceMode};
use wardian_config::Configuration;
use wardian_state::State;

use crate::graph::NodeId;
use crate::nodes::{self, Node, NodeGraph};
use crate::plan::{Action, Mode, Plan, ResourceChange};

/// A graph for an apply.
pub struct ApplyGraph {
    /// The configuration's graph with a node for each destruction and the gates.
    pub graph: NodeGraph,
    /// The change of each destruction, by the number of its node.
    pub destructions: Vec<usize>,
}

/// Builds the graph of an apply from the configuration's.
pub fn build(configuration: &Configuration, configured: &NodeGraph, plan: &Plan) -> ApplyGraph {
    let mut graph = configured.clone();
    settle_before_checks(&mut graph, configuration);
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
    let mut depends: Vec<(NodeId, NodeId)> = Vec::new();
    for (node, index) in nodes.iter().zip(&destructions) {
        let provider = nodes::add_provider(&mut graph, configuration, &plan.changes[*index].provider);
        depends.push((*node, provider));
    }
    let steps = if plan.mode == Mode::Normal { separate_steps(&mut graph, plan) } else { HashMap::new() };
    let late: Vec<bool> = destructions.iter().map(|index| is_late(plan, *index)).collect();
    let created_first: HashSet<ResourceAddress> = plan
        .changes
        .iter()
        .filter(|change| change.action == Action::CreateThenDelete)
        .map(|change| change.address.config())
        .collect();
    let moved = MovedResources::of(plan);
    let mut gates = Gates { graph: &mut graph, early: HashMap::new(), late: HashMap::new() };
    for ((node, index), is_late) in nodes.iter().zip(&destructions).zip(&late) {
        let change = &plan.changes[*index];
        let resource = change.address.config();
        let made_from = dependencies_of(&plan.prior_state, change);
        for dependency in made_from.flat_map(|old| std::iter::once(old).chain(moved.present(old))) {
            if *dependency != resource {
                let gate = gates.of(dependency, *is_late);
                depends.push((gate, *node));
            }
        }
        match (steps.get(index), change.action) {
            (Some(made), Action::DeleteThenCreate) => depends.push((*made, *node)),
            (Some(made), Action::CreateThenDelete) => depends.push((*node, *made)),
            _ => {}
        }
    }
    for (node, index) in nodes.iter().zip(&destructions) {
        for gate in gates.both(&plan.changes[*index].address.config()) {
            depends.push((*node, gate));
        }
    }
    let Gates { early, .. } = gates;
    if plan.mode == Mode::Normal {
        depends.extend(changes_after_destructions(&graph, &early, &created_first));
        if late.contains(&true) {
            let late = nodes.iter().zip(&destructions).zip(&late).filter(|(_, is_late)| **is_late);
            depends.extend(destructions_after_dependents(
                &mut graph,
                configured,
                plan,
                late.map(|(pair, _)| pair),
            ));
        }
    }
    for (node, dependency) in depends {
        graph.graph.depend(node, dependency);
    }
    ApplyGraph { graph, destructions }
}

/// What is read for checks alone is read when all managed objects are as they will
/// be: a check is about those, whether it refers to them or not.
fn settle_before_checks(graph: &mut NodeGraph, configuration: &Configuration) {
    let nested: Vec<NodeId> = configuration
        .modules()
        .flat_map(|node| {
            let data = node.module.checks.values().filter_map(|check| check.data.as_ref());
            data.map(|data| Node::Resource(nodes::address_of(&node.path, data)))
        })
        .filter_map(|node| graph.id(&node))
        .collect();
    if nested.is_empty() {
        return;
    }
    let is_managed =
        |node: &Node| matches!(node, Node::Resource(address) if address.mode == ResourceMode::Managed);
    let managed: Vec<NodeId> = graph.iter().filter(|(_, node)| is_managed(node)).map(|(id, _)| id).collect();
    let settled = graph.add(Node::Settled);
    for resource in managed {
        graph.graph.depend(settled, resource);
    }
    for data in nested {
        graph.graph.depend(data, settled);
    }
}

/// Whether an object goes only when all that depend on it know that it does.
fn is_late(plan: &Plan, index: usize) -> bool {
    let change = &plan.changes[index];
    plan.mode == Mode::Normal
        && (change.action == Action::CreateThenDelete
            || change.deposed.is_some()
            || plan.prior_state.current(&change.address).is_some_and(|object| object.create_before_destroy))
}

/// Where an instance of a resource is replaced, each of its changes becomes a step
/// of its own: what happens to one instance waits for that one's destruction, not
/// for the others'. Returns the steps by change.
fn separate_steps(graph: &mut NodeGraph, plan: &Plan) -> HashMap<usize, NodeId> {
    let replaced: HashSet<ResourceAddress> = plan
        .changes
        .iter()
        .filter(|change| change.action.is_replace())
        .map(|change| change.address.config())
        .collect();
    let mut expansions: HashMap<ResourceAddress, (NodeId, NodeId)> = HashMap::new();
    for resource in replaced {
        let Some(made) = graph.id(&Node::Resource(resource.clone())) else { continue };
        let needed = graph.graph.dependencies(made).to_vec();
        let expansion = graph.add(Node::Expand(resource.clone()));
        for dependency in needed {
            graph.graph.depend(expansion, dependency);
        }
        graph.graph.depend(made, expansion);
        expansions.insert(resource, (expansion, made));
    }
    let mut steps = HashMap::new();
    for (index, change) in plan.changes.iter().enumerate() {
        let is_step =
            change.action == Action::Create || change.action == Action::Update || change.action.is_replace();
        if let (true, Some((expansion, made))) = (is_step, expansions.get(&change.address.config())) {
            let step = graph.add(Node::Change(index));
            graph.graph.depend(step, *expansion);
            graph.graph.depend(*made, step);
            steps.insert(index, step);
        }
    }
    steps
}

fn dependencies_of<'a>(
    state: &'a State,
    change: &ResourceChange,
) -> impl Iterator<Item = &'a ResourceAddress> + use<'a> {
    let object = state.instance(&change.address).and_then(|instance| match &change.deposed {
        Some(key) => instance.deposed.get(key),
        None => instance.current.as_ref(),
    });
    object.into_iter().flat_map(|object| object.dependencies.iter().map(|address| &**address))
}

/// What an object was made from is remembered by the address that it had then.
struct MovedResources(HashMap<ResourceAddress, HashSet<ResourceAddress>>);

impl MovedResources {
    fn of(plan: &Plan) -> Self {
        let mut moved: HashMap<ResourceAddress, HashSet<ResourceAddress>> = HashMap::new();
        for change in &plan.changes {
            if let Some(old) = &change.previous_address {
                moved.entry(old.config()).or_default().insert(change.address.config());
            }
        }
        Self(moved)
    }

    /// What has moved from there in this plan.
    fn present(&self, old: &ResourceAddress) -> impl Iterator<Item = &ResourceAddress> {
        self.0.get(old).into_iter().flatten()
    }
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
        .filter_map(|(resource, gate)| {
            let made = graph.id(&Node::Resource(resource.clone()))?;
            let first = graph.id(&Node::Expand(resource.clone())).unwrap_or(made);
            (behind_providers.get(made.index()) != Some(&true)).then_some((first, *gate))
        })
        .collect()
}

/// An object is destroyed when all that depend on it, directly or not, know that it
/// goes. "All that depend on this" is a node, too, which waits for the like nodes of
/// each dependent: what is added is as large as the graph at most.
fn destructions_after_dependents<'a>(
    graph: &mut NodeGraph,
    configured: &NodeGraph,
    plan: &Plan,
    late: impl Iterator<Item = (&'a NodeId, &'a usize)>,
) -> Vec<(NodeId, NodeId)> {
    let mut depends = Vec::new();
    let mut done: HashMap<NodeId, NodeId> = HashMap::new();
    let mut open: Vec<(NodeId, NodeId)> = Vec::new();
    let mut dependents_of = |graph: &mut NodeGraph, open: &mut Vec<(NodeId, NodeId)>, node: NodeId| {
        *done.entry(node).or_insert_with(|| {
            let dependents = graph.add(Node::DependentsDone(Box::new(configured.node(node).clone())));
            open.push((node, dependents));
            dependents
        })
    };
    for (node, index) in late {
        let resource = plan.changes[*index].address.config();
        if let Some(made) = configured.id(&Node::Resource(resource)) {
            depends.push((*node, dependents_of(graph, &mut open, made)));
        }
    }
    while let Some((node, dependents)) = open.pop() {
        for dependent in configured.graph.dependents(node) {
            // What is no resource only hands on what it is made from.
            if matches!(configured.node(*dependent), Node::Resource(_)) {
                depends.push((dependents, *dependent));
            }
            depends.push((dependents, dependents_of(graph, &mut open, *dependent)));
        }
    }
    depends
}
