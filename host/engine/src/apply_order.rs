//! Orders the changes of an apply.
//!
//! Objects are created and changed in dependency order, according to the references in the
//! configuration, as in a plan. Objects are destroyed in the reverse order of the dependencies that
//! the state contains for them. Creations and destructions are ordered as follows:
//!
//! - an object that is replaced destroy-before-create is destroyed before its replacement is
//!   created;
//! - an object that is replaced create-before-destroy is destroyed after its replacement is
//!   created, when all its dependents refer to the new object;
//! - an object is changed only after all of its dependents that the plan destroys have been destroyed.
//!
//! If any instance of a resource is replaced, each instance has a separate chain of nodes.
//! Therefore, an instance that cannot be destroyed does not prevent others from being recreated.
//!
//! Actions are invoked before or after the change that triggers them. Other objects do not wait for
//! the actions after a change.
//!
//! "All dependents of R are destroyed" is a separate node (a barrier). With it, n objects with m
//! dependencies cost n + m edges, not n · m.

mod action_invocations;

use std::collections::{HashMap, HashSet};

use petgraph::visit::{Dfs, Reversed};
use wardian_address::{ResourceAddress, ResourceMode};
use wardian_config::Configuration;
use wardian_state::State;

use crate::graph::NodeId;
use crate::nodes::{self, DestroyPhase, Node, NodeGraph};
use crate::plan::{Action, ChangeInvocations, Mode, Plan, ResourceChange};

pub struct ApplyGraph {
    /// The configuration's graph, with a node for each destruction, and the barriers.
    pub graph: NodeGraph,
    /// The index of the change that destroys an object, by the number of its [`Node::StateObject`].
    pub destructions: Vec<usize>,
}

/// Builds the graph of an apply from the configuration's graph.
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
    if destructions.is_empty() && plan.invocations.is_empty() {
        return ApplyGraph { graph, destructions };
    }
    let invocations = plan.invocations_by_change();
    let nodes: Vec<NodeId> = (0..destructions.len()).map(|i| graph.add(Node::StateObject(i))).collect();
    let mut depends: Vec<(NodeId, NodeId)> = Vec::new();
    for (node, index) in nodes.iter().zip(&destructions) {
        let provider = nodes::add_provider(&mut graph, configuration, &plan.changes[*index].provider);
        depends.push((*node, provider));
    }
    let steps = if plan.mode == Mode::Normal {
        separate_steps(&mut graph, plan, &invocations)
    } else {
        HashMap::new()
    };
    let phases: Vec<DestroyPhase> = destructions.iter().map(|index| destroy_phase(plan, *index)).collect();
    let created_first: HashSet<ResourceAddress> = plan
        .changes
        .iter()
        .filter(|change| change.action == Action::CreateThenDelete)
        .map(|change| change.address.config())
        .collect();
    let moved = MovedResources::from_plan(plan);
    let mut barriers = DestroyBarriers { graph: &mut graph, before: HashMap::new(), after: HashMap::new() };
    for ((node, index), phase) in nodes.iter().zip(&destructions).zip(&phases) {
        let change = &plan.changes[*index];
        let resource = change.address.config();
        let made_from = dependencies_of(&plan.prior_state, change);
        for dependency in made_from.flat_map(|old| std::iter::once(old).chain(moved.present(old))) {
            if *dependency != resource {
                let barrier = barriers.add(dependency, *phase);
                depends.push((barrier, *node));
            }
        }
        match (steps.get(index), change.action) {
            (Some(made), Action::DeleteThenCreate) => depends.push((*made, *node)),
            (Some(made), Action::CreateThenDelete) => depends.push((*node, *made)),
            _ => {}
        }
    }
    let destroyed: HashMap<usize, NodeId> = destructions.iter().copied().zip(nodes.iter().copied()).collect();
    action_invocations::add(barriers.graph, plan, &invocations, &steps, &destroyed, &mut depends);
    for (node, index) in nodes.iter().zip(&destructions) {
        for barrier in barriers.both(&plan.changes[*index].address.config()) {
            depends.push((*node, barrier));
        }
    }
    let DestroyBarriers { before, .. } = barriers;
    if plan.mode == Mode::Normal {
        depends.extend(changes_after_destructions(&graph, &before, &created_first));
        if phases.contains(&DestroyPhase::AfterChanges) {
            let late = nodes.iter().zip(&destructions).zip(&phases);
            let late = late.filter(|(_, phase)| **phase == DestroyPhase::AfterChanges);
            depends.extend(destructions_after_dependents(
                &mut graph,
                configured,
                plan,
                late.map(|(pair, _)| pair),
            ));
        }
    }
    for (node, dependency) in depends {
        graph.depend(node, dependency);
    }
    ApplyGraph { graph, destructions }
}

/// Makes the data sources of checks wait for all managed objects: a check applies to the objects as
/// they are after the apply, even if it does not refer to them.
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
    let settled = graph.add(Node::CheckBarrier);
    for resource in managed {
        graph.depend(settled, resource);
    }
    for data in nested {
        graph.depend(data, settled);
    }
}

/// Returns the phase in which the object of a change is destroyed: `AfterChanges` if its dependents
/// must be changed first.
fn destroy_phase(plan: &Plan, index: usize) -> DestroyPhase {
    let change = &plan.changes[index];
    let is_late = plan.mode == Mode::Normal
        && (change.action == Action::CreateThenDelete
            || change.deposed.is_some()
            || plan.prior_state.current(&change.address).is_some_and(|object| object.create_before_destroy));
    if is_late { DestroyPhase::AfterChanges } else { DestroyPhase::BeforeChanges }
}

