//! Whether a configuration is valid, whatever its variables and state: everything
//! is evaluated with unknown values, and providers are asked about every block.

use std::sync::Arc;

use wardian_config::decode_body;
use wardian_lang::Diagnostics;
use wardian_plugin::{ClientCapabilities, ConfigKind, ModuleInstance, ResourceMode, ValidateConfigRequest};
use wardian_value::Value;

use crate::clock;
use crate::evaluator::{Evaluator, Phase, resource_repeats};
use crate::located::{in_provider, in_resource};
use crate::nodes::{self, Node};
use crate::providers::unknown_type;
use crate::providers::{Schemas, about};
use crate::run::Run;
use crate::values::RepetitionData;

/// Validates. Each object is looked at whatever is wrong with others: an object
/// that could not be evaluated is unknown to those that refer to it.
pub async fn validate(run: &Run, schemas: &Schemas) -> Diagnostics {
    let graph = match nodes::build(&run.configuration) {
        Ok(graph) => graph,
        Err(diagnostics) => return diagnostics,
    };
    let mut evaluator = run.evaluator(schemas, Phase::Validate, clock::now());
    evaluator.values.add_root();
    let mut diagnostics = Diagnostics::new();
    // The graph was built without cycles.
    for id in graph.graph.order().unwrap_or_default() {
        match graph.node(id) {
            Node::Module(path) => {
                diagnostics.collect(evaluator.expand_module(path));
            }
            Node::Variable(path, name) => match evaluator.evaluate_variable(path, name) {
                Ok(found) | Err(found) => diagnostics.extend(found),
            },
            Node::Local(path, name) => {
                diagnostics.collect(evaluator.evaluate_local(path, name));
            }
            Node::Output(path, name) => match evaluator.evaluate_output(path, name) {
                Ok(found) | Err(found) => diagnostics.extend(found),
            },
            Node::Provider(address) => match evaluator.provider_config(address) {
                Ok(config) if nodes::provider_block(&run.configuration, address).is_some() => {
                    if let Some(provider) = evaluator.schemas.unconfigured(&address.provider) {
                        let found = provider.validate_provider_config(config.unmark_deep()).await;
                        let found = about(&found, &address.to_string());
                        diagnostics.extend(in_provider(&run.configuration, address, found));
                    }
                }
                Ok(_) => {}
                Err(found) => diagnostics.extend(found),
            },
            Node::Resource(address) => {
                let key = (address.mode, address.type_name.clone(), address.name.clone());
                let module = address.module.unkeyed_instance();
                let configuration = Arc::clone(&run.configuration);
                let Some(resource) =
                    configuration.module(&address.module).and_then(|m| m.module.resources.get(&key))
                else {
                    continue;
                };
                diagnostics.extend(validate_resource(&evaluator, &module, resource).await);
            }
            Node::ModuleDone(_) | Node::Object(_) | Node::Gate { .. } | Node::Expand(_) | Node::Change(_) => {
            }
        }
    }
    diagnostics
}

async fn validate_resource(
    evaluator: &Evaluator,
    module: &ModuleInstance,
    resource: &wardian_config::Resource,
) -> Diagnostics {
    let provider_config = evaluator.configuration.provider_for(&module.path(), resource);
    let address = &provider_config.provider;
    let schema = evaluator.schemas.resource(address, resource.mode, &resource.type_name);
    let (Some(schema), Some(provider)) = (schema, evaluator.schemas.unconfigured(address)) else {
        return unknown_type(evaluator, resource, &provider_config).into();
    };
    let mut diagnostics = Diagnostics::new();
    diagnostics.collect(evaluator.repetition(module, resource.count.as_ref(), resource.for_each.as_ref()));
    let repetition = evaluator.repetition_or_unknown(resource_repeats(resource), RepetitionData::None);
    let config: Value = {
        let scope = evaluator.scope(module, repetition);
        let (config, found) = decode_body(&resource.body, &schema.block, &scope);
        diagnostics.extend(found.in_block(&resource.context()));
        config
    };
    if diagnostics.has_errors() {
        return diagnostics;
    }
    let kind = match resource.mode {
        ResourceMode::Managed => ConfigKind::Resource,
        ResourceMode::Data => ConfigKind::DataSource,
        ResourceMode::Ephemeral => ConfigKind::EphemeralResource,
    };
    let request = ValidateConfigRequest {
        type_name: resource.type_name.clone(),
        config: config.unmark_deep(),
        capabilities: ClientCapabilities::default(),
    };
    let instance = module
        .resource(resource.mode, resource.type_name.clone(), resource.name.clone())
        .instance(wardian_plugin::InstanceKey::None);
    let found = about(&provider.validate_config(kind, request).await, &instance.to_string());
    diagnostics.extend(in_resource(&evaluator.configuration, &instance, found));
    diagnostics
}
