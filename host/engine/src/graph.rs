//! Dependency graphs and the order in which their nodes become ready.
//!
//! An edge points from a node to the node that it waits for. Building, checking and walking cost
//! O(nodes + edges). Ready nodes are returned in the order of their numbers, which makes runs
//! reproducible.
//!
//! Only petgraph's iterative algorithms are used: `tarjan_scc`, `is_cyclic_directed` and
//! `depth_first_search` recurse, and a long chain of dependencies would overflow the stack.
//! petgraph's `toposort` does not order ready nodes by number, and its `Topo` treats a node as
//! finished once it has returned the node, although the node's operations have not ended yet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::Direction;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Dfs, IntoNeighbors, Reversed, Visitable};

/// A node's number.
pub type NodeId = NodeIndex;

/// A graph whose nodes contain an `N`.
pub type Graph<N> = DiGraph<N, ()>;

pub type NodeSet = <Graph<()> as Visitable>::Map;

/// Adds an edge: `node` waits for `dependency`. A node does not wait for itself.
///
/// The edge can be a duplicate: searching for it would visit all edges of the node.
pub fn add_dependency<N>(graph: &mut Graph<N>, node: NodeId, dependency: NodeId) {
    if node != dependency {
        graph.add_edge(node, dependency, ());
    }
}

/// Returns the nodes that a node waits for, newest edge first.
pub fn dependencies<N>(graph: &Graph<N>, node: NodeId) -> impl Iterator<Item = NodeId> {
    graph.neighbors_directed(node, Direction::Outgoing)
}

/// Returns the nodes that wait for a node, newest edge first.
pub fn dependents<N>(graph: &Graph<N>, node: NodeId) -> impl Iterator<Item = NodeId> {
    graph.neighbors_directed(node, Direction::Incoming)
}

/// Returns all nodes, each after the nodes that it waits for.
///
/// # Errors
/// Returns the [`cycles`] of the graph.
pub fn order<N>(graph: &Graph<N>) -> Result<Vec<NodeId>, Vec<Vec<NodeId>>> {
    let mut progress = Progress::new(graph);
    let mut order = Vec::with_capacity(graph.node_count());
    while let Some(node) = progress.next_ready() {
        order.push(node);
        progress.finish(graph, node);
    }
    if order.len() == graph.node_count() { Ok(order) } else { Err(cycles(graph)) }
}

/// Returns the groups of nodes that wait for each other. Groups, and the nodes of each group, are
/// ordered by number.
pub fn cycles<N>(graph: &Graph<N>) -> Vec<Vec<NodeId>> {
    let mut cycles = kosaraju_scc(graph);
    cycles.retain(|nodes| nodes.len() > 1);
    for nodes in &mut cycles {
        nodes.sort_unstable();
    }
    cycles.sort_unstable();
    cycles
}

/// Returns a closed path through nodes of one of the [`cycles`]: each node waits for the previous
/// node, and the first node waits for the last.
pub fn path_through<N>(graph: &Graph<N>, cycle: &[NodeId]) -> Vec<NodeId> {
    let Some(mut node) = cycle.first().copied() else { return Vec::new() };
    let mut position = vec![None; cycle.len()];
    let mut path = Vec::new();
    while let Ok(index) = cycle.binary_search(&node) {
        if let Some(start) = position[index] {
            path.drain(..start);
            break;
        }
        position[index] = Some(path.len());
        path.push(node);
        let next = dependencies(graph, node).filter(|next| cycle.binary_search(next).is_ok()).min();
        let Some(next) = next else { break };
        node = next;
    }
    path.reverse();
    path
}

/// Returns the nodes for which `roots` wait, directly or indirectly, and the roots themselves.
pub fn closure<N>(graph: &Graph<N>, roots: impl IntoIterator<Item = NodeId>) -> NodeSet {
    reachable(graph, roots)
}

/// Returns the nodes that wait for `roots`, directly or indirectly. The roots are included only if
/// they wait for each other.
pub fn dependents_closure<N>(graph: &Graph<N>, roots: &[NodeId]) -> NodeSet {
    reachable(Reversed(graph), roots.iter().flat_map(|root| dependents(graph, *root)))
}

fn reachable<G>(graph: G, starts: impl IntoIterator<Item = NodeId>) -> NodeSet
where
    G: IntoNeighbors<NodeId = NodeId> + Visitable<NodeId = NodeId, Map = NodeSet>,
{
    let mut search = Dfs::empty(graph);
    for start in starts {
        search.move_to(start);
        while search.next(graph).is_some() {}
    }
    search.discovered
}

/// The progress of a walk.
#[derive(Debug)]
pub struct Progress {
    waiting_for: Vec<usize>,
    /// The last unfinished dependency of each ready node.
    last_dependencies: Vec<Option<NodeId>>,
    ready: BinaryHeap<Reverse<NodeId>>,
}

