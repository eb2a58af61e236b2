//! The address at one end of a move, in one instance of the module that contains the statement.

use std::fmt;

use wardian_address::{AbsoluteResourceAddress, InstanceKey, ModuleInstance, ResourceInstanceAddress};
use wardian_value::Str;

use super::endpoint::{Endpoint, Keys};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Moveable {
    /// All instances of a call.
    Call(ModuleInstance, Str),
    Module(ModuleInstance),
    /// All instances of a resource.
    Resource(AbsoluteResourceAddress),
    Instance(ResourceInstanceAddress),
}

impl Moveable {
    /// Returns the address in an instance of the module that contains the statement.
    pub fn from_endpoint(endpoint: &Endpoint, declaring: &ModuleInstance) -> Self {
        let depth = declaring.steps().len();
        let module = endpoint.module_at_this_end(declaring, depth, depth);
        match &endpoint.resource {
            Some(((mode, type_name, name), keys)) => {
                let resource = module.resource(*mode, type_name.clone(), name.clone());
                match keys {
                    Keys::Any => Self::Resource(resource),
                    Keys::One(key) => Self::Instance(resource.instance(key.clone())),
                }
            }
            None => match (endpoint.modules.last().map(|step| &step.keys), module.parent()) {
                (Some(Keys::Any), Some((caller, step))) => Self::Call(caller, step.name.clone()),
                _ => Self::Module(module),
            },
        }
    }

    /// Returns the kind of the address for messages.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Call(..) => "module call",
            Self::Module(_) => "module instance",
            Self::Resource(_) => "resource",
            Self::Instance(_) => "resource instance",
        }
    }
}

impl fmt::Display for Moveable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(caller, name) => caller.child(name.clone(), InstanceKey::None).fmt(f),
            Self::Module(module) => module.fmt(f),
            Self::Resource(resource) => resource.fmt(f),
            Self::Instance(instance) => instance.fmt(f),
        }
    }
}
