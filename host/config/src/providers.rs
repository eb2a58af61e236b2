//! Resolves provider references to providers and provider configurations.
//!
//! In a module, `aws.west` resolves to the first of these that exists:
//!
//! | | |
//! |---|---|
//! | the module's own `provider "aws"` block with that alias, unless it is empty and the call passes a configuration | that block |
//! | an entry `aws.west = ...` in the `providers` of the module call | the entry's value, resolved in the calling module |
//! | without an alias: neither of the two | the same provider's default configuration in the calling module |
//! | without an alias, in the root | an empty configuration |

mod provider_passing;

use std::collections::{BTreeMap, BTreeSet};

use wardian_address::{Constraints, ModulePath, ProviderAddress, ProviderConfigAddress};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span, did_you_mean};
use wardian_value::Str;

use crate::blocks::{ProviderReference, Resource};
use crate::configuration::{Configuration, ModuleNode, Requirement};
use crate::module::Module;

type Name = (Str, Option<Str>);

impl Module {
    /// Returns the provider to which a local name refers: the provider in `required_providers`, or
    /// the provider with this name in the default namespace.
    ///
    /// A name that cannot be a provider name is rejected when the module is loaded.
    pub fn provider_address(&self, local_name: &str) -> ProviderAddress {
        match self.required_providers.get(local_name) {
            Some(required) => required.address.clone(),
            None => ProviderAddress::implied_by_local_name(local_name)
                .unwrap_or_else(|_| ProviderAddress::built_in("invalid")),
        }
    }

    /// Returns every provider configuration that the module declares or to which it refers.
    pub(crate) fn provider_names(&self) -> BTreeMap<Name, Option<Span>> {
        let mut names = BTreeMap::new();
        let mut add = |reference: &ProviderReference, otherwise: &Span| {
            let span = reference.span.clone().unwrap_or_else(|| otherwise.clone());
            names.entry((reference.local_name.clone(), reference.alias.clone())).or_insert(Some(span));
        };
        for resource in self.resources.values() {
            add(&resource.provider, &resource.span);
        }
        for action in self.actions.values() {
            add(&action.provider, &action.span);
        }
        for list in self.lists.values() {
            add(&list.provider, &list.span);
        }
        for import in &self.imports {
            // The providers of declared resources were added by the loop over resources.
            let is_declared = import.resource().is_none_or(|address| {
                !address.module.is_root()
                    || self.resources.contains_key(&(address.mode, address.type_name, address.name))
            });
            if let Some(provider) = import.provider_reference().filter(|_| !is_declared) {
                add(&provider, &import.span);
            } else if let Some(provider) = &import.provider {
                add(provider, &import.span);
            }
        }
        for call in self.module_calls.values() {
            for (_, here) in call.providers.iter().flatten() {
                add(here, &call.span);
            }
        }
        for (name, config) in &self.provider_configs {
            names.entry(name.clone()).or_insert_with(|| Some(config.span.clone()));
        }
        for (local_name, required) in &self.required_providers {
            for (alias, span) in &required.configuration_aliases {
                names.entry((local_name.clone(), Some(alias.clone()))).or_insert_with(|| Some(span.clone()));
            }
        }
        names
    }
}

impl Configuration {
    /// Returns the configuration to which a provider's local name and alias refer in a module: a
    /// configuration of the module itself, one that is passed by the caller, or an inherited one.
    pub fn provider_named(
        &self,
        module: &ModulePath,
        local_name: &Str,
        alias: Option<&Str>,
    ) -> ProviderConfigAddress {
        let name = (local_name.clone(), alias.cloned());
        let node = self.module(module).unwrap_or_else(|| self.root());
        match node.providers.get(&name) {
            Some(address) => address.clone(),
            None => self.meant_by(node, &name).unwrap_or_else(|| {
                ProviderConfigAddress::for_default(node.module.provider_address(local_name))
            }),
        }
    }

