//! Decodes `state_store` blocks.

use std::sync::Arc;

use wardian_backend::BackendConfig;
use wardian_config::{Module, RequiredProvider, StateStoreBlock, decode_body};
use wardian_diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use wardian_lang::{Body, EmptyScope};
use wardian_plugin::{Block, CallContext, Setting, no_state_stores};

use super::{StorePlugin, StoreSelection, located};
use crate::context::AppContext;
use crate::error::AppError;

/// Returns the entry of `required_providers` for the provider of a state store.
///
/// # Errors
/// Returns an error if there is no entry.
pub(crate) fn required_provider<'a>(
    root: &'a Module,
    block: &StateStoreBlock,
) -> Result<&'a RequiredProvider, AppError> {
    let name = &block.provider_name;
    if let Some(required) = root.required_providers.get(name) {
        return Ok(required);
    }
    let known = root.required_providers.keys().map(|name| &**name);
    let detail = format!(
        "The provider \"{name}\" of the state store has no entry in required_providers, which determines its \
         source and version.{}",
        did_you_mean(name, known)
    );
    let error = Diagnostic::error("Provider of the state store not required", detail);
    Err(error.at(block.provider_span.clone()).in_block("terraform").into())
}

/// Returns the plugin of a state store, and the configuration in its block. Required arguments may be
/// missing, because `-backend-config` can set them.
///
/// # Errors
/// Returns an error if the plugin cannot be used, it has no such state store, or an argument is not
/// valid.
pub(crate) async fn decode(
    context: &AppContext,
    root: &Module,
    block: &StateStoreBlock,
) -> Result<(StorePlugin, StoreSelection), AppError> {
    let required = required_provider(root, block)?;
    let plugin = find(context, required.address.clone(), &block.type_name, Some(block)).await?;
    let (config, mut problems) = decode_optional(&block.body, plugin.store_schema());
    let (provider_config, found) = decode_optional(&block.provider_body, plugin.provider_schema());
    problems.extend(found);
    let selection = StoreSelection {
        type_name: block.type_name.to_string(),
        provider: required.address.clone(),
        provider_config,
        config,
    };
    Ok((plugin, problems.in_block("terraform").into_result(selection)?))
}

/// Returns the plugin of a state store.
///
/// # Errors
/// Returns an error if the plugin cannot be used, or it has no such state store.
pub(super) async fn find(
    context: &AppContext,
    address: wardian_address::ProviderAddress,
    type_name: &str,
    block: Option<&StateStoreBlock>,
) -> Result<StorePlugin, AppError> {
    let plugin = context.state_store_plugin(&address).await?;
    let call = CallContext::new(format!("state store {type_name}"));
    let schemas = plugin.schemas(&call).await.map_err(|problems| located(problems, block))?;
    if schemas.stores.is_empty() {
        let name = address.for_display().to_string();
        return Err(located(no_state_stores(&name), block).into());
    }
    let Some(store) = schemas.stores.get(type_name) else {
        let known = schemas.stores.keys().map(|name| &**name);
        let detail = format!(
            "The provider {} has no state store \"{type_name}\".{}",
            address.for_display(),
            did_you_mean(type_name, known)
        );
        let error = Diagnostic::error("Unsupported state store type", detail);
        return Err(match block {
            Some(block) => error.at(block.type_span.clone()).in_block("terraform").into(),
            None => error.into(),
        });
    };
    let store = Arc::clone(store);
    Ok(StorePlugin { address, plugin, schemas, store })
}

/// Decodes a body, with optional arguments in place of required ones.
fn decode_optional(body: &Body, schema: &Block) -> (BackendConfig, Diagnostics) {
    let mut schema = schema.clone();
    for attribute in schema.attributes.values_mut().filter(|attribute| attribute.setting.is_required()) {
        if let Some(optional) = Setting::from_flags(false, true, false) {
            attribute.setting = optional;
        }
    }
    let (value, problems) = decode_body(body, &schema, &EmptyScope);
    (BackendConfig::new(value), problems)
}

/// Returns an error for each required argument that is null.
pub(super) fn missing_arguments(
    selection: &StoreSelection,
    plugin: &StorePlugin,
    block: Option<&StateStoreBlock>,
) -> Diagnostics {
    let places = [
        (&selection.config, plugin.store_schema(), "state store", block.map(|block| &block.span)),
        (
            &selection.provider_config,
            plugin.provider_schema(),
            "provider of the state store",
            block.map(|block| &block.provider_span),
        ),
    ];
    let mut problems = Diagnostics::new();
    for (config, schema, kind, span) in places {
        let required = schema.attributes.iter().filter(|(_, attribute)| attribute.setting.is_required());
        for (name, _) in required {
            if config.value().get(name).is_some_and(|value| !value.is_null()) {
                continue;
            }
            let detail = format!("The {kind} requires the argument \"{name}\".");
            let error = Diagnostic::error("Missing required argument", detail);
            problems.push(match span {
                Some(span) => error.at(span.clone()).in_block("terraform"),
                None => error,
            });
        }
    }
    problems
}
