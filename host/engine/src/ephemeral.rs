//! Ephemeral resources in a run: open from when they are first needed until the last
//! that uses them is done.
//!
//! What an ephemeral resource gives flows through local values, variables, outputs
//! and provider configurations into objects, and no further, as nothing that is
//! stored can be made from it. So the node that closes one waits for all that is
//! reached that way. What is still open when a walk ends, because something failed or
//! the run was stopped, is closed then.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wardian_address::{ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_diagnostic::Diagnostics;

use crate::graph::NodeId;
use crate::nodes::{Node, NodeGraph};
use crate::operation::ephemeral::Lease;
use crate::scheduler::Walked;

/// How long a run that was told to end at once waits for what is to be closed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Instances that could not be renewed, and must not be used any more.
#[derive(Clone, Debug, Default)]
pub struct Expired(Arc<Mutex<HashSet<ResourceInstanceAddress>>>);

impl Expired {
    /// An instance could not be renewed.
    pub fn add(&self, address: &ResourceInstanceAddress) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(address.clone());
    }

    /// One that could not be renewed, of those that `is_meant` says.
    pub fn find(
        &self,
        is_meant: impl Fn(&ResourceInstanceAddress) -> bool,
    ) -> Option<ResourceInstanceAddress> {
        let expired = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        expired.iter().find(|address| is_meant(address)).cloned()
    }
}

/// What is open.
#[derive(Default)]
pub struct Ephemerals(BTreeMap<ResourceAddress, Vec<Lease>>);

impl Ephemerals {
    /// An instance was opened.
    pub fn opened(&mut self, lease: Lease) {
        self.0.entry(lease.subject().address.config()).or_default().push(lease);
    }

    /// The instances of a resource, to be closed.
    pub fn take(&mut self, address: &ResourceAddress) -> Vec<Lease> {
        self.0.remove(address).unwrap_or_default()
    }

    /// Closes what is still open at the end of a walk.
    pub async fn close_all(&mut self, walked: Walked) -> Vec<(ResourceInstanceAddress, Diagnostics)> {
        let open = std::mem::take(&mut self.0);
        let closed = futures::future::join_all(open.into_values().flatten().map(|lease| async move {
            let address = lease.subject().address.clone();
            let diagnostics = wardian_plugin::on_behalf_of(address.to_string(), lease.close()).await;
            (address, diagnostics)
        }));
        match walked {
            Walked::Fully | Walked::Stopped => closed.await,
            Walked::Abandoned => tokio::time::timeout(PATIENCE, closed).await.unwrap_or_default(),
        }
    }
}

/// Adds the nodes that close ephemeral resources. Returns the ephemeral resources
/// that provider configurations are made from. Cost: for each ephemeral resource, the
/// edges of what it flows through.
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
        graph.graph.depend(close, id);
        for user in users {
            let last = match graph.node(user) {
                Node::Resource(user) if user.mode == ResourceMode::Ephemeral => {
                    graph.id(&Node::Close(user.clone()))
                }
                _ => None,
            };
            graph.graph.depend(close, last.unwrap_or(user));
        }
    }
    for_providers
}

/// All that the value of an ephemeral resource reaches.
fn users(graph: &NodeGraph, ephemeral: NodeId) -> Vec<NodeId> {
    let mut seen = HashSet::from([ephemeral]);
    let mut users = Vec::new();
    let mut open = vec![ephemeral];
    while let Some(node) = open.pop() {
        for user in graph.graph.dependents(node) {
            let hands_on = match graph.node(*user) {
                Node::Local(..) | Node::Variable(..) | Node::Output(..) | Node::Provider(_) => true,
                // Those wait for everything in a module, and are made from nothing of it.
                Node::ModuleDone(_) | Node::DependentsDone(_) | Node::Close(_) => continue,
                _ => false,
            };
            if seen.insert(*user) {
                users.push(*user);
                if hands_on {
                    open.push(*user);
                }
            }
        }
    }
    users
}
