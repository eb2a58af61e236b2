//! The two ends of a move, and the addresses that they match.

use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ModuleInstance, ModulePath, ModuleStep, ResourceInstanceAddress,
    ResourceMode,
};
use wardian_config::{Target, TargetResource};
use wardian_value::{PathStep, Str};

/// The instances of a call or a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Keys {
    /// All instances.
    Any,
    /// The instance with this key, or the only instance.
    One(InstanceKey),
}

impl Keys {
    pub fn include(&self, key: &InstanceKey) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => one == key,
        }
    }

    /// Returns the key at this end for an instance that has `key` at the other end of a move.
    fn at_the_other_end(&self, key: &InstanceKey) -> InstanceKey {
        match self {
            Self::Any => key.clone(),
            Self::One(one) => one.clone(),
        }
    }
}

/// A module call in an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MoveStep {
    pub name: Str,
    pub keys: Keys,
}

/// A resource in an address: mode, type and name.
pub type ResourceName = (ResourceMode, Str, Str);

/// One end of a move: its addresses in all instances of the module that contains the statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The module calls, starting at the root module. For the calls on the path to the module that
    /// contains the statement, all instances match.
    pub modules: Vec<MoveStep>,
    /// The resource in the last module; `None` if the end is a module.
    pub resource: Option<(ResourceName, Keys)>,
}

/// Returns the two ends of a block in a module; `None` if one end is a resource and the other end
/// is a module.
///
/// An end without keys matches all instances of a resource or call. However, if only one end has a
/// key, the other end matches only the single instance without a key.
pub fn endpoints(module: &ModulePath, from: &Target, to: &Target) -> Option<(Endpoint, Endpoint)> {
    if from.resource.is_some() != to.resource.is_some() {
        return None;
    }
    let last_key = |target: &Target| match &target.resource {
        Some(resource) => resource.key.clone(),
        None => target.modules.last().and_then(|(_, key)| key.clone()),
    };
    let is_whole = last_key(from).is_none() && last_key(to).is_none();
    Some((endpoint(module, from, is_whole), endpoint(module, to, is_whole)))
}

fn endpoint(module: &ModulePath, target: &Target, is_whole: bool) -> Endpoint {
    let last = |key: Option<&PathStep>| if is_whole { Keys::Any } else { Keys::One(instance_key(key)) };
    let mut modules: Vec<MoveStep> =
        module.names().iter().map(|name| MoveStep { name: name.clone(), keys: Keys::Any }).collect();
    let inner = target.modules.iter();
    modules.extend(
        inner.map(|(name, key)| MoveStep { name: name.clone(), keys: Keys::One(instance_key(key.as_ref())) }),
    );
    let resource = target.resource.as_ref().map(|TargetResource { mode, type_name, name, key }| {
        ((*mode, type_name.clone(), name.clone()), last(key.as_ref()))
    });
    if let (None, Some(step), Some((_, key))) = (&resource, modules.last_mut(), target.modules.last()) {
        step.keys = last(key.as_ref());
    }
    Endpoint { modules, resource }
}

fn instance_key(step: Option<&PathStep>) -> InstanceKey {
    match step {
        None => InstanceKey::None,
        Some(PathStep::Index(index)) => InstanceKey::Int(*index),
        Some(PathStep::Key(key) | PathStep::Attribute(key)) => InstanceKey::String(key.clone()),
    }
}

impl Endpoint {
    /// Returns the end that matches one resource instance.
    pub fn from_instance(address: &ResourceInstanceAddress) -> Self {
        let step =
            |step: &ModuleStep| MoveStep { name: step.name.clone(), keys: Keys::One(step.key.clone()) };
        let name = (address.mode(), address.type_name().clone(), address.name().clone());
        Self {
            modules: address.module().steps().iter().map(step).collect(),
            resource: Some((name, Keys::One(address.key.clone()))),
        }
    }

    /// Whether the end matches a resource, or instances of it.
    pub fn selects(&self, address: &AbsoluteResourceAddress) -> bool {
        self.resource.as_ref().is_some_and(|((mode, type_name, name), _)| {
            *mode == address.mode && *type_name == address.type_name && *name == address.name
        }) && self.modules.len() == address.module.steps().len()
            && self.matches(&address.module)
    }

    /// Whether a module instance matches this end, or is inside a module that does.
    pub fn matches(&self, module: &ModuleInstance) -> bool {
        module.steps().len() >= self.modules.len()
            && self
                .modules
                .iter()
                .zip(module.steps())
                .all(|(wanted, step)| wanted.name == step.name && wanted.keys.include(&step.key))
    }

    /// Returns the module instance at this end that corresponds to a module instance matched by the
    /// other end. `depth` is the depth of the module that contains the statement, and `other` is
    /// the number of calls at the other end: nested modules move with their parent.
    pub fn module_at_this_end(&self, module: &ModuleInstance, depth: usize, other: usize) -> ModuleInstance {
        let steps = module.steps();
        let last_key = other.checked_sub(1).and_then(|last| steps.get(last)).map(|step| &step.key);
        let inner = self.modules.iter().skip(depth).map(|step| ModuleStep {
            name: step.name.clone(),
            key: step.keys.at_the_other_end(last_key.unwrap_or(&InstanceKey::None)),
        });
        steps.iter().take(depth).cloned().chain(inner).chain(steps.iter().skip(other).cloned()).collect()
    }

    /// Returns the key at this end that corresponds to a key at the other end.
    pub fn key_at_this_end(&self, key: &InstanceKey) -> InstanceKey {
        self.resource.as_ref().map_or(InstanceKey::None, |(_, keys)| keys.at_the_other_end(key))
    }
}
