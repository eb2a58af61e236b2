//! What a run is limited to by `-target` and `-exclude`.

use std::collections::{HashMap, HashSet};

use wardian_address::{AbsoluteResourceAddress, ResourceAddress, ResourceInstanceAddress};
use wardian_state::State;

use crate::behind::Behind;
use crate::graph::NodeId;
use crate::nodes::{Node, NodeGraph};
use crate::plan::{Action, Mode, Plan, PlanOptions, Target};

/// The nodes and instances that a run looks at.
#[derive(Debug)]
pub struct Included {
    /// By node; `None` for everything.
    nodes: Option<Vec<bool>>,
    targets: Vec<Target>,
    excludes: Vec<Target>,
    /// Resources that are included because something targeted needs them: all
    /// their instances are.
    needed: Vec<ResourceAddress>,
}

/// What is included: the targets and all that they need; everything where there
/// are no targets. Outputs are, where all resources behind them are; those that are
/// about no resource are not.
pub fn included<'a>(
    graph: &NodeGraph,
    targets: &[Target],
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
            Node::Object(index) => targets.iter().any(|target| may_include(target, &object(*index).config())),
            _ => false,
        })
        .map(|(id, _)| id)
        .collect();
    let mut nodes = graph.graph.closure(roots.iter().copied());
    let direct_only = graph.graph.closure(roots.iter().flat_map(|id| graph.graph.dependencies(*id)).copied());
    let needed = graph
        .iter()
        .filter_map(|(id, node)| match node {
            Node::Resource(address) if direct_only[id.index()] => Some(address.clone()),
            _ => None,
        })
        .collect();
    let (resources, left_out): (Vec<NodeId>, Vec<NodeId>) = graph
        .iter()
        .filter(|(_, node)| matches!(node, Node::Resource(_)))
        .map(|(id, _)| id)
        .partition(|id| nodes[id.index()]);
    let about_included = graph.graph.dependents_closure(&resources);
    let about_left_out = graph.graph.dependents_closure(&left_out);
    for (id, node) in graph.iter() {
        if matches!(node, Node::Output(path, _) if path.is_root()) {
            nodes[id.index()] = about_included[id.index()] && !about_left_out[id.index()];
        }
    }
    Included { nodes: Some(nodes), targets: targets.to_vec(), excludes: Vec::new(), needed }
}

/// What is included in a destruction: the targets and all that was made from them,
/// with what is needed to destroy those.
pub fn included_in_destruction<'a>(
    graph: &NodeGraph,
    targets: &[Target],
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
        Node::Object(index) => affected.contains(&object(*index).config()),
        _ => false,
    });
    let mut nodes = graph.graph.closure(roots.map(|(id, _)| id));
    let mut behind = Behind::new(graph);
    for (id, node) in graph.iter() {
        // An output goes with any of the objects that it is about.
        if matches!(node, Node::Output(path, _) if path.is_root()) {
            nodes[id.index()] = behind.any(id, |resource| affected.contains(resource));
        }
    }
    let needed = affected.into_iter().filter(|address| !targeted.contains(address)).collect();
    Included { nodes: Some(nodes), targets: targets.to_vec(), excludes: Vec::new(), needed }
}