    /// Returns all providers that the configuration requires, including built-in providers, each
    /// with its requirements.
    pub fn provider_requirements(&self) -> BTreeMap<ProviderAddress, Requirement> {
        let mut requirements: BTreeMap<ProviderAddress, Requirement> = BTreeMap::new();
        let mut ask =
            |address: ProviderAddress, path: &ModulePath, constraints: &Constraints, span: Option<&Span>| {
                let requirement = requirements.entry(address).or_default();
                requirement.constraints = requirement.constraints.and(constraints);
                requirement.origins.push((path.clone(), constraints.clone(), span.cloned()));
            };
        for node in self.modules() {
            let module = &node.module;
            for required in module.required_providers.values() {
                ask(required.address.clone(), &node.path, &required.constraints, Some(&required.span));
            }
            for config in module.provider_configs.values() {
                if let Some((constraints, span)) = &config.version {
                    ask(module.provider_address(&config.local_name), &node.path, constraints, Some(span));
                }
            }
            let implied: BTreeSet<ProviderAddress> = module
                .provider_names()
                .into_keys()
                .filter(|(local_name, _)| !module.required_providers.contains_key(local_name))
                .map(|(local_name, _)| module.provider_address(&local_name))
                .collect();
            for address in implied {
                ask(address, &node.path, &Constraints::default(), None);
            }
        }
        requirements
    }

    /// Resolves every provider reference and reports invalid ones. References to configurations that
    /// do not exist are added to `unresolved`.
    pub(crate) fn resolve_providers(&mut self, problems: &mut Diagnostics, unresolved: &mut Diagnostics) {
        let mut resolved = Vec::new();
        for node in self.modules.values() {
            let mut providers = BTreeMap::new();
            for (name, span) in node.module.provider_names() {
                if !node.module.required_providers.contains_key(&name.0)
                    && let Err(error) = ProviderAddress::implied_by_local_name(&name.0)
                {
                    problems.push(at(Diagnostic::error("Invalid provider name", format!("{error}.")), span));
                    continue;
                }
                match self.meant_by(node, &name) {
                    Some(address) => {
                        providers.insert(name, address);
                    }
                    // The check of the module call reports the missing provider configuration.
                    None if self.needs_caller_configuration(node, &name) => {}
                    // The root module has no caller that passes configurations, and may declare a
                    // provider that it does not use.
                    None if node.path.is_root() && is_only_declared(&node.module, &name, span.as_ref()) => {}
                    None => unresolved.push(at(not_present(node, &name), span)),
                }
            }
            resolved.push((node.path.clone(), providers));
        }
        for (path, providers) in resolved {
            if let Some(node) = self.modules.get_mut(&path) {
                node.providers = providers;
            }
        }
        self.warn_of_duplicate_requirements(problems);
        self.check_passed_providers(problems);
    }

    fn meant_by(&self, node: &ModuleNode, name: &Name) -> Option<ProviderConfigAddress> {
        let (local_name, alias) = name;
        let address = node.module.provider_address(local_name);
        let own = node.module.provider_configs.get(name);
        let passed = self.passed_by_caller(node, name);
        // An empty block is a placeholder for the configuration that the caller passes.
        if let Some(own) = own
            && (passed.is_none() || !provider_passing::is_empty(own))
        {
            return Some(ProviderConfigAddress {
                module: node.path.clone(),
                provider: address,
                alias: alias.clone(),
            });
        }
        if let Some((caller, here)) = passed {
            return self.meant_by(caller, &(here.local_name.clone(), here.alias.clone()));
        }
        let Some((caller, _)) = node.path.parent() else {
            return alias.is_none().then(|| ProviderConfigAddress::for_default(address));
        };
        if alias.is_some() {
            return None;
        }
        self.default_of(self.module(&caller)?, address)
    }

    /// Returns the default configuration of a provider used by a module, even if the module does
    /// not declare the provider.
    fn default_of(&self, node: &ModuleNode, address: ProviderAddress) -> Option<ProviderConfigAddress> {
        let local_name = local_name_of(&node.module, &address);
        if node.module.provider_address(&local_name) == address {
            return self.meant_by(node, &(local_name, None));
        }
        match node.path.parent() {
            Some((caller, _)) => self.default_of(self.module(&caller)?, address),
            None => Some(ProviderConfigAddress::for_default(address)),
        }
    }

    /// Returns the configuration that a module call passes under a name, and the calling module.
    fn passed_by_caller(&self, node: &ModuleNode, name: &Name) -> Option<(&ModuleNode, &ProviderReference)> {
        let (caller, call) = node.path.parent()?;
        let caller = self.module(&caller)?;
        let call = caller.module.module_calls.get(call)?;
        let mut pairs = call.providers.iter().flatten();
        let (_, here) =
            pairs.find(|(inside, _)| (&inside.local_name, &inside.alias) == (&name.0, &name.1))?;
        Some((caller, here))
    }

