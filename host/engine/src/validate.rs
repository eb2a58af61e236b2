//! Validates a configuration independently of variables and state: evaluates all expressions with
//! unknown values, and calls providers to validate every block.

mod action;
mod list;
mod provisioner;
mod resource;

use std::collections::HashSet;
use std::sync::Arc;

use wardian_address::{ModulePath, ProviderConfigAddress};
use wardian_config::{Configuration, Module, ProviderConfigOrigin};
use wardian_diagnostic::Diagnostics;
use wardian_plugin::CallContext;
use wardian_value::Str;

use crate::clock;
use crate::conditions;
use crate::context::EngineContext;
use crate::diagnostic_spans::in_provider;
use crate::evaluator::{Evaluator, Phase};
use crate::import::blocks;
use crate::nodes::{self, Node};
use crate::plugin_diagnostics::from_plugin_about;
use crate::providers::Schemas;
use crate::reported_references::ReportedReferences;
use crate::values::RepetitionData;

/// Validates a configuration. Every object is checked, even if other objects have errors: if an
/// object cannot be evaluated, its dependents are checked with an unknown value.
pub async fn validate(
    context: &EngineContext,
    schemas: &Schemas,
    reported: ReportedReferences,
) -> Diagnostics {
    let graph = match nodes::build(&context.configuration) {
        Ok(graph) => graph,
        Err(diagnostics) => return diagnostics,
    };
    let configuration = Arc::clone(&context.configuration);
    let mut evaluator = context.evaluator(schemas, Phase::Validate, clock::now());
    evaluator.reported = Arc::new(reported);
    evaluator.values.add_root();
    let mut diagnostics = Diagnostics::new();
    // The graph is acyclic by construction.
    for id in graph.order().unwrap_or_default() {
        match graph.node(id) {
            Node::Module(path) => {
                diagnostics.collect(evaluator.expand_module(path));
            }
            Node::Variable(path, name) if path.is_root() => {
                diagnostics.extend(validate_root_variable(&evaluator, name));
            }
            Node::Variable(path, name) => {
                diagnostics.extend(evaluator.evaluate_variable(path, name).diagnostics);
            }
            Node::Local(path, name) => {
                diagnostics.collect(evaluator.evaluate_local(path, name));
            }
            Node::Output(path, name) => {
                diagnostics.extend(evaluator.evaluate_output(path, name).diagnostics);
            }
            Node::Provider(address) => match evaluator.provider_config(address) {
                Ok(config) if has_arguments(&configuration, address) => {
                    if let Some(provider) = evaluator.schemas.unconfigured(&address.provider) {
                        let context = CallContext::default();
                        let config = context.unmark_and_register(&config);
                        let found = provider.validate_provider_config(&context, config).await;
                        let found = from_plugin_about(&found, &address.to_string());
                        diagnostics.extend(in_provider(&configuration, address, found));
                    }
                }
                Ok(_) => {}
                Err(found) => diagnostics.extend(found),
            },
            Node::Resource(address) => {
                let key = (address.mode, address.type_name.clone(), address.name.clone());
                let module = address.module.unkeyed_instance();
                if let Some(resource) =
                    configuration.module(&address.module).and_then(|m| m.module.resources.get(&key))
                {
                    let validating = resource::validate(&evaluator, &module, resource);
                    diagnostics.extend(validating.await);
                }
            }
            Node::Action(address) => {
                diagnostics.extend(action::validate(&evaluator, address).await);
            }
            Node::List(type_name, name) => {
                diagnostics.extend(list::validate(&evaluator, type_name, name).await);
            }
            Node::ModuleDone(path) => {
                if let Some(node) = configuration.module(path) {
                    diagnostics.extend(validate_rest(&evaluator, path, &node.module));
                }
            }
            Node::Import(_)
            | Node::StateObject(_)
            | Node::DestroyBarrier { .. }
            | Node::Expand(_)
            | Node::PlannedChange(_)
            | Node::ActionTriggers(_)
            | Node::Invocations(_)
            | Node::Check(..)
            | Node::Close(_)
            | Node::DependentsDone(_)
            | Node::CheckBarrier => {}
        }
    }
    diagnostics
}

/// Validates the lists in query files, without the other objects of the configuration.
pub async fn validate_lists(
    context: &EngineContext,
    schemas: &Schemas,
    reported: ReportedReferences,
) -> Diagnostics {
    let mut evaluator = context.evaluator(schemas, Phase::Validate, clock::now());
    evaluator.reported = Arc::new(reported);
    evaluator.values.add_root();
    let mut diagnostics = Diagnostics::new();
    for (type_name, name) in context.configuration.root().module.lists.keys() {
        diagnostics.extend(list::validate(&evaluator, type_name, name).await);
    }
    diagnostics
}

/// Returns whether a block sets the arguments of a provider that is not mocked.
fn has_arguments(configuration: &Configuration, address: &ProviderConfigAddress) -> bool {
    let block = nodes::provider_block(configuration, address);
    block.is_some_and(|block| block.origin != ProviderConfigOrigin::Mock)
}

/// Validates a variable of the root module for any value of its type.
fn validate_root_variable(evaluator: &Evaluator, name: &Str) -> Diagnostics {
    let Some(variable) = evaluator.configuration.root().module.variables.get(name) else {
        return Diagnostics::new();
    };
    let root = ModulePath::root().unkeyed_instance();
    let scope = evaluator.scope(&root, RepetitionData::None);
    let address = || format!("var.{name}");
    let (found, _) = conditions::check_validations(
        &variable.validations,
        &scope,
        &variable.span,
        Phase::Validate,
        &address,
    );
    found.in_block(&format!("variable \"{name}\""))
}

/// Validates the objects of a module that are not nodes of the graph.
fn validate_rest(evaluator: &Evaluator, path: &ModulePath, module: &Module) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let instance = path.unkeyed_instance();
    for check in module.checks.values() {
        let scope = evaluator.scope(&instance, RepetitionData::None);
        let found = conditions::check_types(&check.assertions, &scope);
        diagnostics.extend(found.in_block(&format!("check \"{}\"", check.name)));
    }
    for removed in &module.removed {
        let provisioners = evaluator.schemas.provisioners();
        diagnostics.extend(provisioner::check_removed(provisioners, &removed.provisioners));
    }
    if path.is_root() {
        // Only the first invalid block of each resource is reported.
        let mut reported = HashSet::new();
        for import in &module.imports {
            let resource = import.resource();
            if reported.contains(&resource) {
                continue;
            }
            let found = blocks::validate(evaluator, import);
            if found.has_errors() {
                reported.insert(resource);
            }
            diagnostics.extend(found.in_block("import"));
        }
    }
    diagnostics
}
