//! Addresses of modules, resources, resource instances and provider configurations.
//!
//! | type | example |
//! |---|---|
//! | [`ModulePath`] | `module.a.module.b` |
//! | [`ModuleInstance`] | `module.a["k"].module.b[0]` |
//! | [`ResourceAddress`] | `module.a.data.aws_ami.x` |
//! | [`AbsoluteResourceAddress`] | `module.a["k"].data.aws_ami.x` |
//! | [`ResourceInstanceAddress`] | `module.a["k"].data.aws_ami.x[0]` |
//! | [`ActionAddress`] | `module.a.action.aws_lambda_invoke.x` |
//! | [`ActionInstanceAddress`] | `module.a["k"].action.aws_lambda_invoke.x[0]` |
//! | [`ProviderConfigAddress`] | `module.a.provider["registry.terraform.io/hashicorp/aws"].west` |
//!
//! Addresses are sorted in Terraform's order: by module (addresses with fewer steps first), then
//! mode, type and name, then key (none, numbers, strings). Parsing the displayed form of an address
//! always yields the same address.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use wardian_value::Str;

use crate::ProviderAddress;

mod action;
mod parse;
mod quote;

pub use action::{ActionAddress, ActionInstanceAddress};
pub use parse::{InstanceAddressError, InstanceAddressProblem};
pub use quote::Quoted;

/// The key of an instance, as determined by `count` or `for_each`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceKey {
    /// The key of a single instance, without `count` and `for_each`.
    #[default]
    None,
    /// An index of `count`.
    Int(u64),
    /// A key of `for_each`.
    String(Str),
}

impl InstanceKey {
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Writes `[0]`, `["key"]` or nothing.
impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Int(index) => {
                f.write_str("[")?;
                index.fmt(f)?;
                f.write_str("]")
            }
            Self::String(key) => {
                f.write_str("[")?;
                Quoted(key).fmt(f)?;
                f.write_str("]")
            }
        }
    }
}

/// The kind of object to which a resource address refers. The variants are in Terraform's sort
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceMode {
    /// `data`: read, never changed.
    Data,
    /// `resource`: created, changed and destroyed.
    Managed,
    /// `ephemeral`: opened and closed, never stored.
    Ephemeral,
}

impl ResourceMode {
    fn prefix(self) -> &'static str {
        match self {
            Self::Data => "data.",
            Self::Managed => "",
            Self::Ephemeral => "ephemeral.",
        }
    }
}

/// The path of a module: the names of the module calls, starting at the root module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModulePath(Arc<[Str]>);

impl ModulePath {
    pub fn root() -> Self {
        Self::default()
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the calls, outermost first.
    pub fn names(&self) -> &[Str] {
        &self.0
    }

    /// Returns the path of the module that is loaded by the call `name` in this module.
    #[must_use]
    pub fn child(&self, name: impl Into<Str>) -> Self {
        self.0.iter().cloned().chain([name.into()]).collect()
    }

    /// Returns the calling module and the name of the call; `None` for the root module.
    pub fn parent(&self) -> Option<(Self, &Str)> {
        let (name, path) = self.0.split_last()?;
        Some((path.iter().cloned().collect(), name))
    }

    /// Returns the module instance whose steps have no keys.
    pub fn unkeyed_instance(&self) -> ModuleInstance {
        self.0.iter().map(|name| ModuleStep { name: name.clone(), key: InstanceKey::None }).collect()
    }
}

impl FromIterator<Str> for ModulePath {
    fn from_iter<I: IntoIterator<Item = Str>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

impl Ord for ModulePath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for ModulePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Writes `module.a.module.b`, or nothing for the root module.
impl fmt::Display for ModulePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}module.{name}")?;
        }
        Ok(())
    }
}

/// A module call in the address of a module instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleStep {
    pub name: Str,
    pub key: InstanceKey,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModuleInstance(Arc<[ModuleStep]>);

impl ModuleInstance {
    pub fn root() -> Self {
        Self::default()
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the module calls, outermost first.
    pub fn steps(&self) -> &[ModuleStep] {
        &self.0
    }

    /// Returns an instance of the module that is loaded by the call `name` in this instance.
    #[must_use]
    pub fn child(&self, name: impl Into<Str>, key: InstanceKey) -> Self {
        self.0.iter().cloned().chain([ModuleStep { name: name.into(), key }]).collect()
    }

    /// Returns the calling instance and the last step; `None` for the root module.
    pub fn parent(&self) -> Option<(Self, &ModuleStep)> {
        let (step, path) = self.0.split_last()?;
        Some((path.iter().cloned().collect(), step))
    }

    /// Returns the module's path, without keys.
    pub fn path(&self) -> ModulePath {
        self.0.iter().map(|step| step.name.clone()).collect()
    }

    /// Returns whether this instance is `other` or is nested in it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns the address of a resource in this module instance.
    pub fn resource(
        &self,
        mode: ResourceMode,
        type_name: impl Into<Str>,
        name: impl Into<Str>,
    ) -> AbsoluteResourceAddress {
        AbsoluteResourceAddress { module: self.clone(), mode, type_name: type_name.into(), name: name.into() }
    }
}

impl FromIterator<ModuleStep> for ModuleInstance {
    fn from_iter<I: IntoIterator<Item = ModuleStep>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl Ord for ModuleInstance {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for ModuleInstance {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Writes `module.a["k"].module.b[0]`, or nothing for the root module.
impl fmt::Display for ModuleInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "module." } else { ".module." })?;
            f.write_str(&step.name)?;
            step.key.fmt(f)?;
        }
        Ok(())
    }
}