    /// Checks the inputs of module calls against the variables of the called modules.
    pub(crate) fn check_calls(&self, warnings: &mut Diagnostics, errors: &mut Diagnostics) {
        for node in self.modules.values() {
            for (name, call) in &node.module.module_calls {
                let called = self.module(&node.path.child(name.clone()));
                let Some(called) = called.filter(|called| !called.module.has_errors) else {
                    continue;
                };
                let variables = &called.module.variables;
                let (mut deprecations, mut found) = (Diagnostics::new(), Diagnostics::new());
                for (input, attribute) in &call.inputs {
                    let deprecated = variables.get(input).and_then(|variable| variable.deprecated.as_ref());
                    if let Some(advice) = deprecated {
                        deprecations.push(
                            Diagnostic::warning(
                                "Deprecated variable got a value",
                                format!("The module marks its variable \"{input}\" as deprecated: {advice}"),
                            )
                            .at(attribute.expression.span().clone()),
                        );
                    }
                    if !variables.contains_key(input) {
                        let detail = format!(
                            "The module has no variable named \"{input}\".{}",
                            did_you_mean(input, variables.keys().map(|variable| &**variable))
                        );
                        found.push(
                            Diagnostic::error("Unsupported argument", detail).at(attribute.name_span.clone()),
                        );
                    }
                }
                for variable in variables.values().filter(|variable| variable.is_required()) {
                    if !call.inputs.contains_key(&variable.name) {
                        let detail = format!(
                            "The module requires a value for its variable \"{}\", which has no default.",
                            variable.name
                        );
                        found.push(
                            Diagnostic::error("Missing required argument", detail)
                                .at(call.missing_input_span.clone()),
                        );
                    }
                }
                let context = format!("module \"{name}\"");
                warnings.extend(deprecations.in_block(&context));
                errors.extend(found.in_block(&context));
            }
        }
    }

    /// Returns the modules' resources, each with its provider configuration.
    pub fn resources(&self) -> impl Iterator<Item = (&ModuleNode, &Resource, ProviderConfigAddress)> {
        self.modules().flat_map(move |node| {
            node.module
                .resources
                .values()
                .map(move |resource| (node, resource, self.provider_for(&node.path, resource)))
        })
    }
}

/// Returns whether `span`, the first reference to a provider configuration, is its declaration in
/// `configuration_aliases`.
fn is_only_declared(module: &Module, (local_name, alias): &Name, span: Option<&Span>) -> bool {
    let required = module.required_providers.get(local_name);
    required.is_some_and(|required| {
        required
            .configuration_aliases
            .iter()
            .any(|(known, declared)| Some(known) == alias.as_ref() && Some(declared) == span)
    })
}

/// Returns the local name of a provider in a module. If the module does not declare the provider,
/// returns the name that implies it.
fn local_name_of(module: &Module, address: &ProviderAddress) -> Str {
    let required = module.required_providers.iter().find(|(_, required)| required.address == *address);
    match required {
        Some((local_name, _)) => local_name.clone(),
        None => Str::new(address.type_name()),
    }
}

fn reference_text(reference: &ProviderReference) -> String {
    match &reference.alias {
        None => reference.local_name.to_string(),
        Some(alias) => format!("{}.{alias}", reference.local_name),
    }
}

fn not_present(node: &ModuleNode, (local_name, alias): &Name) -> Diagnostic {
    let alias = alias.as_deref().unwrap_or_default();
    let aliases = node
        .module
        .provider_configs
        .keys()
        .filter(|(name, _)| name == local_name)
        .filter_map(|(_, alias)| alias.as_deref());
    let advice = did_you_mean(alias, aliases);
    let detail = if node.path.is_root() {
        format!(
            "There is no provider \"{local_name}\" block with alias = \"{alias}\" in the root module.{advice}"
        )
    } else {
        format!(
            "{} has no provider \"{local_name}\" block with alias = \"{alias}\", and its caller does not \
             pass {local_name}.{alias} in the \"providers\" argument.{advice}",
            node.path
        )
    };
    Diagnostic::error("Provider configuration not present", detail)
}

fn at(diagnostic: Diagnostic, span: Option<Span>) -> Diagnostic {
    match span {
        Some(span) => diagnostic.at(span),
        None => diagnostic,
    }
}
