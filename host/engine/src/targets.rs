//! The objects selected by `-target` and `-exclude`.

use std::collections::{HashMap, HashSet};

use wardian_address::{AbsoluteResourceAddress, ActionAddress, ResourceAddress, ResourceInstanceAddress};
use wardian_state::State;

use crate::graph::{NodeId, NodeSet};
use crate::nodes::{Node, NodeGraph};
use crate::plan::{Action, InvocationTrigger, InvokeAddress, Mode, Plan, PlanOptions, TargetAddress};
use crate::transitive_dependencies::TransitiveDependencies;

/// The nodes and instances that a run visits.
#[derive(Debug)]
pub struct Included {
    /// The included nodes; `None` for all.
    nodes: Option<NodeSet>,
    targets: Vec<TargetAddress>,
    excludes: Vec<TargetAddress>,
    /// Resources on which targets depend. All their instances are included.
    needed: Vec<ResourceAddress>,
}

/// Returns the targets and their dependencies, or everything if there are no targets. An output is
/// included if it depends on at least one resource, and all resources on which it depends are
/// included.
pub fn included<'a>(
    graph: &NodeGraph,
    targets: &[TargetAddress],
    object: impl Fn(usize) -> &'a AbsoluteResourceAddress,
) -> Included {
    if targets.is_empty() {
        return Included::everything();
    }
    let roots: Vec<NodeId> = graph
        .iter()
        .filter(|(_, node)| match node {
            Node::Resource(address) | Node::Import(address) => {
                targets.iter().any(|target| may_include(target, address))
            }
            Node::StateObject(index) => {
                targets.iter().any(|target| may_include(target, &object(*index).config()))
            }
            _ => false,
        })
        .map(|(id, _)| id)
        .collect();
    let mut nodes = closure_with_triggers(graph, roots.iter().copied());
    let direct_only = graph.closure(roots.iter().flat_map(|id| graph.dependencies(*id)));
    let needed = graph
        .iter()
        .filter_map(|(id, node)| match node {
            Node::Resource(address) if direct_only.contains(id.index()) => Some(address.clone()),
            _ => None,
        })
        .collect();
    let (resources, left_out): (Vec<NodeId>, Vec<NodeId>) = graph
        .iter()
        .filter(|(_, node)| matches!(node, Node::Resource(_)))
        .map(|(id, _)| id)
        .partition(|id| nodes.contains(id.index()));
    let about_included = graph.dependents_closure(&resources);
    let about_left_out = graph.dependents_closure(&left_out);
    let outputs = graph.iter().filter(|(id, node)| {
        matches!(node, Node::Output(path, _) if path.is_root())
            && about_included.contains(id.index())
            && !about_left_out.contains(id.index())
    });
    // Also include the local values and module outputs from which these outputs are computed.
    nodes.union_with(&graph.closure(outputs.map(|(id, _)| id)));
    Included { nodes: Some(nodes), targets: targets.to_vec(), excludes: Vec::new(), needed }
}

/// Returns the nodes for which `roots` wait, the roots themselves, and the invocations that the
/// changes of these resources trigger. Cost: O(nodes + edges).
fn closure_with_triggers(graph: &NodeGraph, roots: impl Iterator<Item = NodeId>) -> NodeSet {
    let mut nodes = NodeSet::with_capacity(graph.size());
    let mut open: Vec<NodeId> = roots.collect();
    while let Some(node) = open.pop() {
        if nodes.put(node.index()) {
            continue;
        }
        open.extend(graph.dependencies(node));
        if let Node::Resource(address) = graph.node(node) {
            open.extend(graph.id(&Node::ActionTriggers(address.clone())));
        }
    }
    nodes
}

/// Returns the nodes that are required to invoke actions.
pub fn included_for_actions(graph: &NodeGraph, invoke: &[InvokeAddress]) -> Included {
    let roots = invoke.iter().filter_map(|requested| graph.id(&Node::Action(requested.config())));
    let nodes = graph.closure(roots);
    let needed = resources_in(graph, &nodes);
    Included { nodes: Some(nodes), targets: Vec::new(), excludes: Vec::new(), needed }
}

