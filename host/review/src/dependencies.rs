//! The dependencies between the resources that change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::change::{ChangeClass, ChangeId, ReviewedChange};
use crate::configuration::{Origin, References};

/// Maximum number of resources of a module on which a resource depends by a reference to the module.
const MAX_MODULE_RESOURCES: usize = 64;

/// The index of a resource in a [`DependencyGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u32);

impl ResourceId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A resource with at least one change.
#[derive(Clone, Debug)]
pub struct ResourceNode {
    /// The address in the configuration.
    pub address: Arc<str>,
    /// The most severe class of its changes.
    pub class: ChangeClass,
    pub changes: Vec<ChangeId>,
    /// The changing resources to which this resource refers directly or through variables, local
    /// values and outputs.
    pub depends_on: Vec<ResourceId>,
    /// The changing resources that refer to this resource.
    pub dependents: Vec<ResourceId>,
}

/// The resources that change, and the references between them.
#[derive(Clone, Debug, Default)]
pub struct DependencyGraph {
    nodes: Vec<ResourceNode>,
    by_address: HashMap<Arc<str>, ResourceId>,
}

impl DependencyGraph {
    pub(crate) fn new(changes: &[ReviewedChange], references: &References) -> Self {
        let mut graph = Self::default();
        for (index, change) in changes.iter().enumerate() {
            // The parser limits the number of changes.
            let id = ChangeId(u32::try_from(index).unwrap_or(u32::MAX));
            let class = change.class();
            let next = ResourceId(u32::try_from(graph.nodes.len()).unwrap_or(u32::MAX));
            let resource = *graph.by_address.entry(Arc::clone(&change.resource)).or_insert(next);
            if let Some(node) = graph.nodes.get_mut(resource.index()) {
                node.class = node.class.min(class);
                node.changes.push(id);
            } else {
                graph.nodes.push(ResourceNode {
                    address: Arc::clone(&change.resource),
                    class,
                    changes: vec![id],
                    depends_on: Vec::new(),
                    dependents: Vec::new(),
                });
            }
        }
        let modules = graph.modules();
        for index in 0..graph.nodes.len() {
            let id = ResourceId(u32::try_from(index).unwrap_or(u32::MAX));
            let depends_on = graph.references_of(id, references, &modules);
            for other in &depends_on {
                if let Some(node) = graph.nodes.get_mut(other.index()) {
                    node.dependents.push(id);
                }
            }
            if let Some(node) = graph.nodes.get_mut(index) {
                node.depends_on = depends_on;
            }
        }
        graph
    }

    /// Returns the first changing resources in each module, including its nested modules.
    fn modules(&self) -> HashMap<String, Vec<ResourceId>> {
        let mut modules: HashMap<String, Vec<ResourceId>> = HashMap::new();
        for (index, node) in (0..).zip(&self.nodes) {
            for module in modules_of(&node.address) {
                match modules.get_mut(module) {
                    Some(found) if found.len() >= MAX_MODULE_RESOURCES => {}
                    Some(found) => found.push(ResourceId(index)),
                    None => drop(modules.insert(module.to_owned(), vec![ResourceId(index)])),
                }
            }
        }
        modules
    }

    fn references_of(
        &self,
        id: ResourceId,
        references: &References,
        modules: &HashMap<String, Vec<ResourceId>>,
    ) -> Vec<ResourceId> {
        let Some(resource) = self.node(id).and_then(|node| references.resource(&node.address)) else {
            return Vec::new();
        };
        let mut found: Vec<ResourceId> = Vec::new();
        for origin in references.all_origins(resource) {
            match origin {
                Origin::Resource { resource, .. } => found.extend(self.by_address.get(&resource)),
                Origin::Module(module) => found.extend(modules.get(&*module).into_iter().flatten()),
                Origin::Variable(_) => {}
            }
        }
        found.retain(|other| *other != id);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns all resources that change.
    pub fn nodes(&self) -> &[ResourceNode] {
        &self.nodes
    }

    pub fn node(&self, id: ResourceId) -> Option<&ResourceNode> {
        self.nodes.get(id.index())
    }

    /// Returns the node of a resource by its address in the configuration.
    pub fn find(&self, address: &str) -> Option<ResourceId> {
        self.by_address.get(address).copied()
    }

    /// Returns all resources that depend on a resource, directly or indirectly. The cost is linear in
    /// the size of the graph.
    pub fn affected(&self, id: ResourceId) -> Vec<ResourceId> {
        let mut seen = HashSet::from([id]);
        let mut found = Vec::new();
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            for dependent in self.node(next).into_iter().flat_map(|node| &node.dependents) {
                if seen.insert(*dependent) {
                    found.push(*dependent);
                    open.push(*dependent);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Returns the resources in columns: each resource is in a later column than the resources on which
    /// it depends. Resources in cycles are in the last column. The cost is linear in the size of the graph.
    pub fn columns(&self) -> Vec<Vec<ResourceId>> {
        let mut waiting: Vec<usize> = self.nodes.iter().map(|node| node.depends_on.len()).collect();
        let ids = || (0..self.nodes.len()).filter_map(|index| u32::try_from(index).ok()).map(ResourceId);
        let mut column: Vec<ResourceId> =
            ids().filter(|id| waiting.get(id.index()).is_some_and(|count| *count == 0)).collect();
        let mut columns = Vec::new();
        let mut placed = 0;
        while !column.is_empty() {
            placed += column.len();
            let mut next = Vec::new();
            for dependent in column.iter().filter_map(|id| self.node(*id)).flat_map(|node| &node.dependents) {
                if let Some(count) = waiting.get_mut(dependent.index()) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        next.push(*dependent);
                    }
                }
            }
            columns.push(std::mem::replace(&mut column, next));
        }
        if placed < self.nodes.len() {
            columns
                .push(ids().filter(|id| waiting.get(id.index()).is_some_and(|count| *count > 0)).collect());
        }
        columns
    }
}

/// Returns the modules that contain a resource, the outermost one first.
pub(crate) fn modules_of(address: &str) -> impl Iterator<Item = &str> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let rest = address.get(end..)?;
        let rest = if end == 0 { rest } else { rest.strip_prefix('.')? };
        let name = rest.strip_prefix("module.")?;
        let length = name.find('.')?;
        end = address.len() - name.len() + length;
        address.get(..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_an_address_are_found() {
        let modules = |address| modules_of(address).collect::<Vec<_>>();
        assert_eq!(modules("module.a.module.b.data.x.y"), ["module.a", "module.a.module.b"]);
        assert!(modules("aws_x.module").is_empty());
        assert!(modules("module.a").is_empty());
    }
}
