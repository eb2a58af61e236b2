//! The tree of modules, stored in one map.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{ActionAddress, Constraints, ModulePath, ProviderConfigAddress};
use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_value::Str;

use crate::blocks::{ActionBlock, Resource};
use crate::module::Module;

/// A complete configuration: the root module and all called modules.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub(crate) modules: BTreeMap<ModulePath, ModuleNode>,
    /// Warnings from loading.
    pub warnings: Diagnostics,
    /// Errors in arguments of module calls, and references to provider configurations that do not
    /// exist. Modules and providers can be installed despite these errors.
    pub(crate) unresolved: Diagnostics,
}

/// A module and its position in the tree.
#[derive(Clone, Debug)]
pub struct ModuleNode {
    /// The names of the module calls on the path to the module.
    pub path: ModulePath,
    /// The content of the module's files, shared by all calls of the same directory.
    pub module: Arc<Module>,
    /// The provider configuration for each provider reference in the module.
    pub(crate) providers: BTreeMap<(Str, Option<Str>), ProviderConfigAddress>,
}

/// The requirement of the configuration for one provider.
#[derive(Clone, Debug, Default)]
pub struct Requirement {
    /// All constraints combined.
    pub constraints: Constraints,
    /// The origins of the requirement: for each, the module, its constraints, and the span of the
    /// constraints if they are explicit.
    pub origins: Vec<(ModulePath, Constraints, Option<Span>)>,
}

impl Configuration {
    pub fn root(&self) -> &ModuleNode {
        &self.modules[&ModulePath::root()]
    }

    pub fn module(&self, path: &ModulePath) -> Option<&ModuleNode> {
        self.modules.get(path)
    }

    /// Returns all modules. Each caller is returned before the modules that it calls.
    pub fn modules(&self) -> impl Iterator<Item = &ModuleNode> {
        self.modules.values()
    }

    /// Returns the text of every file, for display in diagnostics.
    pub fn files(&self) -> impl Iterator<Item = &Arc<SourceFile>> {
        self.modules().flat_map(|node| node.module.files.iter())
    }

    /// Returns the provider configuration of a module's resource.
    pub fn provider_for(&self, module: &ModulePath, resource: &Resource) -> ProviderConfigAddress {
        let reference = &resource.provider;
        self.provider_named(module, &reference.local_name, reference.alias.as_ref())
    }

    /// Returns the block of an action; `None` if the action is not declared.
    pub fn action(&self, address: &ActionAddress) -> Option<&ActionBlock> {
        let key = (address.type_name.clone(), address.name.clone());
        self.module(&address.module)?.module.actions.get(&key)
    }

    /// Returns the provider configuration of a module's action.
    pub fn provider_for_action(&self, module: &ModulePath, action: &ActionBlock) -> ProviderConfigAddress {
        let reference = &action.provider;
        self.provider_named(module, &reference.local_name, reference.alias.as_ref())
    }
}