fn resources_in(graph: &NodeGraph, nodes: &NodeSet) -> Vec<ResourceAddress> {
    let included = graph.iter().filter(|(id, _)| nodes.contains(id.index()));
    let addresses = included.filter_map(|(_, node)| match node {
        Node::Resource(address) => Some(address.clone()),
        _ => None,
    });
    addresses.collect()
}

/// Returns the nodes of a destroy plan: the targets, their dependents, and the nodes that are
/// required to destroy them. All outputs are included.
pub fn included_in_destruction<'a>(
    graph: &NodeGraph,
    targets: &[TargetAddress],
    state: &State,
    object: impl Fn(usize) -> &'a AbsoluteResourceAddress,
) -> Included {
    if targets.is_empty() {
        return Included::everything();
    }
    let mut made_from: HashMap<&ResourceAddress, HashSet<ResourceAddress>> = HashMap::new();
    let mut open: Vec<ResourceAddress> = Vec::new();
    for (address, _, instance) in state.instances() {
        for object in instance.current.iter().chain(instance.deposed.values()) {
            for dependency in object.dependencies.iter() {
                made_from.entry(dependency).or_default().insert(address.config());
            }
        }
        if targets.iter().any(|target| target.includes(&address)) {
            open.push(address.config());
        }
    }
    let targeted: HashSet<ResourceAddress> = open.iter().cloned().collect();
    let mut affected = targeted.clone();
    while let Some(resource) = open.pop() {
        for dependent in made_from.get(&resource).into_iter().flatten() {
            if affected.insert(dependent.clone()) {
                open.push(dependent.clone());
            }
        }
    }
    let roots = graph.iter().filter(|(_, node)| match node {
        Node::Resource(address) => affected.contains(address),
        Node::StateObject(index) => affected.contains(&object(*index).config()),
        _ => false,
    });
    let nodes = graph.closure(roots.map(|(id, _)| id));
    let needed = affected.into_iter().filter(|address| !targeted.contains(address)).collect();
    Included { nodes: Some(nodes), targets: targets.to_vec(), excludes: Vec::new(), needed }
}

/// Returns everything except the excluded addresses and their dependents. An object that is not in
/// the configuration, or would be destroyed, is preserved if an excluded object depends on it.
pub fn not_excluded<'a>(
    graph: &NodeGraph,
    options: &PlanOptions,
    state: &State,
    object: impl Fn(usize) -> &'a AbsoluteResourceAddress,
) -> Included {
    let excludes = &options.excludes;
    let names = |address: &ResourceAddress| excludes.iter().any(|target| may_include(target, address));
    let excluded = graph.iter().filter(|(_, node)| match node {
        Node::Resource(address) => names(address),
        Node::StateObject(index) => names(&object(*index).config()),
        _ => false,
    });
    let excluded: Vec<NodeId> = excluded.map(|(id, _)| id).collect();
    let is_destruction = options.mode == Mode::Destroy;
    // A module is not expanded if its instances depend on excluded objects. In a destroy plan, no
    // node waits for references in the configuration.
    let mut nodes = NodeSet::with_capacity(graph.size());
    nodes.insert_range(..);
    if !is_destruction {
        nodes.difference_with(&graph.dependents_closure(&excluded));
    }
    // If only some instances of a resource are excluded, the resource is visited.
    let is_whole = |address: &ResourceAddress| {
        excludes.iter().any(|target| may_include(target, address) && is_unkeyed(target))
    };
    for id in &excluded {
        let is_included = match graph.node(*id) {
            Node::Resource(address) => !is_whole(address),
            _ => true,
        };
        nodes.set(id.index(), is_included);
    }
    let kept = needed_by_excluded(excludes, state);
    let mut dependencies = TransitiveDependencies::new(graph);
    for (id, node) in graph.iter() {
        match node {
            Node::StateObject(index) => nodes.set(id.index(), !kept.contains(&object(*index).config())),
            Node::Resource(address) if is_destruction && kept.contains(address) => {
                nodes.set(id.index(), false);
            }
            Node::Output(path, _) if path.is_root() && is_destruction => {
                // An output is removed together with any object on which it depends.
                let matches = |resource: &ResourceAddress| !names(resource) && !kept.contains(resource);
                nodes.set(id.index(), dependencies.any(id, matches));
            }
            _ => {}
        }
    }
    Included { nodes: Some(nodes), targets: Vec::new(), excludes: excludes.clone(), needed: Vec::new() }
}

