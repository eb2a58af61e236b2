//! Computes the metadata that is stored with an object: its dependencies and
//! `create_before_destroy`.

use std::collections::HashMap;

use wardian_address::ResourceAddress;
use wardian_config::Configuration;
use wardian_state::Dependencies;

use crate::graph::{NodeId, NodeSet};
use crate::nodes::{Node, NodeGraph, create_before_destroy};
use crate::operation::PersistedMeta;
use crate::transitive_dependencies::TransitiveDependencies;

/// Computes the metadata of each resource once, for its first instance.
pub struct PersistedMetas<'a> {
    graph: &'a NodeGraph,
    transitive: TransitiveDependencies<'a>,
    create_before_destroy: NodeSet,
    known: HashMap<NodeId, PersistedMeta>,
}

impl<'a> PersistedMetas<'a> {
    /// Creates an empty table. `graph` is the graph of the configuration, without the nodes of an
    /// apply.
    pub fn new(configuration: &Configuration, graph: &'a NodeGraph) -> Self {
        let create_before_destroy = create_before_destroy(configuration, graph);
        Self {
            graph,
            transitive: TransitiveDependencies::new(graph),
            create_before_destroy,
            known: HashMap::new(),
        }
    }

    /// Returns the metadata for objects of a resource.
    pub fn for_resource(&mut self, address: &ResourceAddress) -> PersistedMeta {
        let Some(node) = self.graph.id(&Node::Resource(address.clone())) else {
            return PersistedMeta::default();
        };
        let (transitive, created_first) = (&mut self.transitive, &self.create_before_destroy);
        let known = self.known.entry(node).or_insert_with(|| PersistedMeta {
            dependencies: transitive.resources(node),
            create_before_destroy: created_first.contains(node.index()),
        });
        known.clone()
    }

    /// Returns all resources that a node waits for, directly or indirectly.
    pub fn transitive_dependencies(&mut self, node: NodeId) -> Dependencies {
        self.transitive.resources(node)
    }
}
