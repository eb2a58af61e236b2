//! The tree of modules, as one map.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{Constraints, ModulePath, ProviderConfigAddress};
use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_value::Str;

use crate::blocks::Resource;
use crate::module::Module;

/// A whole configuration: the root module and all modules that are called.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub(crate) modules: BTreeMap<ModulePath, ModuleNode>,
    /// What was worth saying although everything could be read.
    pub warnings: Diagnostics,
}

/// A module at its place in the tree.
#[derive(Clone, Debug)]
pub struct ModuleNode {
    /// The names of the calls that lead to it.
    pub path: ModulePath,
    /// What its files say; shared by all calls of the same directory.
    pub module: Arc<Module>,
    /// Which configuration each of its provider references means.
    pub(crate) providers: BTreeMap<(Str, Option<Str>), ProviderConfigAddress>,
}

/// What a whole configuration asks of one provider.
#[derive(Clone, Debug, Default)]
pub struct Requirement {
    /// All constraints together.
    pub constraints: Constraints,
    /// Who asks: the module, its own constraints, and the place if it says so.
    pub origins: Vec<(ModulePath, Constraints, Option<Span>)>,
}

impl Configuration {
    /// The root module.
    pub fn root(&self) -> &ModuleNode {
        &self.modules[&ModulePath::root()]
    }

    /// A module; `None` where nothing calls it.
    pub fn module(&self, path: &ModulePath) -> Option<&ModuleNode> {
        self.modules.get(path)
    }

    /// All modules, callers before what they call.
    pub fn modules(&self) -> impl Iterator<Item = &ModuleNode> {
        self.modules.values()
    }

    /// The text of every file, for diagnostics.
    pub fn files(&self) -> impl Iterator<Item = &Arc<SourceFile>> {
        self.modules().flat_map(|node| node.module.files.iter())
    }

    /// Which provider configuration a resource of a module belongs to.
    pub fn provider_for(&self, module: &ModulePath, resource: &Resource) -> ProviderConfigAddress {
        let reference = &resource.provider;
        self.provider_named(module, &reference.local_name, reference.alias.as_ref())
    }
}
