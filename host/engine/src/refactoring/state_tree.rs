//! The modules of a state as a tree, in which the modules that match an address are found without
//! visiting all modules.
//!
//! The nodes are stored in one table and are walked without recursion: a state file can contain
//! modules at any depth.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wardian_address::{AbsoluteResourceAddress, InstanceKey, ModuleInstance};
use wardian_state::State;
use wardian_value::Str;

use super::endpoint::{Keys, MoveStep, ResourceName};

/// The index of a node.
pub type ModuleNumber = usize;

/// The resources in each module instance.
#[derive(Debug)]
pub struct StateTree {
    nodes: Vec<ModuleNode>,
}

#[derive(Debug, Default)]
struct ModuleNode {
    /// The module instance, if it contains resources.
    instance: Option<ModuleInstance>,
    calls: HashMap<Str, BTreeMap<InstanceKey, ModuleNumber>>,
    resources: BTreeSet<ResourceName>,
}

impl StateTree {
    /// Builds the tree of a state.
    pub fn from_state(state: &State) -> Self {
        let mut tree = Self { nodes: vec![ModuleNode::default()] };
        for (address, _) in state.resources() {
            tree.insert(address);
        }
        tree
    }

    pub fn insert(&mut self, address: &AbsoluteResourceAddress) {
        let mut number = 0;
        for step in address.module.steps() {
            let next = self.nodes.len();
            let calls = self.nodes[number].calls.entry(step.name.clone()).or_default();
            number = *calls.entry(step.key.clone()).or_insert(next);
            if number == next {
                self.nodes.push(ModuleNode::default());
            }
        }
        let node = &mut self.nodes[number];
        node.instance.get_or_insert_with(|| address.module.clone());
        node.resources.insert((address.mode, address.type_name.clone(), address.name.clone()));
    }

    pub fn remove(&mut self, address: &AbsoluteResourceAddress) {
        if let Some(number) = self.find(&address.module) {
            let name = (address.mode, address.type_name.clone(), address.name.clone());
            self.nodes[number].resources.remove(&name);
        }
    }

    /// Whether a module instance contains resources itself.
    pub fn is_module(&self, instance: &ModuleInstance) -> bool {
        self.find(instance).is_some_and(|number| !self.nodes[number].resources.is_empty())
    }

    /// Returns a module instance and its resources.
    pub fn resources(&self, number: ModuleNumber) -> Option<(&ModuleInstance, &BTreeSet<ResourceName>)> {
        let node = &self.nodes[number];
        let instance = node.instance.as_ref()?;
        (!node.resources.is_empty()).then_some((instance, &node.resources))
    }

    /// Returns the module instances that match an address.
    pub fn matching(&self, steps: &[MoveStep]) -> Vec<ModuleNumber> {
        let mut open = vec![0];
        for step in steps {
            let mut next = Vec::new();
            for number in open {
                let Some(calls) = self.nodes[number].calls.get(&step.name) else { continue };
                match &step.keys {
                    Keys::Any => next.extend(calls.values().copied()),
                    Keys::One(key) => next.extend(calls.get(key).copied()),
                }
            }
            open = next;
        }
        open
    }

    /// Returns a module and all modules inside it.
    pub fn within(&self, number: ModuleNumber) -> Vec<ModuleNumber> {
        let mut found = vec![number];
        let mut next = 0;
        while let Some(number) = found.get(next).copied() {
            found.extend(self.nodes[number].calls.values().flat_map(BTreeMap::values).copied());
            next += 1;
        }
        found
    }

    fn find(&self, instance: &ModuleInstance) -> Option<ModuleNumber> {
        instance.steps().iter().try_fold(0, |number: ModuleNumber, step| {
            self.nodes[number].calls.get(&step.name)?.get(&step.key).copied()
        })
    }
}
