//! Objects of a state sorted into the modules that hold them.

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
    /// The root module. Objects of one module keep their order.
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

    /// Whether there is no object.
    pub(in crate::render) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.children.is_empty()
    }

    /// The module instance.
    pub(in crate::render) fn address(&self) -> &ModuleInstance {
        &self.address
    }

    /// Objects of the module itself.
    pub(in crate::render) fn objects(&self) -> &[StateObject<'a>] {
        &self.objects
    }

    /// The module instances that it calls, sorted.
    pub(in crate::render) fn children(&self) -> impl ExactSizeIterator<Item = &Self> {
        self.children.values()
    }
}