/// What is included where something is left out: everything else, but not what
/// depends on it. What leaves the configuration, or is destroyed, stays where
/// something that is left out was made from it.
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
        Node::Object(index) => names(&object(*index).config()),
        _ => false,
    });
    let excluded: Vec<NodeId> = excluded.map(|(id, _)| id).collect();
    let is_destruction = options.mode == Mode::Destroy;
    // A module whose instances depend on what is left out is not expanded. In a
    // destruction nothing waits for what its configuration refers to.
    let mut nodes: Vec<bool> = graph.iter().map(|_| true).collect();
    if !is_destruction {
        for (id, is_dependent) in graph.graph.nodes().zip(graph.graph.dependents_closure(&excluded)) {
            nodes[id.index()] = !is_dependent;
        }
    }
    // A resource of which only some instances are left out is looked at.
    let is_whole = |address: &ResourceAddress| {
        excludes.iter().any(|target| may_include(target, address) && is_unkeyed(target))
    };
    for id in &excluded {
        nodes[id.index()] = match graph.node(*id) {
            Node::Resource(address) => !is_whole(address),
            _ => true,
        };
    }
    let kept = needed_by_excluded(excludes, state);
    let mut behind = Behind::new(graph);
    for (id, node) in graph.iter() {
        match node {
            Node::Object(index) => nodes[id.index()] = !kept.contains(&object(*index).config()),
            Node::Resource(address) if is_destruction && kept.contains(address) => nodes[id.index()] = false,
            Node::Output(path, _) if path.is_root() && is_destruction => {
                // An output goes with any of the objects that it is about.
                nodes[id.index()] = behind.any(id, |resource| !names(resource) && !kept.contains(resource));
            }
            _ => {}
        }
    }
    Included { nodes: Some(nodes), targets: Vec::new(), excludes: excludes.clone(), needed: Vec::new() }
}

/// The resources that objects which are left out were made from.
fn needed_by_excluded(excludes: &[Target], state: &State) -> HashSet<ResourceAddress> {
    let mut needed = HashSet::new();
    for (address, _, instance) in state.instances() {
        if excludes.iter().any(|target| target.includes(&address)) {
            for object in instance.current.iter().chain(instance.deposed.values()) {
                // Dependencies are stored with all that is behind them.
                needed
                    .extend(object.dependencies.iter().map(|dependency| ResourceAddress::clone(dependency)));
            }
        }
    }
    needed
}

/// Whether a target means all instances of what it names.
fn is_unkeyed(target: &Target) -> bool {
    match target {
        Target::Module(module) => module.steps().iter().all(|step| step.key.is_none()),
        Target::Resource(_) => true,
        Target::Instance(_) => false,
    }
}

/// Whether a target names the resource, an instance of it, or something around it.
fn may_include(target: &Target, address: &ResourceAddress) -> bool {
    match target {
        Target::Module(module) => address.module.names().starts_with(module.path().names()),
        Target::Resource(resource) => resource == address,
        Target::Instance(instance) => instance.config() == *address,
    }
}

impl Included {
    fn everything() -> Self {
        Self { nodes: None, targets: Vec::new(), excludes: Vec::new(), needed: Vec::new() }
    }

    /// What a plan was limited to, in the graph of its configuration. Nodes that an
    /// apply adds are for changes of the plan, and always looked at.
    pub fn of_plan(graph: &NodeGraph, plan: &Plan) -> Self {
        if plan.mode != Mode::Normal || !plan.is_partial() {
            return Self::everything();
        }
        let changed: HashSet<ResourceAddress> =
            plan.changes.iter().map(|change| change.address.config()).collect();
        let roots = graph.iter().filter(|(_, node)| match node {
            Node::Resource(address) => {
                changed.contains(address) || plan.targets.iter().any(|t| may_include(t, address))
            }
            Node::Output(path, name) => {
                path.is_root() && plan.outputs.get(name).is_some_and(|o| o.action != Action::NoOp)
            }
            _ => false,
        });
        let nodes = graph.graph.closure(roots.map(|(id, _)| id));
        Self {
            nodes: Some(nodes),
            targets: plan.targets.clone(),
            excludes: plan.excludes.clone(),
            needed: Vec::new(),
        }
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.nodes.is_none()
    }

    /// Whether a node is looked at.
    pub fn node(&self, id: NodeId) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.get(id.index()) != Some(&false))
    }

    /// Whether an instance of a resource that is looked at is.
    pub fn instance(&self, address: &ResourceInstanceAddress) -> bool {
        if !self.excludes.is_empty() {
            return !self.excludes.iter().any(|target| target.includes(address));
        }
        self.nodes.is_none()
            || self.targets.iter().any(|target| target.includes(address))
            || self.needed.contains(&address.config())
    }
}
