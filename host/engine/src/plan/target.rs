//! What `-target` names.

use std::fmt;
use std::str::FromStr;

use wardian_address::{InstanceAddressError, ModuleInstance, ResourceInstanceAddress};

/// What `-target` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A module instance, or all instances of a module, with all below.
    Module(ModuleInstance),
    /// A resource with all its instances in all instances of its module.
    Resource(wardian_address::ResourceAddress),
    /// One instance.
    Instance(ResourceInstanceAddress),
}

impl Target {
    /// Whether an instance is meant.
    pub fn includes(&self, address: &ResourceInstanceAddress) -> bool {
        match self {
            Self::Module(module) => lies_in(address.module(), module),
            Self::Resource(resource) => address.config() == *resource,
            // A resource without a key means all its instances, also where the modules
            // around it bear keys.
            Self::Instance(instance) => {
                address.resource == instance.resource
                    && (instance.key.is_none() || address.key == instance.key)
            }
        }
    }
}

/// Whether a module instance is the target or below it. A step without a key means
/// all instances of that call.
fn lies_in(module: &ModuleInstance, target: &ModuleInstance) -> bool {
    module.steps().len() >= target.steps().len()
        && module.steps().iter().zip(target.steps()).all(|(step, wanted)| {
            step.name == wanted.name && (wanted.key.is_none() || step.key == wanted.key)
        })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(module) => module.fmt(f),
            Self::Resource(resource) => resource.fmt(f),
            Self::Instance(instance) => instance.fmt(f),
        }
    }
}

/// A resource without keys means all its instances.
impl FromStr for Target {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(resource) = text.parse() {
            return Ok(Self::Resource(resource));
        }
        match text.parse() {
            Ok(instance) => Ok(Self::Instance(instance)),
            // The root module has an address too, but who writes none means nothing by it.
            Err(problem) if text.is_empty() => Err(problem),
            Err(problem) => text.parse().map(Self::Module).map_err(|_| problem),
        }
    }
}
