//! Addresses of actions.

use std::fmt;
use std::str::FromStr;

use wardian_value::Str;

use super::{InstanceAddressError, InstanceKey, ModuleInstance, ModulePath, parse};

/// The address of an action block. It includes all instances of the action in all instances of its
/// module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionAddress {
    pub module: ModulePath,
    /// The action type: `aws_lambda_invoke`.
    pub type_name: Str,
    /// The name of the block.
    pub name: Str,
}

impl ActionAddress {
    /// Returns the address of an instance of the action in an instance of its module.
    pub fn instance(&self, module: &ModuleInstance, key: InstanceKey) -> ActionInstanceAddress {
        ActionInstanceAddress {
            module: module.clone(),
            type_name: self.type_name.clone(),
            name: self.name.clone(),
            key,
        }
    }
}

/// Writes `module.m.action.aws_lambda_invoke.x`.
impl fmt::Display for ActionAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}action.{}.{}", self.module, self.type_name, self.name)
    }
}

impl FromStr for ActionAddress {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::action(text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionInstanceAddress {
    pub module: ModuleInstance,
    /// The action type: `aws_lambda_invoke`.
    pub type_name: Str,
    /// The name of the block.
    pub name: Str,
    pub key: InstanceKey,
}

impl ActionInstanceAddress {
    /// Returns the address of the action block.
    pub fn config(&self) -> ActionAddress {
        ActionAddress {
            module: self.module.path(),
            type_name: self.type_name.clone(),
            name: self.name.clone(),
        }
    }
}

/// Writes `module.m["k"].action.aws_lambda_invoke.x[0]`.
impl fmt::Display for ActionInstanceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}action.{}.{}{}", self.module, self.type_name, self.name, self.key)
    }
}

impl FromStr for ActionInstanceAddress {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::action_instance(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_addresses_are_parsed() {
        for text in ["action.a_b.c", "action.a.b[3]", r#"module.m["x.y"].module.n[0].action.a.b["k\"q"]"#] {
            let address: ActionInstanceAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(address.config().to_string().parse(), Ok(address.config()));
        }
    }

    #[test]
    fn other_addresses_are_rejected() {
        for text in [
            "",
            "action",
            "action.",
            "action.a",
            "action.a.",
            "a.b",
            "data.a.b",
            "action.a.b.c",
            "action.a.b[x]",
        ] {
            assert!(text.parse::<ActionInstanceAddress>().is_err(), "{text}");
        }
        assert!("module.m[0].action.a.b".parse::<ActionAddress>().is_err());
    }
}
