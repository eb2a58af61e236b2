//! The two ends of a move: which addresses they name.

use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ModuleInstance, ModulePath, ModuleStep, ResourceInstanceAddress,
    ResourceMode,
};
use wardian_config::{Target, TargetResource};
use wardian_value::{PathStep, Str};

/// Which instances of a call or a resource are meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Keys {
    /// All.
    Any,
    /// The one of that key, or the only one.
    One(InstanceKey),
}

impl Keys {
    /// Whether an instance is meant.
    pub fn include(&self, key: &InstanceKey) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => one == key,
        }
    }

    /// The key at the other end of a move of the instance `key`.
    fn at_the_other_end(&self, key: &InstanceKey) -> InstanceKey {
        match self {
            Self::Any => key.clone(),
            Self::One(one) => one.clone(),
        }
    }
}

/// A module call in an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The name of the call.
    pub name: Str,
    /// Which of its instances.
    pub keys: Keys,
}

/// A resource in an address: mode, type and name.
pub type ResourceName = (ResourceMode, Str, Str);

/// One end of a move: all addresses that it names, in all instances of the module that
/// the statement stands in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The calls from the root module. All instances are meant of those that lead to
    /// the module that the statement stands in.
    pub modules: Vec<Step>,
    /// The resource in the last of them; `None` where the module is meant.
    pub resource: Option<(ResourceName, Keys)>,
}

/// The two ends that a block in a module names; `None` where one is a resource and the
/// other one a module.
///
/// Without keys a whole resource or call is meant, with all instances; but where only
/// one end bears a key, the other one means the only instance.
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
    let mut modules: Vec<Step> =
        module.names().iter().map(|name| Step { name: name.clone(), keys: Keys::Any }).collect();
    let inner = target.modules.iter();
    modules.extend(
        inner.map(|(name, key)| Step { name: name.clone(), keys: Keys::One(instance_key(key.as_ref())) }),
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
    /// The end that names one instance of a resource.
    pub fn of_instance(address: &ResourceInstanceAddress) -> Self {
        let step = |step: &ModuleStep| Step { name: step.name.clone(), keys: Keys::One(step.key.clone()) };
        let name = (address.mode(), address.type_name().clone(), address.name().clone());
        Self {
            modules: address.module().steps().iter().map(step).collect(),
            resource: Some((name, Keys::One(address.key.clone()))),
        }
    }

    /// Whether it names a resource, or instances of it.
    pub fn selects(&self, address: &AbsoluteResourceAddress) -> bool {
        self.resource.as_ref().is_some_and(|((mode, type_name, name), _)| {
            *mode == address.mode && *type_name == address.type_name && *name == address.name
        }) && self.modules.len() == address.module.steps().len()
            && self.matches(&address.module)
    }

    /// Whether a module instance is one that it names, or somewhere in one.
    pub fn matches(&self, module: &ModuleInstance) -> bool {
        module.steps().len() >= self.modules.len()
            && self
                .modules
                .iter()
                .zip(module.steps())
                .all(|(wanted, step)| wanted.name == step.name && wanted.keys.include(&step.key))
    }

    /// Where this end of a move lies for a module instance that the other end matches.
    /// `depth` is how deep the module is that the statement stands in, and `other` how
    /// many calls the other end has: what lies deeper moves along.
    pub fn module_at_this_end(&self, module: &ModuleInstance, depth: usize, other: usize) -> ModuleInstance {
        let steps = module.steps();
        let last_key = other.checked_sub(1).and_then(|last| steps.get(last)).map(|step| &step.key);
        let inner = self.modules.iter().skip(depth).map(|step| ModuleStep {
            name: step.name.clone(),
            key: step.keys.at_the_other_end(last_key.unwrap_or(&InstanceKey::None)),
        });
        steps.iter().take(depth).cloned().chain(inner).chain(steps.iter().skip(other).cloned()).collect()
    }

    /// The key at this end for the instance `key` at the other one.
    pub fn key_at_this_end(&self, key: &InstanceKey) -> InstanceKey {
        self.resource.as_ref().map_or(InstanceKey::None, |(_, keys)| keys.at_the_other_end(key))
    }
}
