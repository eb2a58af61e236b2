//! Data sources that the apply reads although their configuration is known: those that depend on a
//! managed resource that is about to change.
//!
//! A data source depends on the resources in its arguments, and on the resources in its
//! `depends_on` and that of the enclosing modules. Resources to which it refers through a local
//! value, an argument or an output of a module do not count, unless `depends_on` contains that
//! object, or the data source has a condition: a pending change may make the condition true. For
//! other data sources, the order has no effect.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use wardian_address::{ModuleInstance, ModulePath, ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_config::Resource;
use wardian_lang::{Reference, ReferenceSubject};

use super::PlanWalk;
use crate::nodes::{Node, resource_references};
use crate::plan::ResourceChange;

/// The pending changes so far, and the resources that defer reads.
#[derive(Default)]
pub(super) struct PendingChanges {
    /// The module instances in which a managed resource is about to change.
    changing: HashMap<ResourceAddress, HashSet<ModuleInstance>>,
    /// The resources for which a resource waits, computed for its first instance.
    by_resource: HashMap<ResourceAddress, Arc<BTreeSet<ResourceAddress>>>,
}

impl PendingChanges {
    pub(super) fn add(&mut self, change: &ResourceChange) {
        let address = change.address.config();
        if change.is_effective() && address.mode == ResourceMode::Managed {
            self.changing.entry(address).or_default().insert(change.address.module().clone());
        }
    }

    /// Whether a resource is about to change, from the viewpoint of a module instance: changes in
    /// other instances of the same module do not count.
    fn is_changing(&self, resource: &ResourceAddress, seen_from: &ModuleInstance) -> bool {
        self.changing
            .get(resource)
            .is_some_and(|instances| instances.contains(seen_from) || resource.module != seen_from.path())
    }
}

impl PlanWalk<'_> {
    /// Whether a dependency of an instance of a data source or ephemeral resource is about to
    /// change.
    pub(super) fn waits_for_changes(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
    ) -> bool {
        let awaited = self.awaited_resources(resource, address.config());
        awaited.iter().any(|resource| self.pending_changes.is_changing(resource, address.module()))
    }

    fn awaited_resources(
        &mut self,
        resource: &Resource,
        address: ResourceAddress,
    ) -> Arc<BTreeSet<ResourceAddress>> {
        if let Some(known) = self.pending_changes.by_resource.get(&address) {
            return Arc::clone(known);
        }
        let mut found = BTreeSet::new();
        let lifecycle = &resource.lifecycle;
        let has_conditions = !lifecycle.preconditions.is_empty() || !lifecycle.postconditions.is_empty();
        if resource.mode == ResourceMode::Data && has_conditions {
            if let Some(node) = self.graph.id(&Node::Resource(address.clone())) {
                found.extend(managed(self.metas.transitive_dependencies(node).iter().map(Arc::as_ref)));
            }
        } else {
            if resource.mode == ResourceMode::Data {
                let named = resource_references(resource).into_iter();
                let named =
                    named.filter(|reference| matches!(reference.subject, ReferenceSubject::Resource { .. }));
                named.for_each(|reference| self.wait_for(&address.module, &reference, &mut found));
            }
            for reference in &resource.depends_on {
                self.wait_for(&address.module, reference, &mut found);
            }
            self.wait_around(&address.module, &mut found);
        }
        let found = Arc::new(found);
        self.pending_changes.by_resource.insert(address, Arc::clone(&found));
        found
    }

    /// Adds a resource itself, or for another kind of object, all resources on which it depends.
    fn wait_for(
        &mut self,
        module: &ModulePath,
        reference: &Reference,
        found: &mut BTreeSet<ResourceAddress>,
    ) {
        for node in self.graph.named(module, reference) {
            match self.graph.node(node) {
                Node::Resource(address) => found.extend(managed([address])),
                _ => found.extend(managed(self.metas.transitive_dependencies(node).iter().map(Arc::as_ref))),
            }
        }
    }

    /// Adds the dependencies of the calls of a module and of the enclosing modules.
    fn wait_around(&mut self, module: &ModulePath, found: &mut BTreeSet<ResourceAddress>) {
        let context = self.context;
        let mut path = module.clone();
        while let Some((caller, name)) = path.parent() {
            let call =
                context.configuration.module(&caller).and_then(|node| node.module.module_calls.get(name));
            for reference in call.into_iter().flat_map(|call| &call.depends_on) {
                for node in self.graph.named(&caller, reference) {
                    if let Node::Resource(address) = self.graph.node(node) {
                        found.extend(managed([address]));
                    }
                    found.extend(managed(self.metas.transitive_dependencies(node).iter().map(Arc::as_ref)));
                }
            }
            path = caller;
        }
    }
}

fn managed<A: Borrow<ResourceAddress>>(
    resources: impl IntoIterator<Item = A>,
) -> impl Iterator<Item = ResourceAddress> {
    let managed = |resource: A| {
        let address: &ResourceAddress = resource.borrow();
        (address.mode == ResourceMode::Managed).then(|| address.clone())
    };
    resources.into_iter().filter_map(managed)
}
