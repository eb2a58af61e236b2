//! What a stored object keeps of the configuration that it was made by.

use std::collections::HashMap;

use wardian_address::ResourceAddress;
use wardian_config::Configuration;
use wardian_state::Dependencies;

use crate::behind::Behind;
use crate::graph::NodeId;
use crate::nodes::{Node, NodeGraph, create_before_destroy};
use crate::operation::Replan;

/// Finds it once for each resource, when an instance first asks.
pub struct Replans<'a> {
    graph: &'a NodeGraph,
    behind: Behind<'a>,
    create_before_destroy: Vec<bool>,
    known: HashMap<NodeId, Replan>,
}

impl<'a> Replans<'a> {
    /// From the graph of a configuration, without what an apply adds to it.
    pub fn new(configuration: &Configuration, graph: &'a NodeGraph) -> Self {
        let create_before_destroy = create_before_destroy(configuration, graph);
        Self { graph, behind: Behind::new(graph), create_before_destroy, known: HashMap::new() }
    }

    /// What objects of a resource keep.
    pub fn of(&mut self, address: &ResourceAddress) -> Replan {
        let Some(node) = self.graph.id(&Node::Resource(address.clone())) else {
            return Replan::default();
        };
        let (behind, created_first) = (&mut self.behind, &self.create_before_destroy);
        let known = self.known.entry(node).or_insert_with(|| Replan {
            dependencies: behind.of(node),
            create_before_destroy: created_first.get(node.index()) == Some(&true),
        });
        known.clone()
    }

    /// All resources that a node waits for, directly or not.
    pub fn behind(&mut self, node: NodeId) -> Dependencies {
        self.behind.of(node)
    }
}
