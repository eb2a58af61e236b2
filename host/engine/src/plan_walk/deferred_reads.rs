//! Data sources whose read is deferred to the apply although their configuration is known, because
//! they depend on a managed resource with a pending change.
//!
//! A data source waits for the resources that its arguments reference directly, for the resources
//! in its `depends_on`, and for the resources in the `depends_on` of the enclosing module calls. It
//! does not wait for resources that it references through a local value, or through an argument or
//! output of a module, unless its `depends_on` contains that local value or module. A data source
//! with conditions waits for all its dependencies, since a pending change can make a condition
//! true.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use wardian_address::{ModuleInstance, ModulePath, ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_config::Resource;
use wardian_lang::{Reference, ReferenceSubject};

use super::PlanWalk;
use crate::nodes::{Node, resource_references};
use crate::plan::ResourceChange;

/// The pending changes known so far, and the resources whose reads depend on them.
#[derive(Default)]
pub(super) struct PendingChanges {
    /// The module instances in which a managed resource has a pending change.
    changing: HashMap<ResourceAddress, HashSet<ModuleInstance>>,
    /// The resources that each resource waits for, computed for its first instance.
    by_resource: HashMap<ResourceAddress, Arc<BTreeSet<ResourceAddress>>>,
}

impl PendingChanges {
    pub(super) fn add(&mut self, change: &ResourceChange) {
        let address = change.address.config();
        if change.is_effective() && address.mode == ResourceMode::Managed {
            self.changing.entry(address).or_default().insert(change.address.module().clone());
        }
    }

    /// Returns whether a resource has a pending change that affects the module instance
    /// `seen_from`: changes in other instances of the same module are ignored.
    fn is_changing(&self, resource: &ResourceAddress, seen_from: &ModuleInstance) -> bool {
        self.changing
            .get(resource)
            .is_some_and(|instances| instances.contains(seen_from) || resource.module != seen_from.path())
    }
}

impl PlanWalk<'_> {
    /// Returns whether a dependency of an instance of a data source or ephemeral resource has a
    /// pending change.
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

    /// Adds a resource. For another kind of object, adds all resources on which the object depends.
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

    /// Adds the dependencies of the calls of a module and of its enclosing modules.
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
