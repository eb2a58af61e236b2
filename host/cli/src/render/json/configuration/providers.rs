//! Provider configurations: the module in which each is declared, and the key by which resources
//! refer to it.
//!
//! A key is the module's path followed by the name of the configuration in that module. A module
//! that does not declare a configuration uses its caller's configuration, under the caller's key;
//! the same applies to a configuration that a module call passes. Only configurations that are not
//! passed by a caller are listed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use wardian_address::{ModulePath, ProviderAddress};
use wardian_config::{Configuration, ModuleNode, ProviderReference};
use wardian_engine::Schemas;

use super::expressions::Expressions;

/// A provider configuration.
#[derive(Serialize)]
pub(super) struct ProviderConfigDocument<'a> {
    name: String,
    full_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_constraint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module_address: Option<String>,
    #[serde(skip_serializing_if = "Expressions::is_empty")]
    expressions: Expressions,
}

/// All configurations by key. If a caller passes another configuration in place of one of them, the
/// other configuration's key is stored as well.
pub(super) struct ProviderConfigs<'a>(BTreeMap<String, Known<'a>>);

struct Known<'a> {
    document: ProviderConfigDocument<'a>,
    /// The key of the configuration that a caller passes in place of this configuration.
    source: Option<String>,
}

impl<'a> ProviderConfigs<'a> {
    pub(super) fn for_configuration(configuration: &'a Configuration, schemas: &Schemas) -> Self {
        let mut all = Self(BTreeMap::new());
        for node in configuration.modules() {
            all.add_handed_over(configuration, node);
            all.add_stated(node, schemas);
            all.add_implied(configuration, node);
        }
        all
    }

    pub(super) fn into_documents(self) -> BTreeMap<String, ProviderConfigDocument<'a>> {
        let stated = self.0.into_iter().filter(|(_, known)| known.source.is_none());
        stated.map(|(key, known)| (key, known.document)).collect()
    }

    /// Returns the key of the configuration that a resource of a module uses.
    pub(super) fn key(&self, module: &ModulePath, reference: &ProviderReference) -> String {
        let key = key(module, &name(reference));
        match self.0.get(&key).and_then(|known| known.source.clone()) {
            Some(source) => source,
            None => key,
        }
    }

    /// Adds configurations passed by a caller. Callers are visited before the modules that they
    /// call, so the caller's keys are already known.
    fn add_handed_over(&mut self, configuration: &'a Configuration, node: &'a ModuleNode) {
        let Some((caller, call)) = node.path.parent() else { return };
        let call = configuration.module(&caller).and_then(|caller| caller.module.module_calls.get(call));
        for (inside, here) in call.iter().flat_map(|call| call.providers.iter().flatten()) {
            let address = node.module.provider_address(&inside.local_name);
            let source = self.source(&caller, &name(here), &address);
            let document = document(name(inside), &address, &node.path);
            self.0.insert(key(&node.path, &name(inside)), Known { document, source });
        }
    }

    fn add_stated(&mut self, node: &'a ModuleNode, schemas: &Schemas) {
        for config in node.module.provider_configs.values() {
            let address = node.module.provider_address(&config.local_name);
            let name = match &config.alias {
                Some(alias) => format!("{}.{alias}", config.local_name),
                None => config.local_name.to_string(),
            };
            let schema = schemas.provider(&address);
            let document = ProviderConfigDocument {
                alias: config.alias.as_deref(),
                version_constraint: constraint(node, &address),
                expressions: schema
                    .map(|schema| Expressions::of_body(&config.body, &schema.provider.block))
                    .unwrap_or_default(),
                ..document(config.local_name.to_string(), &address, &node.path)
            };
            self.0.insert(key(&node.path, &name), Known { document, source: None });
        }
    }

    /// Adds configurations that are required or used without a declaration.
    fn add_implied(&mut self, configuration: &'a Configuration, node: &'a ModuleNode) {
        let required = node.module.required_providers.iter();
        let named = required.map(|(name, required)| (name.to_string(), required.address.clone()));
        let used: BTreeSet<ProviderAddress> = node
            .module
            .resources
            .values()
            .map(|resource| configuration.provider_for(&node.path, resource).provider)
            .chain(to_be_written(configuration, node))
            .collect();
        let used = used.into_iter().map(|address| (address.type_name().to_owned(), address));
        for (name, address) in named.chain(used).collect::<Vec<_>>() {
            let key = key(&node.path, &name);
            if self.0.contains_key(&key) {
                continue;
            }
            let source = node.path.parent().and_then(|(caller, _)| self.source(&caller, &name, &address));
            let document = ProviderConfigDocument {
                version_constraint: constraint(node, &address),
                ..document(name, &address, &node.path)
            };
            self.0.insert(key, Known { document, source });
        }
    }

    /// Returns the key to which a name refers in a module, if the name refers to this provider.
    fn source(&self, module: &ModulePath, name: &str, address: &ProviderAddress) -> Option<String> {
        let key = key(module, name);
        let known = self.0.get(&key).filter(|known| known.document.full_name == address.to_string())?;
        Some(known.source.clone().unwrap_or(key))
    }
}

/// Returns the providers of objects that are imported into resources without a block.
fn to_be_written(configuration: &Configuration, node: &ModuleNode) -> impl Iterator<Item = ProviderAddress> {
    let blocks = node.module.imports.iter();
    let open = blocks.filter(|import| {
        import
            .resource()
            .is_some_and(|address| address.module == node.path && configuration.resource(&address).is_none())
    });
    open.filter_map(|import| Some(configuration.provider_of_import(import)?.provider))
}

fn document<'a>(name: String, address: &ProviderAddress, module: &ModulePath) -> ProviderConfigDocument<'a> {
    ProviderConfigDocument {
        name,
        full_name: address.to_string(),
        alias: None,
        version_constraint: None,
        module_address: (!module.is_root()).then(|| module.to_string()),
        expressions: Expressions::default(),
    }
}

fn name(reference: &ProviderReference) -> String {
    match &reference.alias {
        Some(alias) => format!("{}.{alias}", reference.local_name),
        None => reference.local_name.to_string(),
    }
}

fn key(module: &ModulePath, name: &str) -> String {
    if module.is_root() { name.to_owned() } else { format!("{module}:{name}") }
}

/// Returns the version constraint for a provider in the module itself.
fn constraint(node: &ModuleNode, address: &ProviderAddress) -> Option<String> {
    let required = node.module.required_providers.values().filter(|required| required.address == *address);
    let stated = node
        .module
        .provider_configs
        .values()
        .filter(|config| node.module.provider_address(&config.local_name) == *address);
    let asked = required
        .map(|required| &required.constraints)
        .chain(stated.filter_map(|config| config.version.as_ref().map(|(constraints, _)| constraints)));
    let all = asked.fold(wardian_address::Constraints::default(), |all, one| all.and(one));
    (!all.is_empty()).then(|| all.to_string())
}
