//! Compares the provider configurations that module calls pass with the configurations that the
//! modules expect.

use std::collections::{BTreeMap, BTreeSet};

use wardian_address::ProviderAddress;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_value::Str;

use super::{Name, at, reference_text};
use crate::blocks::{ModuleCall, ProviderConfig, ProviderReference};
use crate::configuration::{Configuration, ModuleNode};
use crate::module::Module;

impl Configuration {
    /// Returns true if the caller of a module must pass this configuration. If the caller does not
    /// pass it, the error is reported at the call.
    pub(super) fn needs_caller_configuration(&self, node: &ModuleNode, (local_name, alias): &Name) -> bool {
        let Some((caller, call)) = node.path.parent() else { return false };
        let declared = alias.as_ref().is_some_and(|alias| declares(&node.module, local_name, alias));
        let call = self.module(&caller).and_then(|caller| caller.module.module_calls.get(call));
        let passed = call.is_some_and(|call| {
            call.providers
                .iter()
                .flatten()
                .any(|(inside, _)| inside.local_name == *local_name && inside.alias == *alias)
        });
        declared || passed
    }

    pub(super) fn check_passed_providers(&self, problems: &mut Diagnostics) {
        for node in self.modules.values() {
            for (name, call) in &node.module.module_calls {
                let Some(called) = self.module(&node.path.child(name.clone())) else {
                    continue;
                };
                let mut found = Diagnostics::new();
                for (inside, here) in call.providers.iter().flatten() {
                    check_pair(node, called, inside, here, &mut found);
                }
                check_aliases(call, called, &mut found);
                self.check_repeated(call, called, &mut found);
                problems.extend(found.in_block(&format!("module \"{name}\"")));
            }
            if !node.path.is_root() {
                for config in node.module.provider_configs.values().filter(|config| is_empty(config)) {
                    let detail = format!(
                        "A module receives the configuration of {} from its caller even without this empty \
                         block. Remove the block; list aliases that the caller must pass in \
                         configuration_aliases in required_providers.",
                        config.local_name
                    );
                    let warning = Diagnostic::warning("Redundant empty provider block", detail)
                        .at(config.span.clone())
                        .in_block(format!("provider \"{}\"", config.local_name));
                    problems.push(warning);
                }
            }
        }
    }

    /// Checks that a module with `count`, `for_each` or `depends_on` does not configure
    /// providers itself.
    fn check_repeated(&self, call: &ModuleCall, called: &ModuleNode, problems: &mut Diagnostics) {
        let (argument, span) = if let Some(count) = &call.count {
            ("count", count.span())
        } else if let Some(for_each) = &call.for_each {
            ("for_each", for_each.span())
        } else if let Some(first) = call.depends_on.first() {
            ("depends_on", &first.span)
        } else {
            return;
        };
        let below = self.modules.range(called.path.clone()..).map(|(_, node)| node);
        for node in below.take_while(|node| node.path.names().starts_with(called.path.names())) {
            if let Some(config) = node.module.provider_configs.values().find(|config| !is_empty(config)) {
                let detail = format!(
                    "A module that is called with {argument} cannot contain provider blocks, but there is \
                     one at {}. Configure the provider in the root module and pass it with the \"providers\" \
                     argument.",
                    config.span
                );
                problems.push(
                    Diagnostic::error("Module is incompatible with count, for_each, and depends_on", detail)
                        .at(span.clone()),
                );
                return;
            }
        }
    }

    /// Warns if a module has two local names for one provider.
    pub(super) fn warn_of_duplicate_requirements(&self, problems: &mut Diagnostics) {
        for node in self.modules.values() {
            let module = &node.module;
            let mut entries: Vec<_> = module.required_providers.iter().collect();
            entries.sort_by_key(|(_, entry)| entry.span.start);
            let mut known: BTreeMap<&ProviderAddress, &Str> = BTreeMap::new();
            for (name, entry) in entries {
                if let Some(first) = known.get(&entry.address) {
                    let detail = format!("{} is already required as \"{first}\".", entry.address);
                    problems.push(
                        Diagnostic::warning("Duplicate required provider", detail)
                            .at(entry.span.clone())
                            .in_block("terraform"),
                    );
                } else {
                    known.insert(&entry.address, name);
                }
            }
            // Configurations of one provider with different aliases have the same name.
            let blocks: BTreeSet<&Str> = module.provider_configs.keys().map(|(name, _)| name).collect();
            for local_name in blocks {
                let address = module.provider_address(local_name);
                if address.is_built_in() || module.required_providers.contains_key(local_name) {
                    continue;
                }
                let required =
                    known.get(&address).and_then(|name| module.required_providers.get_key_value(*name));
                if let Some((name, entry)) = required {
                    let detail = format!(
                        "{address} is required as \"{name}\" here, and the provider \"{local_name}\" block \
                         refers to the same provider. Use one of the two names in both places."
                    );
                    problems.push(
                        Diagnostic::warning("Duplicate required provider", detail)
                            .at(entry.span.clone())
                            .in_block("terraform"),
                    );
                }
            }
            for resource in module.resources.values() {
                let local_name = &resource.provider.local_name;
                let implied =
                    resource.provider.span.is_none() && !module.required_providers.contains_key(local_name);
                if let Some(name) = known.get(&module.provider_address(local_name)).filter(|_| implied) {
                    let detail = format!(
                        "The type of this resource implies the provider \"{local_name}\", which \
                         required_providers calls \"{name}\". Set provider = {name} here, or call it \
                         \"{local_name}\" there."
                    );
                    problems.push(
                        Diagnostic::warning("Duplicate required provider", detail)
                            .at(resource.span.clone())
                            .in_block(resource.context()),
                    );
                }
            }
        }
    }
}

