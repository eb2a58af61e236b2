//! Open ephemeral resources: each is open from its first use until its last use ends.
//!
//! The value of an ephemeral resource can pass through local values, variables, outputs and
//! provider configurations into objects, but no further, because stored values cannot depend on it.
//! The node that closes the resource waits for all nodes that use the value. Resources that are
//! still open at the end of a walk, after an error or a stop, are closed at that time.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use petgraph::visit::{Dfs, EdgeFiltered, EdgeRef as _, Reversed, Walker as _};
use wardian_address::{ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_diagnostic::Diagnostics;

use crate::graph::NodeId;
use crate::nodes::{Node, NodeGraph};
use crate::operation::ephemeral::Lease;
use crate::scheduler::WalkEnd;

/// Time limit for closing resources after an immediate stop.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The open ephemeral resources.
#[derive(Default)]
pub struct Ephemerals(BTreeMap<ResourceAddress, Vec<Lease>>);

impl Ephemerals {
    /// Adds an instance that has been opened.
    pub fn opened(&mut self, lease: Lease) {
        self.0.entry(lease.subject().address.config()).or_default().push(lease);
    }

    /// Removes and returns the instances of a resource. The caller closes them.
    pub fn take(&mut self, address: &ResourceAddress) -> Vec<Lease> {
        self.0.remove(address).unwrap_or_default()
    }

    /// Closes all instances that are open at the end of a walk.
    pub async fn close_all(&mut self, walked: WalkEnd) -> Vec<(ResourceInstanceAddress, Diagnostics)> {
        let open = std::mem::take(&mut self.0);
        let closed = futures::future::join_all(open.into_values().flatten().map(|lease| async move {
            let address = lease.subject().address.clone();
            let diagnostics = lease.close().await;
            (address, diagnostics)
        }));
        match walked {
            WalkEnd::Completed | WalkEnd::Stopped => closed.await,
            WalkEnd::Abandoned => tokio::time::timeout(CLOSE_TIMEOUT, closed).await.unwrap_or_default(),
        }
    }
}

/// Adds the nodes that close ephemeral resources. Returns the ephemeral resources on which provider
/// configurations depend. Cost: for each ephemeral resource, the number of edges through which its
/// value passes.
pub fn add_closes(graph: &mut NodeGraph) -> HashSet<ResourceAddress> {
    let is_ephemeral = |node: &Node| match node {
        Node::Resource(address) if address.mode == ResourceMode::Ephemeral => Some(address.clone()),
        _ => None,
    };
    let opened: Vec<(NodeId, ResourceAddress)> =
        graph.iter().filter_map(|(id, node)| Some((id, is_ephemeral(node)?))).collect();
    let mut for_providers = HashSet::new();
    for (_, address) in &opened {
        graph.add(Node::Close(address.clone()));
    }
    for (id, address) in opened {
        let users = users(graph, id);
        if users.iter().any(|user| matches!(graph.node(*user), Node::Provider(_))) {
            for_providers.insert(address.clone());
        }
        let close = graph.add(Node::Close(address));
        graph.depend(close, id);
        for user in users {
            let last = match graph.node(user) {
                Node::Resource(user) if user.mode == ResourceMode::Ephemeral => {
                    graph.id(&Node::Close(user.clone()))
                }
                _ => None,
            };
            graph.depend(close, last.unwrap_or(user));
        }
    }
    for_providers
}

/// Returns the nodes that use the value of an ephemeral resource, directly or indirectly.
fn users(graph: &NodeGraph, ephemeral: NodeId) -> Vec<NodeId> {
    let passes_on = |node: NodeId| match graph.node(node) {
        Node::Local(..) | Node::Variable(..) | Node::Output(..) | Node::Provider(_) | Node::Action(_) => true,
        _ => node == ephemeral,
    };
    // Nodes of these kinds only wait for other nodes, and do not use their values.
    let uses_values = |node: NodeId| {
        !matches!(graph.node(node), Node::ModuleDone(_) | Node::DependentsDone(_) | Node::Close(_))
    };
    let flow =
        EdgeFiltered::from_fn(graph.graph(), |edge| passes_on(edge.target()) && uses_values(edge.source()));
    let flow = Reversed(&flow);
    Dfs::new(flow, ephemeral).iter(flow).filter(|node| *node != ephemeral).collect()
}
