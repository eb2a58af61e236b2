//! The resources of a graph, each with its direct dependencies. A dependency that is implied by
//! other dependencies is removed (transitive reduction).

use std::collections::HashMap;

use wardian_address::{ResourceAddress, ResourceMode};
use wardian_engine::{GraphNode, GraphNodeKind};
use wardian_state::State;

/// Resources in display order.
pub(super) struct ResourceGraph {
    pub(super) resources: Vec<DrawnResource>,
}

/// A resource and the sorted indices of its dependencies.
pub(super) struct DrawnResource {
    pub(super) address: ResourceAddress,
    pub(super) dependencies: Vec<usize>,
}

impl DrawnResource {
    /// Returns the address within its module.
    pub(super) fn local_name(&self) -> String {
        let mode = match self.address.mode {
            ResourceMode::Managed => "",
            ResourceMode::Data => "data.",
            ResourceMode::Ephemeral => "ephemeral.",
        };
        format!("{mode}{}.{}", self.address.type_name, self.address.name)
    }
}

impl ResourceGraph {
    /// Collects the resources of a configuration, and resources that are only in the state. The
    /// cost of each resource is proportional to the number of its transitive dependencies.
    pub(super) fn new(nodes: &[GraphNode], state: &State) -> Self {
        let mut found: HashMap<ResourceAddress, Vec<ResourceAddress>> = HashMap::new();
        let mut walk = Walk::new(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            if let GraphNodeKind::Resource(address) = &node.kind {
                found.insert(address.clone(), walk.nearest(nodes, index));
            }
        }
        for (address, _) in state.resources() {
            // A removed data source requires no action.
            let address = address.config();
            if address.mode == ResourceMode::Managed {
                found.entry(address).or_default();
            }
        }
        let mut addresses: Vec<ResourceAddress> = found.keys().cloned().collect();
        addresses.sort_by_cached_key(order);
        let places: HashMap<&ResourceAddress, usize> =
            addresses.iter().enumerate().map(|(place, address)| (address, place)).collect();
        let direct: Vec<Vec<usize>> = addresses
            .iter()
            .map(|address| {
                let mut direct: Vec<usize> = found
                    .get(address)
                    .into_iter()
                    .flatten()
                    .filter_map(|dependency| places.get(dependency).copied())
                    .filter(|place| places.get(address) != Some(place))
                    .collect();
                direct.sort_unstable();
                direct.dedup();
                direct
            })
            .collect();
        let reduced = reduce(&direct);
        drop(places);
        let resources = addresses
            .into_iter()
            .zip(reduced)
            .map(|(address, dependencies)| DrawnResource { address, dependencies })
            .collect();
        Self { resources }
    }
}

/// Returns the sort key: module, then data sources, then type and name.
fn order(address: &ResourceAddress) -> (String, u8, String, String) {
    let module = if address.module.is_root() { String::new() } else { address.module.to_string() };
    let mode = match address.mode {
        ResourceMode::Data => 0,
        ResourceMode::Managed => 1,
        ResourceMode::Ephemeral => 2,
    };
    (module, mode, address.type_name.to_string(), address.name.to_string())
}

/// A graph walk that is restarted many times.
struct Walk {
    seen_in: Vec<usize>,
    round: usize,
    open: Vec<usize>,
}

impl Walk {
    fn new(size: usize) -> Self {
        Self { seen_in: vec![0; size], round: 0, open: Vec::new() }
    }

    fn begin(&mut self) {
        self.round += 1;
        self.open.clear();
    }

    /// Marks a node as visited. Returns whether this is the first visit in this walk.
    fn meets(&mut self, node: usize) -> bool {
        self.seen_in.get_mut(node).is_some_and(|seen| std::mem::replace(seen, self.round) != self.round)
    }

    /// Returns the resources that can be reached from a node through nodes that are not resources.
    fn nearest(&mut self, nodes: &[GraphNode], from: usize) -> Vec<ResourceAddress> {
        self.begin();
        let mut found = Vec::new();
        self.open.push(from);
        while let Some(index) = self.open.pop() {
            let Some(node) = nodes.get(index) else { continue };
            for dependency in &node.dependencies {
                if !self.meets(*dependency) {
                    continue;
                }
                match nodes.get(*dependency).map(|node| &node.kind) {
                    Some(GraphNodeKind::Resource(address)) => found.push(address.clone()),
                    _ => self.open.push(*dependency),
                }
            }
        }
        found
    }
}

/// Returns the dependencies of each node without those that are implied by another dependency.
/// Sorted lists remain sorted.
fn reduce(direct: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut walk = Walk::new(direct.len());
    let below = |node: usize| direct.get(node).map_or(&[][..], Vec::as_slice);
    direct
        .iter()
        .map(|dependencies| {
            if dependencies.len() < 2 {
                return dependencies.clone();
            }
            walk.begin();
            for dependency in dependencies {
                walk.open.extend_from_slice(below(*dependency));
            }
            while let Some(node) = walk.open.pop() {
                if walk.meets(node) {
                    walk.open.extend_from_slice(below(node));
                }
            }
            let round = walk.round;
            dependencies.iter().copied().filter(|node| walk.seen_in.get(*node) != Some(&round)).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitive_dependencies_are_omitted() {
        let direct = vec![vec![1, 2, 3], vec![2], vec![], vec![]];
        assert_eq!(reduce(&direct), [vec![1, 3], vec![2], vec![], vec![]]);
    }

    #[test]
    fn long_dependency_chain_is_reduced() {
        let direct: Vec<Vec<usize>> =
            (0..2000).map(|node| if node < 2 { vec![] } else { vec![node - 2, node - 1] }).collect();
        let reduced = reduce(&direct);
        assert!(reduced.iter().skip(3).all(|dependencies| dependencies.len() == 1));
    }
}
