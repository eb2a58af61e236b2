//! The resources that a node of the graph waits for, directly or indirectly.

use std::sync::Arc;

use wardian_address::ResourceAddress;
use wardian_state::Dependencies;

use crate::graph::NodeId;
use crate::nodes::{Node, NodeGraph};

/// Searches the dependencies of many nodes in one graph, with tables that are allocated once: the
/// cost of a search is proportional to the resources that it finds and the edges that it follows.
/// petgraph's `Dfs` would clear a set of the graph's size for each search.
pub struct TransitiveDependencies<'a> {
    graph: &'a NodeGraph,
    /// All resources, sorted by the text of their addresses, as in the state.
    resources: Vec<Arc<ResourceAddress>>,
    /// The position of each node's resource in that order.
    rank: Vec<Option<u32>>,
    /// The number of the search that last visited each node.
    seen: Vec<u32>,
    search: u32,
}

impl<'a> TransitiveDependencies<'a> {
    /// Sorts the graph's resources.
    pub fn new(graph: &'a NodeGraph) -> Self {
        let mut found: Vec<(&ResourceAddress, NodeId)> = graph
            .iter()
            .filter_map(|(id, node)| match node {
                Node::Resource(address) => Some((address, id)),
                _ => None,
            })
            .collect();
        found.sort_by_cached_key(|(address, _)| address.to_string());
        let size = graph.size();
        let mut rank = vec![None; size];
        for (place, (_, id)) in found.iter().enumerate() {
            rank[id.index()] = u32::try_from(place).ok();
        }
        let resources = found.into_iter().map(|(address, _)| Arc::new(address.clone())).collect();
        Self { graph, resources, rank, seen: vec![0; size], search: 0 }
    }

    /// Returns the resources that a node waits for, sorted, without the node itself.
    pub fn resources(&mut self, id: NodeId) -> Dependencies {
        let mut ranks = self.ranks(id);
        ranks.sort_unstable();
        ranks.into_iter().filter_map(|rank| self.address(rank)).map(Arc::clone).collect()
    }

    /// Whether any of the resources that a node waits for matches.
    pub fn any(&mut self, id: NodeId, matches: impl Fn(&ResourceAddress) -> bool) -> bool {
        self.ranks(id).into_iter().filter_map(|rank| self.address(rank)).any(|address| matches(address))
    }

    fn address(&self, rank: u32) -> Option<&Arc<ResourceAddress>> {
        self.resources.get(usize::try_from(rank).ok()?)
    }

    fn ranks(&mut self, id: NodeId) -> Vec<u32> {
        self.search += 1;
        let search = self.search;
        let mut is_new = |node: NodeId| {
            self.seen.get_mut(node.index()).is_some_and(|seen| std::mem::replace(seen, search) != search)
        };
        is_new(id);
        let mut found = Vec::new();
        let mut open = vec![id];
        while let Some(node) = open.pop() {
            for dependency in self.graph.dependencies(node) {
                if is_new(dependency) {
                    open.push(dependency);
                    found.extend(self.rank.get(dependency.index()).copied().flatten());
                }
            }
        }
        found
    }
}
