//! Checks `import` blocks against the configuration.

use std::collections::BTreeMap;

use wardian_address::{ModulePath, ProviderConfigAddress, ResourceAddress};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};

use crate::blocks::{Import, ProviderReference, Resource, implied_provider};
use crate::configuration::{Configuration, ModuleNode};

impl Import {
    /// Returns the resource for which objects are imported, without instance keys. Returns `None`
    /// if the address does not contain a resource; this cannot occur in a loaded configuration.
    pub fn resource(&self) -> Option<ResourceAddress> {
        let target = self.target.resource.as_ref()?;
        let root = ModulePath::root();
        let module = self.target.modules.iter().fold(root, |path, (name, _)| path.child(name.clone()));
        Some(ResourceAddress::new(module, target.mode, target.type_name.clone(), target.name.clone()))
    }

    /// Returns the provider of a resource that has no configuration yet: the provider in the
    /// `import` block, or the provider that the resource type implies.
    pub fn provider_reference(&self) -> Option<ProviderReference> {
        let implied = || self.target.resource.as_ref().map(|target| implied_provider(&target.type_name));
        self.provider.clone().or_else(implied)
    }
}

impl Configuration {
    /// Returns the block of a resource; `None` if the resource is not declared.
    pub fn resource(&self, address: &ResourceAddress) -> Option<&Resource> {
        let key = (address.mode, address.type_name.clone(), address.name.clone());
        self.module(&address.module)?.module.resources.get(&key)
    }

    /// Returns the provider configuration that imports the object of an `import` block.
    pub fn provider_of_import(&self, import: &Import) -> Option<ProviderConfigAddress> {
        let address = import.resource()?;
        if let Some(resource) = self.resource(&address) {
            return Some(self.provider_for(&address.module, resource));
        }
        let named = import.provider_reference()?;
        Some(self.provider_named(&address.module, &named.local_name, named.alias.as_ref()))
    }

    /// Checks that the root module does not import the same object twice.
    pub(crate) fn check_imports(&self, problems: &mut Diagnostics) {
        for node in self.modules() {
            let mut known: BTreeMap<&str, &Span> = BTreeMap::new();
            for import in &node.module.imports {
                let mut refuse = |summary: String, detail: String, span: &Span| {
                    let problem = Diagnostic::error(summary, detail).at(span.clone());
                    problems.push(problem.in_block("import"));
                };
                let to = import.to.span().text();
                if !node.path.is_root() {
                    let detail = format!(
                        "Import blocks are only allowed in the root module, and this one is in {}. To import \
                         a resource of that module, use an address such as {}.{to} in the root module.",
                        node.path, node.path
                    );
                    refuse("Invalid import configuration".to_owned(), detail, &import.span);
                    continue;
                }
                if let Some((detail, span)) = misplaced_provider(node, import) {
                    refuse("Invalid import provider argument".to_owned(), detail.to_owned(), span);
                }
                if node.module.has_errors || import.for_each.is_some() {
                    // The instances of a block with `for_each` have different addresses.
                } else if let Some(first) = known.get(to) {
                    let detail = format!("An object is already imported to {to} at {first}.");
                    refuse(format!("Duplicate import configuration for \"{to}\""), detail, import.to.span());
                } else {
                    known.insert(to, &import.span);
                }
            }
        }
    }
}

/// Returns the reason why the block must not contain a provider, and the span of the provider. If
/// the resource has a block, that block determines the provider.
fn misplaced_provider<'a>(root: &ModuleNode, import: &'a Import) -> Option<(&'static str, &'a Span)> {
    let named = import.provider.as_ref()?;
    let span = named.span.as_ref().unwrap_or(&import.span);
    let address = import.resource()?;
    if !address.module.is_root() {
        let detail = "An import block may name a provider only when it generates configuration, and \
            resources of modules already have configuration. The `providers` argument of the module \
            block determines their provider.";
        return Some((detail, span));
    }
    let key = (address.mode, address.type_name, address.name);
    let declared = &root.module.resources.get(&key)?.provider;
    let is_same = declared.span.is_some()
        && (&declared.local_name, &declared.alias) == (&named.local_name, &named.alias);
    let detail = "An import block may name a provider only when it generates configuration, and this \
        resource already has configuration. Set `provider` there instead.";
    (!is_same).then_some((detail, span))
}
