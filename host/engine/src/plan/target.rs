//! Addresses of `-target` and `-exclude`.

use std::fmt;
use std::str::FromStr;

use wardian_address::{InstanceAddressError, ModuleInstance, ResourceInstanceAddress};

/// An address of `-target` or `-exclude`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetAddress {
    /// A module instance, or all instances of a module, including all objects in them.
    Module(ModuleInstance),
    /// A resource with all its instances in all instances of its module.
    Resource(wardian_address::ResourceAddress),
    Instance(ResourceInstanceAddress),
}

impl TargetAddress {
    /// Whether the address selects an instance.
    pub fn includes(&self, address: &ResourceInstanceAddress) -> bool {
        match self {
            Self::Module(module) => lies_in(address.module(), module),
            Self::Resource(resource) => address.config() == *resource,
            // An address without an instance key selects all instances of the resource, even if its
            // module path contains keys.
            Self::Instance(instance) => {
                address.resource == instance.resource
                    && (instance.key.is_none() || address.key == instance.key)
            }
        }
    }
}

/// Whether a module instance is the target or is inside it. A target step without a key selects all
/// instances of the call.
fn lies_in(module: &ModuleInstance, target: &ModuleInstance) -> bool {
    module.steps().len() >= target.steps().len()
        && module.steps().iter().zip(target.steps()).all(|(step, wanted)| {
            step.name == wanted.name && (wanted.key.is_none() || step.key == wanted.key)
        })
}

impl fmt::Display for TargetAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(module) => module.fmt(f),
            Self::Resource(resource) => resource.fmt(f),
            Self::Instance(instance) => instance.fmt(f),
        }
    }
}

/// Parses an address; a resource without keys selects all its instances.
impl FromStr for TargetAddress {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(resource) = text.parse() {
            return Ok(Self::Resource(resource));
        }
        match text.parse() {
            Ok(instance) => Ok(Self::Instance(instance)),
            // The address of the root module is empty, but an empty argument is a mistake.
            Err(problem) if text.is_empty() => Err(problem),
            Err(problem) => text.parse().map(Self::Module).map_err(|_| problem),
        }
    }
}
