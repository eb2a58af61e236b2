//! A dependency graph of numbered nodes, and the order in which they become ready.
//!
//! Building, checking and walking cost O(nodes + edges). Ready nodes come in the
//! order of their numbers, so that runs are reproducible.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A node's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// As an index into tables of nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    dependencies: Vec<Vec<NodeId>>,
    dependents: Vec<Vec<NodeId>>,
}

impl Graph {
    /// Adds a node.
    ///
    /// # Panics
    /// Never: a configuration of four thousand million objects does not fit memory.
    pub fn add(&mut self) -> NodeId {
        let id = NodeId(u32::try_from(self.dependencies.len()).unwrap_or(u32::MAX));
        self.dependencies.push(Vec::new());
        self.dependents.push(Vec::new());
        id
    }

    /// States that `node` waits for `dependency`. A node does not wait for itself.
    pub fn depend(&mut self, node: NodeId, dependency: NodeId) {
        if node != dependency {
            self.dependencies[node.index()].push(dependency);
            self.dependents[dependency.index()].push(node);
        }
    }

    /// How many nodes there are.
    pub fn size(&self) -> usize {
        self.dependencies.len()
    }

    /// What a node waits for.
    pub fn dependencies(&self, node: NodeId) -> &[NodeId] {
        &self.dependencies[node.index()]
    }

    /// What waits for a node.
    pub fn dependents(&self, node: NodeId) -> &[NodeId] {
        &self.dependents[node.index()]
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.size()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// Every node after all that it waits for.
    ///
    /// # Errors
    /// The nodes of one cycle, in order.
    pub fn order(&self) -> Result<Vec<NodeId>, Vec<NodeId>> {
        let mut progress = Progress::new(self);
        let mut order = Vec::with_capacity(self.size());
        while let Some(node) = progress.next_ready() {
            order.push(node);
            progress.finish(self, node);
        }
        if order.len() == self.size() { Ok(order) } else { Err(self.find_cycle(&progress)) }
    }

    /// Follows unfinished dependencies until a node comes again.
    fn find_cycle(&self, progress: &Progress) -> Vec<NodeId> {
        let stuck = |node: &NodeId| progress.waiting_for[node.index()] > 0;
        let Some(mut node) = self.nodes().find(stuck) else { return Vec::new() };
        let mut seen_at = vec![None; self.size()];
        let mut walked = Vec::new();
        loop {
            if let Some(start) = seen_at[node.index()] {
                let start: usize = start;
                let mut cycle = walked.split_off(start);
                // Walked from dependents to dependencies: told the other way round.
                cycle.reverse();
                return cycle;
            }
            seen_at[node.index()] = Some(walked.len());
            walked.push(node);
            match self.dependencies(node).iter().find(|d| stuck(d)) {
                Some(next) => node = *next,
                None => return walked,
            }
        }
    }

    /// The nodes that wait for `roots`, directly or not, without the roots
    /// themselves unless they wait for each other; as a table by node.
    pub fn dependents_closure(&self, roots: &[NodeId]) -> Vec<bool> {
        let mut found = vec![false; self.size()];
        let mut open: Vec<NodeId> = roots.to_vec();
        while let Some(node) = open.pop() {
            for dependent in self.dependents(node) {
                if !std::mem::replace(&mut found[dependent.index()], true) {
                    open.push(*dependent);
                }
            }
        }
        found
    }

    /// The nodes that `roots` wait for, directly or not, with themselves; as a
    /// table by node.
    pub fn closure(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<bool> {
        let mut included = vec![false; self.size()];
        let mut open: Vec<NodeId> = roots.into_iter().collect();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut included[node.index()], true) {
                open.extend_from_slice(self.dependencies(node));
            }
        }
        included
    }
}

/// How far a walk has come.
#[derive(Debug)]
pub struct Progress {
    waiting_for: Vec<usize>,
    ready: BinaryHeap<Reverse<NodeId>>,
}

impl Progress {
    /// Nothing is done yet.
    pub fn new(graph: &Graph) -> Self {
        let waiting_for: Vec<usize> = graph.dependencies.iter().map(Vec::len).collect();
        let ready = graph.nodes().filter(|node| waiting_for[node.index()] == 0).map(Reverse).collect();
        Self { waiting_for, ready }
    }

    /// The next node that waits for nothing; each is handed out once.
    pub fn next_ready(&mut self) -> Option<NodeId> {
        self.ready.pop().map(|Reverse(node)| node)
    }

    /// A node is done: what waited for it alone becomes ready.
    pub fn finish(&mut self, graph: &Graph, node: NodeId) {
        for dependent in graph.dependents(node) {
            let waiting = &mut self.waiting_for[dependent.index()];
            *waiting -= 1;
            if *waiting == 0 {
                self.ready.push(Reverse(*dependent));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(u32, u32)], nodes: u32) -> Graph {
        let mut graph = Graph::default();
        for _ in 0..nodes {
            graph.add();
        }
        for (node, dependency) in edges {
            graph.depend(NodeId(*node), NodeId(*dependency));
        }
        graph
    }

    #[test]
    fn dependencies_come_first_and_ties_by_number() {
        let order = graph(&[(0, 3), (3, 1)], 4).order().unwrap();
        assert_eq!(order, [1, 2, 3, 0].map(NodeId));
    }

    #[test]
    fn a_cycle_is_told_in_order() {
        let cycle = graph(&[(0, 1), (1, 2), (2, 1), (3, 0)], 4).order().unwrap_err();
        assert_eq!(cycle.len(), 2);
        assert!(cycle.contains(&NodeId(1)) && cycle.contains(&NodeId(2)));
    }

    #[test]
    fn double_edges_count_twice_and_still_resolve() {
        assert_eq!(graph(&[(0, 1), (0, 1)], 2).order().unwrap(), [1, 0].map(NodeId));
    }

    #[test]
    fn a_long_chain_is_walked_in_linear_time() {
        let edges: Vec<(u32, u32)> = (1..200_000).map(|n| (n, n - 1)).collect();
        let start = std::time::Instant::now();
        assert_eq!(graph(&edges, 200_000).order().unwrap().len(), 200_000);
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn the_closure_holds_what_is_needed() {
        let included = graph(&[(0, 1), (1, 2), (3, 2)], 4).closure([NodeId(1)]);
        assert_eq!(included, [false, true, true, false]);
    }
}