/// Splits each resource that has a replaced instance, or that triggers actions, into one node per
/// change. A change then waits only for the destruction of its own instance, and actions wait only
/// for their own change. Returns the nodes by the index of their change.
fn separate_steps(
    graph: &mut NodeGraph,
    plan: &Plan,
    invocations: &HashMap<usize, ChangeInvocations>,
) -> HashMap<usize, NodeId> {
    let replaced: HashSet<ResourceAddress> = plan
        .changes
        .iter()
        .enumerate()
        .filter(|(index, change)| change.action.is_replace() || invocations.contains_key(index))
        .map(|(_, change)| change.address.config())
        .collect();
    let mut expansions: HashMap<ResourceAddress, (NodeId, NodeId)> = HashMap::new();
    for resource in replaced {
        let Some(made) = graph.id(&Node::Resource(resource.clone())) else { continue };
        let needed = graph.dependencies(made).collect::<Vec<_>>();
        let expansion = graph.add(Node::Expand(resource.clone()));
        for dependency in needed {
            graph.depend(expansion, dependency);
        }
        graph.depend(made, expansion);
        expansions.insert(resource, (expansion, made));
    }
    let mut steps = HashMap::new();
    for (index, change) in plan.changes.iter().enumerate() {
        let is_step =
            change.action == Action::Create || change.action == Action::Update || change.action.is_replace();
        if let (true, Some((expansion, made))) = (is_step, expansions.get(&change.address.config())) {
            let step = graph.add(Node::PlannedChange(index));
            graph.depend(step, *expansion);
            graph.depend(*made, step);
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

/// The new addresses of moved resources, by old address. They are required because stored
/// dependencies contain the addresses that the resources had at that time.
struct MovedResources(HashMap<ResourceAddress, HashSet<ResourceAddress>>);

impl MovedResources {
    fn from_plan(plan: &Plan) -> Self {
        let mut moved: HashMap<ResourceAddress, HashSet<ResourceAddress>> = HashMap::new();
        for change in &plan.changes {
            if let Some(old) = &change.previous_address {
                moved.entry(old.config()).or_default().insert(change.address.config());
            }
        }
        Self(moved)
    }

    /// Returns the new addresses of the resources that the plan moves from an address.
    fn present(&self, old: &ResourceAddress) -> impl Iterator<Item = &ResourceAddress> {
        self.0.get(old).into_iter().flatten()
    }
}

struct DestroyBarriers<'a> {
    graph: &'a mut NodeGraph,
    before: HashMap<ResourceAddress, NodeId>,
    after: HashMap<ResourceAddress, NodeId>,
}

impl DestroyBarriers<'_> {
    /// Returns the barrier of a resource and a phase, and adds it if it is missing.
    fn add(&mut self, resource: &ResourceAddress, phase: DestroyPhase) -> NodeId {
        let barriers = match phase {
            DestroyPhase::BeforeChanges => &mut self.before,
            DestroyPhase::AfterChanges => &mut self.after,
        };
        if let Some(barrier) = barriers.get(resource) {
            return *barrier;
        }
        let barrier = self.graph.add(Node::DestroyBarrier { resource: resource.clone(), phase });
        barriers.insert(resource.clone(), barrier);
        barrier
    }

    fn both(&self, resource: &ResourceAddress) -> impl Iterator<Item = NodeId> + use<> {
        [self.before.get(resource).copied(), self.after.get(resource).copied()].into_iter().flatten()
    }
}

/// Makes each resource change after its dependents are destroyed, unless a provider that destroys
/// them depends on the resource.
fn changes_after_destructions(
    graph: &NodeGraph,
    barriers: &HashMap<ResourceAddress, NodeId>,
    created_first: &HashSet<ResourceAddress>,
) -> Vec<(NodeId, NodeId)> {
    let providers = graph.iter().filter(|(_, node)| matches!(node, Node::Provider(_))).map(|(id, _)| id);
    let behind_providers = graph.closure(providers);
    barriers
        .iter()
        .filter(|(resource, _)| !created_first.contains(*resource))
        .filter_map(|(resource, barrier)| {
            let made = graph.id(&Node::Resource(resource.clone()))?;
            let first = graph.id(&Node::Expand(resource.clone())).unwrap_or(made);
            (!behind_providers.contains(made.index())).then_some((first, *barrier))
        })
        .collect()
}

/// Makes the destruction of an object wait for all resources that depend on it, directly or
/// indirectly. "The dependents of this node are done" is a separate node, which waits for the
/// corresponding node of each dependent, so the number of added nodes and edges is at most the size
/// of the graph.
fn destructions_after_dependents<'a>(
    graph: &mut NodeGraph,
    configured: &NodeGraph,
    plan: &Plan,
    late: impl Iterator<Item = (&'a NodeId, &'a usize)>,
) -> Vec<(NodeId, NodeId)> {
    let mut depends = Vec::new();
    let mut added: HashMap<NodeId, NodeId> = HashMap::new();
    let mut dependents_done = |graph: &mut NodeGraph, node: NodeId| {
        let add = || graph.add(Node::DependentsDone(Box::new(configured.node(node).clone())));
        *added.entry(node).or_insert_with(add)
    };
    let dependents = Reversed(configured.graph());
    let mut search = Dfs::empty(dependents);
    for (destruction, index) in late {
        let resource = plan.changes[*index].address.config();
        let Some(made) = configured.id(&Node::Resource(resource)) else { continue };
        depends.push((*destruction, dependents_done(graph, made)));
        search.move_to(made);
        while let Some(node) = search.next(dependents) {
            let done = dependents_done(graph, node);
            for dependent in configured.dependents(node) {
                // Other nodes only forward the values of resources.
                if matches!(configured.node(dependent), Node::Resource(_)) {
                    depends.push((done, dependent));
                }
                depends.push((done, dependents_done(graph, dependent)));
            }
        }
    }
    depends
}
