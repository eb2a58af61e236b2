//! What a run is limited to by `-target`.

use wardian_plugin::{AbsoluteResourceAddress, ResourceAddress, ResourceInstanceAddress};

use crate::graph::NodeId;
use crate::nodes::{Node, NodeGraph};
use crate::plan::Target;

/// The nodes and instances that a run looks at.
#[derive(Debug)]
pub struct Included {
    /// By node; `None` for everything.
    nodes: Option<Vec<bool>>,
    targets: Vec<Target>,
    /// Resources that are included because something targeted needs them: all
    /// their instances are.
    needed: Vec<ResourceAddress>,
}

/// What is included: the targets and all that they need; everything where there
/// are no targets. Outputs are, where all that they refer to is.
pub fn included<'a>(
    graph: &NodeGraph,
    targets: &[Target],
    object: impl Fn(usize) -> &'a AbsoluteResourceAddress,
) -> Included {
    if targets.is_empty() {
        return Included { nodes: None, targets: Vec::new(), needed: Vec::new() };
    }
    let roots: Vec<NodeId> = graph
        .iter()
        .filter(|(_, node)| match node {
            Node::Resource(address) => targets.iter().any(|target| may_include(target, address)),
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
    for (id, node) in graph.iter() {
        if matches!(node, Node::Output(path, _) if path.is_root()) {
            nodes[id.index()] = graph.graph.dependencies(id).iter().all(|d| nodes[d.index()]);
        }
    }
    Included { nodes: Some(nodes), targets: targets.to_vec(), needed }
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
    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.nodes.is_none()
    }

    /// Whether a node is looked at.
    pub fn node(&self, id: NodeId) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes[id.index()])
    }

    /// Whether an instance of a resource that is looked at is.
    pub fn instance(&self, address: &ResourceInstanceAddress) -> bool {
        self.nodes.is_none()
            || self.targets.iter().any(|target| target.includes(address))
            || self.needed.contains(&address.config())
    }
}
