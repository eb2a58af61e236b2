//! Addresses of modules, resources, their instances and provider
//! configurations, as text in Terraform's form and as ordered keys.
//!
//! | type | example |
//! |---|---|
//! | [`ModulePath`] | `module.a.module.b` |
//! | [`ModuleInstance`] | `module.a["k"].module.b[0]` |
//! | [`ResourceAddress`] | `module.a.data.aws_ami.x` |
//! | [`AbsoluteResourceAddress`] | `module.a["k"].data.aws_ami.x` |
//! | [`ResourceInstanceAddress`] | `module.a["k"].data.aws_ami.x[0]` |
//! | [`ProviderConfigAddress`] | `module.a.provider["registry.terraform.io/hashicorp/aws"].west` |
//!
//! Every one of them is ordered as Terraform sorts: modules first (fewer steps
//! before more), then mode, type and name, then the key (none, numbers, text).
//! What always holds: the displayed form reads back as the same address.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use wardian_value::Str;

use crate::address::ProviderAddress;

mod parse;
mod quote;

pub use parse::{InstanceAddressError, InstanceAddressProblem};
pub use quote::Quoted;

/// Which of several instances, by `count` or `for_each`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceKey {
    /// The only one.
    #[default]
    None,
    /// By `count`.
    Int(u64),
    /// By `for_each`.
    String(Str),
}

impl InstanceKey {
    /// Whether there is no key.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// `[0]`, `["key"]` or nothing.
impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Int(index) => write!(f, "[{index}]"),
            Self::String(key) => write!(f, "[{}]", Quoted(key)),
        }
    }
}

/// Which kind of object a resource address names. Ordered as addresses are
/// sorted.
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

/// A module by the names of the calls that lead to it from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModulePath(Arc<[Str]>);

impl ModulePath {
    /// The root module.
    pub fn root() -> Self {
        Self::default()
    }

    /// Whether this is the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the calls, outermost first.
    pub fn names(&self) -> &[Str] {
        &self.0
    }

    /// The module that `name` calls here.
    #[must_use]
    pub fn child(&self, name: impl Into<Str>) -> Self {
        self.0.iter().cloned().chain([name.into()]).collect()
    }

    /// The calling module and the name of the call; `None` for the root.
    pub fn parent(&self) -> Option<(Self, &Str)> {
        let (name, path) = self.0.split_last()?;
        Some((path.iter().cloned().collect(), name))
    }

    /// The instance in which no call has a key.
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

/// `module.a.module.b`; nothing for the root.
impl fmt::Display for ModulePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}module.{name}")?;
        }
        Ok(())
    }
}

/// One call on the way to a module instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleStep {
    /// The name of the call.
    pub name: Str,
    /// Which of its instances.
    pub key: InstanceKey,
}

/// One instance of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModuleInstance(Arc<[ModuleStep]>);

impl ModuleInstance {
    /// The root module.
    pub fn root() -> Self {
        Self::default()
    }

    /// Whether this is the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The calls, outermost first.
    pub fn steps(&self) -> &[ModuleStep] {
        &self.0
    }

    /// An instance of the module that `name` calls here.
    #[must_use]
    pub fn child(&self, name: impl Into<Str>, key: InstanceKey) -> Self {
        self.0.iter().cloned().chain([ModuleStep { name: name.into(), key }]).collect()
    }

    /// The calling instance and the last step; `None` for the root.
    pub fn parent(&self) -> Option<(Self, &ModuleStep)> {
        let (step, path) = self.0.split_last()?;
        Some((path.iter().cloned().collect(), step))
    }

    /// The module without keys.
    pub fn path(&self) -> ModulePath {
        self.0.iter().map(|step| step.name.clone()).collect()
    }

    /// Whether this is `other` or somewhere below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// A resource in this module instance.
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

/// `module.a["k"].module.b[0]`; nothing for the root.
impl fmt::Display for ModuleInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}module.{}{}", step.name, step.key)?;
        }
        Ok(())
    }
}

