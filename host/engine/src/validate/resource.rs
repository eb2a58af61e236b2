//! Validates resources, data sources and ephemeral resources.

use wardian_address::{InstanceKey, ModuleInstance, ResourceMode};
use wardian_config::{IgnoreChanges, Resource, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::{
    Block, CallContext, ClientCapabilities, ConfigKind, Schema, Setting, ValidateConfigRequest,
};
use wardian_value::{Marks, Value};

use super::{action, provisioner};
use crate::conditions;
use crate::diagnostic_spans::in_resource;
use crate::evaluator::Evaluator;
use crate::object::ephemeral::stored_ephemeral;
use crate::plugin_diagnostics::from_plugin_about;
use crate::providers::unknown_type;
use crate::repeats::resource_repeats;
use crate::schema_steps::SchemaSteps;
use crate::values::RepetitionData;

/// Validates a resource: its meta-arguments, and its arguments against the schema and with the
/// provider.
pub(super) async fn validate(
    evaluator: &Evaluator,
    module: &ModuleInstance,
    resource: &Resource,
) -> Diagnostics {
    let provider_config = evaluator.configuration.provider_for(&module.path(), resource);
    let address = &provider_config.provider;
    let schema = evaluator.schemas.resource(address, resource.mode, &resource.type_name);
    let (Some(schema), Some(provider)) = (schema, evaluator.schemas.unconfigured(address)) else {
        return unknown_type(&evaluator.schemas, resource, &provider_config).into();
    };
    let instance = module
        .resource(resource.mode, resource.type_name.clone(), resource.name.clone())
        .instance(InstanceKey::None);
    let (config, mut diagnostics) = decode(evaluator, module, resource, schema);
    let (unchecked, found) = check_conditions_and_provisioners(evaluator, module, resource, schema);
    diagnostics.extend(ignored(resource, &schema.block, diagnostics.has_errors()));
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
    let context = CallContext::default();
    let request = ValidateConfigRequest {
        type_name: resource.type_name.clone(),
        config: context.unmark_and_register(&config),
        capabilities: ClientCapabilities::default(),
    };
    let mut diagnostics = diagnostics;
    let accepted = evaluator.accepted.as_ref();
    if !accepted.is_some_and(|accepted| accepted.contains(address, kind, &request)) {
        let found = provider.validate_config(&context, kind, request.clone()).await;
        if found.is_empty()
            && let Some(accepted) = accepted
        {
            accepted.add(address, kind, &request);
        }
        let found = from_plugin_about(&found, &instance.to_string());
        diagnostics.extend(in_resource(&evaluator.configuration, &instance, found));
    }
    for unchecked in unchecked {
        let found = unchecked.check(&context, &instance.to_string()).await;
        diagnostics.extend(in_resource(&evaluator.configuration, &instance, found));
    }
    diagnostics
}

/// Evaluates the configuration once for all instances, with unknown values of `count` and `each`.
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
    // Ephemeral resources are not stored.
    if resource.mode != ResourceMode::Ephemeral {
        diagnostics.extend(stored_ephemeral(&schema.block, &config));
    }
    (config, diagnostics)
}

/// Validates conditions and provisioners. Also returns the configurations that provisioners must
/// still validate.
fn check_conditions_and_provisioners<'a>(
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
    diagnostics.extend(action::check_triggers(resource, &scope));
    let provisioners = evaluator.schemas.provisioners();
    let mut unchecked = Vec::new();
    for block in &resource.provisioners {
        let around = resource.connection.as_ref();
        let validated = provisioner::validate(block, around, provisioners, &own_scope);
        unchecked.extend(validated.take(&mut diagnostics));
    }
    (unchecked, diagnostics)
}

/// Checks that the attributes in `ignore_changes` exist and can be set. After an error, redundant
/// items are not reported, as in Terraform.
fn ignored(resource: &Resource, block: &Block, mut has_errors: bool) -> Diagnostics {
    let IgnoreChanges::Paths(items) = &resource.lifecycle.ignore_changes else { return Diagnostics::new() };
    let mut diagnostics = Diagnostics::new();
    for item in items {
        let path = item.relative_path();
        let followed = SchemaSteps::follow(block, path.steps());
        let is_computed = followed.attribute.is_some_and(|attribute| attribute.setting == Setting::Computed);
        for problem in followed.diagnostics(|position| item.relative_step_span(position)) {
            has_errors |= problem.is_error();
            diagnostics.push(problem);
        }
        if is_computed && !has_errors {
            let detail = format!(
                "The configuration cannot set {item}; only the provider sets it, so it has no changes to \
                 ignore. The entry has no effect and can be removed."
            );
            diagnostics.push(
                Diagnostic::warning("Redundant ignore_changes element", detail)
                    .at(resource.type_span.clone()),
            );
        }
    }
    diagnostics
}