impl Progress {
    /// Starts a walk.
    pub fn new<N>(graph: &Graph<N>) -> Self {
        let waiting_for: Vec<usize> =
            graph.node_indices().map(|node| dependencies(graph, node).count()).collect();
        let ready = graph.node_indices().filter(|node| waiting_for[node.index()] == 0).map(Reverse).collect();
        Self { last_dependencies: vec![None; waiting_for.len()], waiting_for, ready }
    }

    /// Returns the next node whose dependencies are finished. Each node is returned once.
    pub fn next_ready(&mut self) -> Option<NodeId> {
        self.ready.pop().map(|Reverse(node)| node)
    }

    /// Returns the dependency for which a ready node waited longest; `None` if it has no
    /// dependencies.
    pub fn last_dependency(&self, node: NodeId) -> Option<NodeId> {
        self.last_dependencies.get(node.index()).copied().flatten()
    }

    /// Finishes a node. Its dependents without other unfinished dependencies become ready.
    pub fn finish<N>(&mut self, graph: &Graph<N>, node: NodeId) {
        for dependent in dependents(graph, node) {
            let waiting = &mut self.waiting_for[dependent.index()];
            *waiting -= 1;
            if *waiting == 0 {
                self.last_dependencies[dependent.index()] = Some(node);
                self.ready.push(Reverse(dependent));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(usize, usize)], nodes: usize) -> Graph<()> {
        let mut graph = Graph::with_capacity(nodes, edges.len());
        for _ in 0..nodes {
            graph.add_node(());
        }
        for (node, dependency) in edges {
            add_dependency(&mut graph, NodeId::new(*node), NodeId::new(*dependency));
        }
        graph
    }

    fn numbers(nodes: &[NodeId]) -> Vec<usize> {
        nodes.iter().map(|node| node.index()).collect()
    }

    #[test]
    fn order_puts_dependencies_first_and_breaks_ties_by_number() {
        let order = order(&graph(&[(0, 3), (3, 1)], 4)).unwrap();
        assert_eq!(numbers(&order), [1, 2, 3, 0]);
    }

    #[test]
    fn order_reports_cycle_without_its_dependents() {
        let cycles = order(&graph(&[(0, 1), (1, 2), (2, 1), (3, 0)], 4)).unwrap_err();
        assert_eq!(cycles.iter().map(|nodes| numbers(nodes)).collect::<Vec<_>>(), [[1, 2]]);
    }

    #[test]
    fn order_reports_all_cycles() {
        let graph = graph(&[(5, 4), (4, 5), (0, 2), (2, 3), (3, 0), (1, 0), (1, 5)], 6);
        let cycles = order(&graph).unwrap_err();
        let found: Vec<Vec<usize>> = cycles.iter().map(|nodes| numbers(nodes)).collect();
        assert_eq!(found, [vec![0, 2, 3], vec![4, 5]]);
        assert_eq!(numbers(&path_through(&graph, &cycles[0])), [3, 2, 0]);
        assert_eq!(numbers(&path_through(&graph, &cycles[1])), [5, 4]);
    }

    #[test]
    fn path_through_cycle_omits_other_nodes() {
        let graph = graph(&[(0, 2), (2, 1), (1, 2), (2, 0)], 3);
        let cycles = cycles(&graph);
        assert_eq!(cycles.len(), 1);
        assert_eq!(numbers(&path_through(&graph, &cycles[0])), [2, 0]);
    }

    #[test]
    fn duplicate_edges_do_not_block_nodes() {
        assert_eq!(numbers(&order(&graph(&[(0, 1), (0, 1)], 2)).unwrap()), [1, 0]);
    }

    #[test]
    fn long_chain_is_walked_in_linear_time() {
        let edges: Vec<(usize, usize)> = (1..200_000).map(|n| (n, n - 1)).collect();
        let start = std::time::Instant::now();
        assert_eq!(order(&graph(&edges, 200_000)).unwrap().len(), 200_000);
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn long_cycle_is_found_in_linear_time() {
        let edges: Vec<(usize, usize)> = (0..200_000).map(|n| (n, (n + 1) % 200_000)).collect();
        let start = std::time::Instant::now();
        let graph = graph(&edges, 200_000);
        let cycles = order(&graph).unwrap_err();
        assert_eq!(path_through(&graph, &cycles[0]).len(), 200_000);
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn closure_contains_roots_and_dependencies() {
        let included = closure(&graph(&[(0, 1), (1, 2), (3, 2)], 4), [NodeId::new(1)]);
        assert_eq!(included.ones().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn dependents_closure_omits_independent_roots() {
        let graph = graph(&[(0, 1), (1, 2), (3, 2)], 4);
        let found = dependents_closure(&graph, &[NodeId::new(1), NodeId::new(2)]);
        assert_eq!(found.ones().collect::<Vec<_>>(), [0, 1, 3]);
    }
}