/// A resource block: all instances in all instances of its module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceAddress {
    /// The module.
    pub module: ModulePath,
    /// Managed, data or ephemeral.
    pub mode: ResourceMode,
    /// `aws_instance`.
    pub type_name: Str,
    /// The name of the block.
    pub name: Str,
}

impl ResourceAddress {
    /// The address of a resource in a module.
    pub fn new(
        module: ModulePath,
        mode: ResourceMode,
        type_name: impl Into<Str>,
        name: impl Into<Str>,
    ) -> Self {
        Self { module, mode, type_name: type_name.into(), name: name.into() }
    }

    /// The resource in one instance of its module.
    pub fn in_module(&self, module: &ModuleInstance) -> AbsoluteResourceAddress {
        module.resource(self.mode, self.type_name.clone(), self.name.clone())
    }
}

/// `module.m.random_id.x`
impl fmt::Display for ResourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}{}.{}", self.module, self.mode.prefix(), self.type_name, self.name)
    }
}

/// A resource in one module instance: all its instances there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsoluteResourceAddress {
    /// The module instance.
    pub module: ModuleInstance,
    /// Managed, data or ephemeral.
    pub mode: ResourceMode,
    /// `aws_instance`.
    pub type_name: Str,
    /// The name of the block.
    pub name: Str,
}

impl AbsoluteResourceAddress {
    /// One instance.
    pub fn instance(&self, key: InstanceKey) -> ResourceInstanceAddress {
        ResourceInstanceAddress { resource: self.clone(), key }
    }

    /// The resource block.
    pub fn config(&self) -> ResourceAddress {
        ResourceAddress {
            module: self.module.path(),
            mode: self.mode,
            type_name: self.type_name.clone(),
            name: self.name.clone(),
        }
    }
}

/// `module.m["k"].random_id.x`
impl fmt::Display for AbsoluteResourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}{}.{}", self.module, self.mode.prefix(), self.type_name, self.name)
    }
}

/// One instance of a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceInstanceAddress {
    /// The resource in its module instance.
    pub resource: AbsoluteResourceAddress,
    /// Which of its instances.
    pub key: InstanceKey,
}

impl ResourceInstanceAddress {
    /// The module instance.
    pub fn module(&self) -> &ModuleInstance {
        &self.resource.module
    }

    /// Managed, data or ephemeral.
    pub fn mode(&self) -> ResourceMode {
        self.resource.mode
    }

    /// `aws_instance`.
    pub fn type_name(&self) -> &Str {
        &self.resource.type_name
    }

    /// The name of the block.
    pub fn name(&self) -> &Str {
        &self.resource.name
    }

    /// The resource block.
    pub fn config(&self) -> ResourceAddress {
        self.resource.config()
    }
}

/// `module.m["k"].random_id.x[0]`
impl fmt::Display for ResourceInstanceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.resource, self.key)
    }
}

/// A provider configuration: a `provider` block, or the empty one that is meant
/// where there is no block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderConfigAddress {
    /// The module in which it is configured.
    pub module: ModulePath,
    /// Which provider.
    pub provider: ProviderAddress,
    /// Which of several configurations; `None` for the default one.
    pub alias: Option<Str>,
}

impl ProviderConfigAddress {
    /// The default configuration of a provider in the root module.
    pub fn default_of(provider: ProviderAddress) -> Self {
        Self { module: ModulePath::root(), provider, alias: None }
    }
}

/// `module.a.provider["registry.terraform.io/hashicorp/aws"].west`
impl fmt::Display for ProviderConfigAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}provider[\"{}\"]", self.module, self.provider)?;
        match &self.alias {
            Some(alias) => write!(f, ".{alias}"),
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

/// Also reads the form of Terraform 0.12, `provider.aws.west`, whose provider
/// gets the legacy namespace ([`ProviderAddress::legacy`]).
impl FromStr for ProviderConfigAddress {
    type Err = InstanceAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::provider_config(text)
    }
}

#[cfg(test)]
mod tests;