/// Returns the resources on which excluded objects depend.
fn needed_by_excluded(excludes: &[TargetAddress], state: &State) -> HashSet<ResourceAddress> {
    let mut needed = HashSet::new();
    for (address, _, instance) in state.instances() {
        if excludes.iter().any(|target| target.includes(&address)) {
            for object in instance.current.iter().chain(instance.deposed.values()) {
                // Stored dependencies are transitive, so they do not have to be followed further.
                needed
                    .extend(object.dependencies.iter().map(|dependency| ResourceAddress::clone(dependency)));
            }
        }
    }
    needed
}

/// Whether a target selects all instances, because its address contains no keys.
fn is_unkeyed(target: &TargetAddress) -> bool {
    match target {
        TargetAddress::Module(module) => module.steps().iter().all(|step| step.key.is_none()),
        TargetAddress::Resource(_) => true,
        TargetAddress::Instance(_) => false,
    }
}

/// Whether a target is the resource, one of its instances, or an enclosing module.
fn may_include(target: &TargetAddress, address: &ResourceAddress) -> bool {
    match target {
        TargetAddress::Module(module) => address.module.names().starts_with(module.path().names()),
        TargetAddress::Resource(resource) => resource == address,
        TargetAddress::Instance(instance) => instance.config() == *address,
    }
}

impl Included {
    fn everything() -> Self {
        Self { nodes: None, targets: Vec::new(), excludes: Vec::new(), needed: Vec::new() }
    }

    /// Returns the nodes to which a plan was limited, in the graph of its configuration. Nodes that
    /// an apply adds to the graph belong to changes in the plan, so they are always included.
    pub fn from_plan(graph: &NodeGraph, plan: &Plan) -> Self {
        if plan.mode != Mode::Normal || !plan.is_partial() && !plan.is_requested_invocation() {
            return Self::everything();
        }
        let invoked: HashSet<ActionAddress> = plan
            .invocations
            .iter()
            .filter(|invocation| invocation.trigger == InvocationTrigger::Command)
            .map(|invocation| invocation.address.config())
            .collect();
        let changed: HashSet<ResourceAddress> =
            plan.changes.iter().map(|change| change.address.config()).collect();
        let roots = graph.iter().filter(|(_, node)| match node {
            Node::Resource(address) => {
                changed.contains(address) || plan.targets.iter().any(|t| may_include(t, address))
            }
            Node::Output(path, name) => {
                path.is_root() && plan.outputs.get(name).is_some_and(|o| o.action != Action::NoOp)
            }
            Node::Action(address) => invoked.contains(address),
            _ => false,
        });
        let nodes = closure_with_triggers(graph, roots.map(|(id, _)| id));
        Self {
            nodes: Some(nodes),
            targets: plan.targets.clone(),
            excludes: plan.excludes.clone(),
            needed: Vec::new(),
        }
    }

    pub fn is_everything(&self) -> bool {
        self.nodes.is_none()
    }

    pub fn node(&self, id: NodeId) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| id.index() >= nodes.len() || nodes.contains(id.index()))
    }

    /// Whether an instance of an included resource is included.
    pub fn instance(&self, address: &ResourceInstanceAddress) -> bool {
        if !self.excludes.is_empty() {
            return !self.excludes.iter().any(|target| target.includes(address));
        }
        self.nodes.is_none()
            || self.targets.iter().any(|target| target.includes(address))
            || self.needed.contains(&address.config())
    }
}
