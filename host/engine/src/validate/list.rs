//! Validates the lists in query files.

use wardian_address::{ModuleInstance, ModulePath};
use wardian_config::decode_body;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::Expression;
use wardian_plugin::{CallContext, ValidateListRequest};
use wardian_value::convert::convert;
use wardian_value::{Str, Type, Value};

use crate::diagnostic_spans::in_list;
use crate::evaluator::Evaluator;
use crate::plugin_diagnostics::from_plugin_about;
use crate::providers::unknown_list_type;
use crate::repeats::repeats;
use crate::values::RepetitionData;

/// Validates a list: its arguments against the schema and with the provider.
pub(super) async fn validate(evaluator: &Evaluator, type_name: &Str, name: &Str) -> Diagnostics {
    let root = evaluator.configuration.root();
    let Some(block) = root.module.lists.get(&(type_name.clone(), name.clone())) else {
        return Diagnostics::new();
    };
    let reference = &block.provider;
    let provider_config = evaluator.configuration.provider_named(
        &ModulePath::root(),
        &reference.local_name,
        reference.alias.as_ref(),
    );
    let schema = evaluator.schemas.provider(&provider_config.provider);
    let schema = schema.and_then(|schema| schema.list_resources.get(type_name));
    let provider = evaluator.schemas.unconfigured(&provider_config.provider);
    let (Some(schema), Some(provider)) = (schema, provider) else {
        return unknown_list_type(&evaluator.schemas, block, &provider_config).into();
    };
    let module = ModuleInstance::root();
    let mut diagnostics = Diagnostics::new();
    diagnostics.collect(evaluator.repetition(&module, block.count.as_ref(), block.for_each.as_ref()));
    let repetition = repeats(block.count.as_ref(), block.for_each.as_ref());
    let repetition = evaluator.repetition_or_unknown(repetition, RepetitionData::None);
    let scope = evaluator.scope(&module, repetition);
    let (config, found) = decode_body(&block.config, &schema.block, &scope);
    diagnostics.extend(found);
    let mut setting = |expression: Option<&Expression>, ty: &Type, default: Value| {
        let Some(expression) = expression else { return default };
        let Some(value) = diagnostics.collect(expression.evaluate(&scope)) else { return default };
        match convert(&value.unmark_deep(), ty) {
            Ok(value) if value.is_null() => default,
            Ok(value) => value,
            Err(error) => {
                let detail = format!("This value cannot be used here: {error}.");
                diagnostics
                    .push(Diagnostic::error("Invalid list argument", detail).at(expression.span().clone()));
                default
            }
        }
    };
    let include = setting(block.include_resource.as_ref(), &Type::Bool, Value::bool(false));
    let limit = setting(block.limit.as_ref(), &Type::Number, Value::number(crate::query::DEFAULT_LIMIT));
    let mut diagnostics = in_list(block, diagnostics);
    if diagnostics.has_errors() {
        return diagnostics;
    }
    let context = CallContext::default();
    let request = ValidateListRequest {
        type_name: type_name.clone(),
        config: context.unmark_and_register(&config),
        include_resource_object: include,
        limit,
    };
    let found = provider.validate_list_resource_config(&context, request).await;
    let address = format!("list.{type_name}.{name}");
    diagnostics.extend(in_list(block, from_plugin_about(&found, &address)));
    diagnostics
}
