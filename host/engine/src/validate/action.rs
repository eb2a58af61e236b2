//! Validates actions and the conditions of `action_trigger` blocks.

use wardian_address::{ActionAddress, InstanceKey, ModuleInstance};
use wardian_config::{Resource, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::Scope;
use wardian_plugin::{CallContext, ClientCapabilities, ConfigKind, ValidateConfigRequest};
use wardian_value::Type;
use wardian_value::convert::convert;

use crate::diagnostic_spans::in_action;
use crate::evaluator::Evaluator;
use crate::plugin_diagnostics::from_plugin_about;
use crate::providers::unknown_action_type;
use crate::repeats::action_repeats;
use crate::values::RepetitionData;

/// Validates an action: its arguments against the schema and with the provider.
pub(super) async fn validate(evaluator: &Evaluator, address: &ActionAddress) -> Diagnostics {
    let Some(action) = evaluator.configuration.action(address) else { return Diagnostics::new() };
    let provider_config = evaluator.configuration.provider_for_action(&address.module, action);
    let schema = evaluator.schemas.action(&provider_config.provider, &action.type_name);
    let provider = evaluator.schemas.unconfigured(&provider_config.provider);
    let (Some(schema), Some(provider)) = (schema, provider) else {
        return unknown_action_type(&evaluator.schemas, action, &provider_config).into();
    };
    let module: ModuleInstance = address.module.unkeyed_instance();
    let mut diagnostics = Diagnostics::new();
    diagnostics.collect(evaluator.repetition(&module, action.count.as_ref(), action.for_each.as_ref()));
    let repetition = evaluator.repetition_or_unknown(action_repeats(action), RepetitionData::None);
    let (config, found) = decode_body(&action.config, &schema.block, &evaluator.scope(&module, repetition));
    diagnostics.extend(found);
    let mut diagnostics = in_action(action, diagnostics);
    if diagnostics.has_errors() {
        return diagnostics;
    }
    let context = CallContext::default();
    let request = ValidateConfigRequest {
        type_name: action.type_name.clone(),
        config: context.unmark_and_register(&config),
        capabilities: ClientCapabilities::default(),
    };
    let instance = address.instance(&module, InstanceKey::None);
    let found = provider.validate_config(&context, ConfigKind::Action, request).await;
    diagnostics.extend(in_action(action, from_plugin_about(&found, &instance.to_string())));
    diagnostics
}

/// Evaluates the conditions of a resource's triggers with unknown values, and reports errors that do
/// not depend on the values.
pub(super) fn check_triggers(resource: &Resource, scope: &dyn Scope) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for condition in
        resource.lifecycle.action_triggers.iter().filter_map(|trigger| trigger.condition.as_ref())
    {
        let Some(value) = diagnostics.collect(condition.evaluate(scope)) else { continue };
        if let Err(error) = convert(&value.unmark_deep(), &Type::Bool) {
            diagnostics.push(
                Diagnostic::error(
                    "Invalid action_trigger condition",
                    format!("The condition must be true or false: {error}."),
                )
                .at(condition.span().clone()),
            );
        }
    }
    diagnostics
}