/// Returns true if a block configures nothing. Legacy modules contain such blocks to declare the
/// provider configurations that they expect.
pub(super) fn is_empty(config: &ProviderConfig) -> bool {
    config.body.attributes.is_empty() && config.body.blocks.is_empty() && config.version.is_none()
}

fn declares(module: &Module, local_name: &str, alias: &str) -> bool {
    module
        .required_providers
        .get(local_name)
        .is_some_and(|required| required.configuration_aliases.iter().any(|(known, _)| &**known == alias))
}

/// Returns the provider to which a name in a `providers` argument refers. An undeclared name refers
/// to the provider with this name in the default namespace, even if a resource would imply another
/// provider.
fn address(module: &Module, local_name: &Str) -> Option<ProviderAddress> {
    match module.required_providers.get(local_name) {
        Some(required) => Some(required.address.clone()),
        None => default_address(local_name),
    }
}

/// Returns the provider with a name in the default namespace.
fn default_address(local_name: &Str) -> Option<ProviderAddress> {
    ProviderAddress::parse(&format!("hashicorp/{local_name}")).ok()
}

fn check_pair(
    caller: &ModuleNode,
    called: &ModuleNode,
    inside: &ProviderReference,
    here: &ProviderReference,
    problems: &mut Diagnostics,
) {
    let (module, callers) = (&called.module, &caller.module);
    let mut tell = |diagnostic: Diagnostic, span: &Option<Span>| {
        problems.push(at(diagnostic, span.clone()));
    };
    let configured = module.provider_configs.get(&(inside.local_name.clone(), inside.alias.clone()));
    let declared = module.required_providers.contains_key(&inside.local_name);
    let expected = match &inside.alias {
        None => declared,
        Some(alias) => declares(module, &inside.local_name, alias),
    };
    if let Some(own) = configured.filter(|config| !is_empty(config)) {
        let detail = format!(
            "The module configures {} itself, at {}, so another configuration cannot be passed.",
            reference_text(inside),
            own.span
        );
        tell(Diagnostic::error("Cannot override provider configuration", detail), &here.span);
    } else if !expected && configured.is_none() {
        let named = reference_text(inside);
        let detail = if declared {
            format!(
                "The module does not expect a provider configuration {named}; list it in \
                 configuration_aliases in its required_providers."
            )
        } else {
            format!(
                "The module does not declare {named} in required_providers, so it is assumed to be \
                 hashicorp/{}.",
                inside.local_name
            )
        };
        // Without a declaration, the name refers to a provider in the default namespace.
        let is_assumed =
            !declared || address(module, &inside.local_name) == default_address(&inside.local_name);
        let summary = "Reference to undefined provider";
        let problem = if is_assumed {
            Diagnostic::warning(summary, detail)
        } else {
            Diagnostic::error(summary, detail)
        };
        tell(problem, &local_name_span(inside));
    }
    let is_known_here = here.alias.is_some() || callers.required_providers.contains_key(&here.local_name);
    if !is_known_here {
        let detail = format!(
            "The provider {} is not declared, so it is assumed to be hashicorp/{}. Declare it in \
             required_providers.",
            reference_text(here),
            here.local_name
        );
        tell(Diagnostic::warning("Reference to undefined provider", detail), &local_name_span(here));
    }
    let (wanted, given) = (address(module, &inside.local_name), address(callers, &here.local_name));
    if let (Some(wanted), Some(given)) = (wanted, given)
        && wanted != given
    {
        let detail = format!(
            "The module expects a configuration of {wanted} as {}, but receives one of {given}.",
            reference_text(inside)
        );
        tell(Diagnostic::error("Provider type mismatch", detail), &local_name_span(here));
    }
}

/// Returns the span of a reference without its alias.
fn local_name_span(reference: &ProviderReference) -> Option<Span> {
    let span = reference.span.as_ref()?;
    let length = span.text().find('.').unwrap_or(span.end - span.start);
    Some(Span { end: span.start + length, ..span.clone() })
}

/// Checks the configurations that a module requires by alias.
fn check_aliases(call: &ModuleCall, called: &ModuleNode, problems: &mut Diagnostics) {
    for (local_name, required) in &called.module.required_providers {
        for (alias, _) in &required.configuration_aliases {
            let passed =
                call.providers.iter().flatten().any(|(inside, _)| {
                    inside.local_name == *local_name && inside.alias.as_ref() == Some(alias)
                });
            let own = called.module.provider_configs.get(&(local_name.clone(), Some(alias.clone())));
            let configured = own.is_some_and(|config| !is_empty(config));
            if !passed && !configured {
                let detail = format!(
                    "The module requires a configuration {local_name}.{alias} of {}. Pass one: providers = \
                     {{ {local_name}.{alias} = ... }}",
                    required.address
                );
                problems.push(
                    Diagnostic::error("Missing required provider configuration", detail)
                        .at(call.span.clone()),
                );
            }
        }
    }
}
