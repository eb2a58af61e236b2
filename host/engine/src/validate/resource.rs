//! Resources, data sources and ephemeral resources.

use wardian_address::{InstanceKey, ModuleInstance, ResourceMode};
use wardian_config::{IgnoreChanges, Resource, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{
    Block, ClientCapabilities, ConfigKind, Schema, Setting, ValidateConfigRequest, hand_over,
};
use wardian_value::{Marks, PathStep, Value};

use super::provisioner;
use crate::conditions;
use crate::evaluator::{Evaluator, resource_repeats};
use crate::located::in_resource;
use crate::object::ephemeral::stored_ephemeral;
use crate::providers::{about, unknown_type};
use crate::reference_check::misstep;
use crate::values::RepetitionData;

/// Validates a resource: its arguments by the schema and by the provider, and all
/// that the language itself adds to them.
pub(super) async fn validate(
    evaluator: &Evaluator,
    module: &ModuleInstance,
    resource: &Resource,
) -> Diagnostics {
    let provider_config = evaluator.configuration.provider_for(&module.path(), resource);
    let address = &provider_config.provider;
    let schema = evaluator.schemas.resource(address, resource.mode, &resource.type_name);
    let (Some(schema), Some(provider)) = (schema, evaluator.schemas.unconfigured(address)) else {
        return unknown_type(evaluator, resource, &provider_config).into();
    };
    let instance = module
        .resource(resource.mode, resource.type_name.clone(), resource.name.clone())
        .instance(InstanceKey::None);
    let (config, mut diagnostics) = decode(evaluator, module, resource, schema);
    let (unchecked, found) = around(evaluator, module, resource, schema);
    diagnostics.extend(found);
    let diagnostics = in_resource(&evaluator.configuration, &instance, diagnostics);
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
        config: hand_over(&config),
        capabilities: ClientCapabilities::default(),
    };
    let found = about(&provider.validate_config(kind, request).await, &instance.to_string());
    let mut diagnostics = diagnostics;
    diagnostics.extend(in_resource(&evaluator.configuration, &instance, found));
    for unchecked in unchecked {
        let found = unchecked.check(&instance.to_string()).await;
        diagnostics.extend(in_resource(&evaluator.configuration, &instance, found));
    }
    diagnostics
}

/// The configuration of any of the instances.
fn decode(
    evaluator: &Evaluator,
    module: &ModuleInstance,
    resource: &Resource,
    schema: &Schema,
) -> (Value, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    diagnostics.collect(evaluator.repetition(module, resource.count.as_ref(), resource.for_each.as_ref()));
    let repetition = evaluator.repetition_or_unknown(resource_repeats(resource), RepetitionData::None);
    let scope = evaluator.scope(module, repetition);
    let (config, found) = decode_body(&resource.body, &schema.block, &scope);
    diagnostics.extend(found);
    // Nothing of an ephemeral resource is stored.
    if resource.mode != ResourceMode::Ephemeral {
        diagnostics.extend(stored_ephemeral(&schema.block, &config));
    }
    (config, diagnostics)
}

/// What surrounds the arguments: conditions, provisioners, the lifecycle. Also what the
/// provisioners have still to look at.
fn around<'a>(
    evaluator: &Evaluator,
    module: &ModuleInstance,
    resource: &'a Resource,
    schema: &Schema,
) -> (Vec<provisioner::Unchecked<'a>>, Diagnostics) {
    let repetition = || evaluator.repetition_or_unknown(resource_repeats(resource), RepetitionData::None);
    let marks = if resource.mode == ResourceMode::Ephemeral { Marks::EPHEMERAL } else { Marks::NONE };
    let own = Value::unknown(schema.implied_type().clone()).with_marks(marks);
    let scope = evaluator.scope(module, repetition());
    let own_scope = evaluator.scope(module, repetition()).with_self(own);
    let mut diagnostics = conditions::check_unknown(&resource.lifecycle.preconditions, &scope);
    diagnostics.extend(conditions::check_unknown(&resource.lifecycle.postconditions, &own_scope));
    let provisioners = evaluator.schemas.provisioners();
    let mut unchecked = Vec::new();
    for block in &resource.provisioners {
        let around = resource.connection.as_ref();
        let (decoded, found) = provisioner::validate(block, around, provisioners, &own_scope);
        unchecked.extend(decoded);
        diagnostics.extend(found);
    }
    diagnostics.extend(ignored(resource, &schema.block, schema));
    (unchecked, diagnostics)
}

/// What `ignore_changes` names must be there, and be for the configuration to set.
fn ignored(resource: &Resource, block: &Block, schema: &Schema) -> Diagnostics {
    let IgnoreChanges::Paths(paths) = &resource.lifecycle.ignore_changes else { return Diagnostics::new() };
    let mut diagnostics = Diagnostics::new();
    for (path, span) in paths {
        if let Some((_, detail)) = misstep(schema.implied_type(), path.steps()) {
            diagnostics.push(Diagnostic::error("Unsupported attribute", detail).at(span.clone()));
            continue;
        }
        let [PathStep::Attribute(name)] = path.steps() else { continue };
        if block.attributes.get(name).is_some_and(|attribute| attribute.setting == Setting::Computed) {
            let detail = format!(
                "The configuration cannot set {name}, the provider alone does: there are no changes of it that \
                 could be ignored. The entry has no effect and can be removed."
            );
            diagnostics.push(
                Diagnostic::warning("Redundant ignore_changes element", detail).at(resource.span.clone()),
            );
        }
    }
    diagnostics
}