/// The address of a resource block. It includes all instances of the resource in all instances of
/// its module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceAddress {
    pub module: ModulePath,
    pub mode: ResourceMode,
    /// The resource type: `aws_instance`.
    pub type_name: Str,
    /// The name of the block.
    pub name: Str,
}

impl ResourceAddress {
    /// Creates the address of a resource in a module.
    pub fn new(
        module: ModulePath,
        mode: ResourceMode,
        type_name: impl Into<Str>,
        name: impl Into<Str>,
    ) -> Self {
        Self { module, mode, type_name: type_name.into(), name: name.into() }
    }

    /// Returns the address of the resource in an instance of its module.
    pub fn in_module(&self, module: &ModuleInstance) -> AbsoluteResourceAddress {
        module.resource(self.mode, self.type_name.clone(), self.name.clone())
    }
}

/// Writes `module.m.random_id.x`.
impl fmt::Display for ResourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}{}.{}", self.module, self.mode.prefix(), self.type_name, self.name)
    }
}

/// The address of a resource in one module instance. It includes all instances of the resource in
/// that module instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsoluteResourceAddress {
    pub module: ModuleInstance,
    pub mode: ResourceMode,
    /// The resource type: `aws_instance`.
    pub type_name: Str,
    /// The name of the block.
    pub name: Str,
}

impl AbsoluteResourceAddress {
    /// Returns the address of the instance with the given key.
    pub fn instance(&self, key: InstanceKey) -> ResourceInstanceAddress {
        ResourceInstanceAddress { resource: self.clone(), key }
    }

    /// Returns the address of the resource block.
    pub fn config(&self) -> ResourceAddress {
        ResourceAddress {
            module: self.module.path(),
            mode: self.mode,
            type_name: self.type_name.clone(),
            name: self.name.clone(),
        }
    }
}

/// Writes `module.m["k"].random_id.x`.
impl fmt::Display for AbsoluteResourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Formatting with `write!` takes several times as long, and addresses are formatted for every
        // line of progress and every record of the journal.
        if !self.module.is_root() {
            self.module.fmt(f)?;
            f.write_str(".")?;
        }
        f.write_str(self.mode.prefix())?;
        f.write_str(&self.type_name)?;
        f.write_str(".")?;
        f.write_str(&self.name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceInstanceAddress {
    pub resource: AbsoluteResourceAddress,
    pub key: InstanceKey,
}

impl ResourceInstanceAddress {
    pub fn module(&self) -> &ModuleInstance {
        &self.resource.module
    }

    /// Returns whether the resource is managed, data or ephemeral.
    pub fn mode(&self) -> ResourceMode {
        self.resource.mode
    }

    /// Returns the resource type: `aws_instance`.
    pub fn type_name(&self) -> &Str {
        &self.resource.type_name
    }

    /// Returns the name of the resource block.
    pub fn name(&self) -> &Str {
        &self.resource.name
    }

    /// Returns the address of the resource block.
    pub fn config(&self) -> ResourceAddress {
        self.resource.config()
    }
}

/// Writes `module.m["k"].random_id.x[0]`.
impl fmt::Display for ResourceInstanceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resource.fmt(f)?;
        self.key.fmt(f)
    }
}

/// The address of a provider configuration: a `provider` block, or the empty configuration of a
/// provider that has no block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderConfigAddress {
    /// The module that contains the provider configuration.
    pub module: ModulePath,
    pub provider: ProviderAddress,
    /// The alias; `None` for the default configuration.
    pub alias: Option<Str>,
}

impl ProviderConfigAddress {
    /// Returns the address of a provider's default configuration in the root module.
    pub fn for_default(provider: ProviderAddress) -> Self {
        Self { module: ModulePath::root(), provider, alias: None }
    }
}

/// Writes `module.a.provider["registry.terraform.io/hashicorp/aws"].west`.
impl fmt::Display for ProviderConfigAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            self.module.fmt(f)?;
            f.write_str(".")?;
        }
        f.write_str("provider[\"")?;
        self.provider.fmt(f)?;
        f.write_str("\"]")?;
        match &self.alias {
            Some(alias) => {
                f.write_str(".")?;
                f.write_str(alias)
            }
            None => Ok(()),
        }
    }
}

impl FromStr for ModuleInstance {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::module_instance(text)
    }
}

impl FromStr for ResourceAddress {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::resource(text)
    }
}

impl FromStr for ResourceInstanceAddress {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::resource_instance(text)
    }
}

/// Parses Terraform's syntax, and the syntax of Terraform 0.12, `provider.aws.west`. In the latter,
/// the provider has the legacy namespace ([`ProviderAddress::legacy`]).
impl FromStr for ProviderConfigAddress {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::provider_config(text)
    }
}

#[cfg(test)]
mod tests;
