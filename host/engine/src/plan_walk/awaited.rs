//! Which objects wait for the apply although all that they are made from is known:
//! those that depend on a managed resource that is still to change.
//!
//! A data source depends on what it names itself, and on what `depends_on` says, its own
//! or that of a module around it. Behind a local value, an argument or an output of a
//! module nobody is waited for, unless `depends_on` names that, or a condition is about
//! the data source: whatever is behind it may be what makes that hold. Other data
//! sources have no effects that could be waited for.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use wardian_address::{ModuleInstance, ModulePath, ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_config::Resource;
use wardian_lang::{Reference, Subject as Named};

use super::PlanWalk;
use crate::nodes::{Node, resource_references};
use crate::plan::ResourceChange;

/// What is to change so far, and who waits for what.
#[derive(Default)]
pub(super) struct Awaited {
    /// In which instances of its module a managed resource is to change.
    changing: HashMap<ResourceAddress, HashSet<ModuleInstance>>,
    /// What a resource waits for, found when its first instance asks.
    by_resource: HashMap<ResourceAddress, Arc<BTreeSet<ResourceAddress>>>,
}

impl Awaited {
    pub(super) fn note(&mut self, change: &ResourceChange) {
        let address = change.address.config();
        if change.is_effective() && address.mode == ResourceMode::Managed {
            self.changing.entry(address).or_default().insert(change.address.module().clone());
        }
    }

    /// Whether a resource is to change, as seen from an instance of a module: of what
    /// is in the same module the other instances do not matter.
    fn is_changing(&self, resource: &ResourceAddress, seen_from: &ModuleInstance) -> bool {
        self.changing
            .get(resource)
            .is_some_and(|instances| instances.contains(seen_from) || resource.module != seen_from.path())
    }
}

impl PlanWalk<'_> {
    /// Whether anything that an instance of a data source or of an ephemeral resource
    /// depends on is still to change.
    pub(super) fn waits_for_changes(
        &mut self,
        resource: &Resource,
        address: &ResourceInstanceAddress,
    ) -> bool {
        let awaited = self.awaited(resource, address.config());
        awaited.iter().any(|resource| self.awaited.is_changing(resource, address.module()))
    }

    fn awaited(&mut self, resource: &Resource, address: ResourceAddress) -> Arc<BTreeSet<ResourceAddress>> {
        if let Some(known) = self.awaited.by_resource.get(&address) {
            return Arc::clone(known);
        }
        let mut found = BTreeSet::new();
        let lifecycle = &resource.lifecycle;
        let has_conditions = !lifecycle.preconditions.is_empty() || !lifecycle.postconditions.is_empty();
        if resource.mode == ResourceMode::Data && has_conditions {
            if let Some(node) = self.graph.id(&Node::Resource(address.clone())) {
                found.extend(managed(self.replans.behind(node).iter().map(Arc::as_ref)));
            }
        } else {
            if resource.mode == ResourceMode::Data {
                let named = resource_references(resource).into_iter();
                let named = named.filter(|reference| matches!(reference.subject, Named::Resource { .. }));
                named.for_each(|reference| self.wait_for(&address.module, &reference, &mut found));
            }
            for reference in &resource.depends_on {
                self.wait_for(&address.module, reference, &mut found);
            }
            self.wait_around(&address.module, &mut found);
        }
        let found = Arc::new(found);
        self.awaited.by_resource.insert(address, Arc::clone(&found));
        found
    }

    /// A resource stands for itself, anything else for all resources behind it.
    fn wait_for(
        &mut self,
        module: &ModulePath,
        reference: &Reference,
        found: &mut BTreeSet<ResourceAddress>,
    ) {
        for node in self.graph.named(module, reference) {
            match self.graph.node(node) {
                Node::Resource(address) => found.extend(managed([address])),
                _ => found.extend(managed(self.replans.behind(node).iter().map(Arc::as_ref))),
            }
        }
    }

    /// What the calls of a module and of those around it depend on, and all behind that.
    fn wait_around(&mut self, module: &ModulePath, found: &mut BTreeSet<ResourceAddress>) {
        let run = self.run;
        let mut path = module.clone();
        while let Some((caller, name)) = path.parent() {
            let call = run.configuration.module(&caller).and_then(|node| node.module.module_calls.get(name));
            for reference in call.into_iter().flat_map(|call| &call.depends_on) {
                for node in self.graph.named(&caller, reference) {
                    if let Node::Resource(address) = self.graph.node(node) {
                        found.extend(managed([address]));
                    }
                    found.extend(managed(self.replans.behind(node).iter().map(Arc::as_ref)));
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
