//! State stores of plugins: their blocks, plugins, configurations and records.
//!
//! The plugin of a state store is selected, locked, subject to consent and restricted by policy like any
//! provider. Its `provider` block configures only the state store. The blocks contain constants, as in a
//! `backend` block.

mod block;
mod plugin;
mod record;

use std::sync::Arc;

use wardian_address::ProviderAddress;
use wardian_backend::{BackendConfig, StateStoreBackend, StateStoreOptions};
use wardian_config::StateStoreBlock;
use wardian_config::span_of;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_digest::Sha256Digest;
use wardian_plugin::{
    Block, CallContext, PluginDiagnostic, PluginDiagnostics, Schema, StateStoreConfig, StateStorePlugin,
    StateStoreSchemas, has_errors,
};
use wardian_value::Str;

use crate::backend::{ArgumentSchema, with_options};
use crate::compatibility::TERRAFORM_VERSION;
use crate::context::AppContext;
use crate::error::AppError;
pub(crate) use block::{decode, required_provider};
pub(crate) use plugin::StateStorePlugins;
pub use plugin::store_requirements;
pub(crate) use record::{StoreRecord, StoredStateStore};

/// A state store with its configuration and its provider's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoreSelection {
    pub(crate) type_name: String,
    pub(crate) provider: ProviderAddress,
    pub(crate) provider_config: BackendConfig,
    pub(crate) config: BackendConfig,
}

/// The plugin of a state store, and the schemas of its configurations.
#[derive(Clone)]
pub(crate) struct StorePlugin {
    address: ProviderAddress,
    plugin: Arc<dyn StateStorePlugin>,
    schemas: StateStoreSchemas,
    store: Arc<Schema>,
}

impl StorePlugin {
    pub(crate) fn provider_schema(&self) -> &Block {
        &self.schemas.provider.provider.block
    }

    pub(crate) fn store_schema(&self) -> &Block {
        &self.store.block
    }
}

impl StoreSelection {
    /// Returns the selection with the arguments that `-backend-config` sets.
    ///
    /// # Errors
    /// Returns an error if an argument does not exist, or a value or a file cannot be used.
    pub(crate) fn with_options(
        &self,
        context: &AppContext,
        plugin: &StorePlugin,
        options: &[String],
    ) -> Result<Self, AppError> {
        let schema =
            ArgumentSchema { kind: "state store", type_name: &self.type_name, schema: plugin.store_schema() };
        let config = with_options(context, schema, &self.config, options)?;
        Ok(Self { config, ..self.clone() })
    }

    /// Validates the configuration, and returns the backend. The state store is configured when an
    /// operation first needs it.
    ///
    /// # Errors
    /// Returns an error if a required argument is missing, or the plugin rejects the configuration.
    pub(crate) async fn open(
        &self,
        context: &AppContext,
        plugin: &StorePlugin,
        block: Option<&StateStoreBlock>,
    ) -> Result<Arc<StateStoreBackend>, AppError> {
        let missing = block::missing_arguments(self, plugin, block);
        if missing.has_errors() {
            return Err(missing.into());
        }
        let call = CallContext::new(format!("state store {}", self.type_name));
        let secrets = call.sensitive_values();
        secrets.add_configuration(self.provider_config.value(), &plugin.schemas.provider);
        secrets.add_by_schema(self.config.value(), &plugin.store);
        let config = StateStoreConfig {
            terraform_version: Str::new(TERRAFORM_VERSION),
            provider: self.provider_config.value().clone(),
            type_name: Str::new(&self.type_name),
            store: self.config.value().clone(),
        };
        let mut reported = plugin.plugin.validate(&call, &config).await;
        for PluginDiagnostic { summary, detail, .. } in &mut reported {
            secrets.redact_in_place(summary);
            secrets.redact_in_place(detail);
        }
        let refused = has_errors(&reported);
        let diagnostics = located(reported, block);
        if refused {
            return Err(diagnostics.into());
        }
        if !diagnostics.is_empty() {
            context.frontend.warn(&diagnostics);
        }
        let frontend = Arc::clone(&context.frontend);
        let backend = Arc::new(StateStoreBackend::new(StateStoreOptions {
            plugin: Arc::clone(&plugin.plugin),
            config,
            context: call,
            identity: self.identity(plugin),
            warnings: Arc::new(move |reported| frontend.warn(&located(reported, None))),
        }));
        context.state_store_plugins.opened(&backend);
        Ok(backend)
    }

    /// Identifies the provider and the configuration without its sensitive arguments.
    fn identity(&self, plugin: &StorePlugin) -> String {
        let provider = record::public_arguments(&self.provider_config, plugin.provider_schema());
        let store = record::public_arguments(&self.config, plugin.store_schema());
        let text = serde_json::Value::from(vec![
            serde_json::Value::from(self.provider.to_string()),
            provider.into(),
            store.into(),
        ]);
        let digest = Sha256Digest::hash(text.to_string().as_bytes()).to_string();
        let short = digest.get(..8).unwrap_or(&digest);
        format!("provider {}, configuration {short}", self.provider.for_display())
    }
}

/// Returns a plugin's diagnostics, at the arguments of the block to which they refer.
fn located(reported: PluginDiagnostics, block: Option<&StateStoreBlock>) -> Diagnostics {
    let converted = reported.into_iter().map(|one| {
        let error = one.is_error();
        let PluginDiagnostic { summary, detail, attribute, .. } = one;
        let diagnostic =
            if error { Diagnostic::error(summary, detail) } else { Diagnostic::warning(summary, detail) };
        let Some(block) = block else { return diagnostic };
        let span = attribute
            .and_then(|path| span_of(&block.body, &path).or_else(|| span_of(&block.provider_body, &path)));
        diagnostic.at(span.unwrap_or_else(|| block.type_span.clone())).in_block("terraform")
    });
    converted.collect()
}
