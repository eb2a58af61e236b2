//! Groups the objects of a state by module.

use std::collections::BTreeMap;

use wardian_address::{ModuleInstance, ModuleStep};

use super::StateObject;

/// A module instance with its objects and the module instances that it calls.
#[derive(Debug, Default)]
pub(in crate::render) struct ModuleTree<'a> {
    address: ModuleInstance,
    objects: Vec<StateObject<'a>>,
    children: BTreeMap<ModuleStep, Self>,
}

impl<'a> ModuleTree<'a> {
    /// Builds the tree and returns the root module. The order of the objects in a module is
    /// preserved.
    pub(in crate::render) fn new(objects: impl IntoIterator<Item = StateObject<'a>>) -> Self {
        let mut root = Self::default();
        for object in objects {
            let mut module = &mut root;
            for step in object.address.module().steps() {
                let address = &module.address;
                module = module.children.entry(step.clone()).or_insert_with(|| Self {
                    address: address.child(step.name.clone(), step.key.clone()),
                    ..Self::default()
                });
            }
            module.objects.push(object);
        }
        root
    }

    pub(in crate::render) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.children.is_empty()
    }

    pub(in crate::render) fn address(&self) -> &ModuleInstance {
        &self.address
    }

    /// Returns the objects of the module instance itself.
    pub(in crate::render) fn objects(&self) -> &[StateObject<'a>] {
        &self.objects
    }

    /// Returns the called module instances, sorted.
    pub(in crate::render) fn children(&self) -> impl ExactSizeIterator<Item = &Self> {
        self.children.values()
    }
}
