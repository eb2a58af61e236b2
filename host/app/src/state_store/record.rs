//! The record of a state store in `.terraform/terraform.tfstate`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wardian_address::{ProviderAddress, Version};
use wardian_backend::{BackendConfig, block_hash};
use wardian_plugin::Block;

use super::block::find;
use super::{StorePlugin, StoreSelection};
use crate::context::AppContext;
use crate::error::AppError;

/// The state store that `init` has recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreRecord {
    type_name: String,
    provider: ProviderAddress,
    version: Option<Version>,
    provider_arguments: Map<String, Value>,
    provider_hash: u64,
    arguments: Map<String, Value>,
    hash: u64,
}

/// The member `state_store` of the record.
#[derive(Deserialize, Serialize)]
pub(crate) struct StoredStateStore {
    #[serde(rename = "type")]
    type_name: String,
    provider: StoredProvider,
    #[serde(default)]
    config: Option<Map<String, Value>>,
    #[serde(default)]
    hash: u64,
}

#[derive(Deserialize, Serialize)]
struct StoredProvider {
    #[serde(default)]
    version: Option<String>,
    source: String,
    #[serde(default)]
    config: Option<Map<String, Value>>,
    #[serde(default)]
    hash: u64,
}

impl StoreRecord {
    /// Returns the record of a configuration in effect, and of the block's own configuration.
    pub(crate) fn new(
        context: &AppContext,
        plugin: &StorePlugin,
        in_effect: &StoreSelection,
        block: &StoreSelection,
    ) -> Self {
        Self {
            type_name: in_effect.type_name.clone(),
            provider: plugin.address.clone(),
            version: context.state_store_plugins.version(&plugin.address),
            provider_arguments: in_effect.provider_config.to_record(plugin.provider_schema()),
            provider_hash: block_hash(plugin.address.type_name(), &block.provider_config),
            arguments: in_effect.config.to_record(plugin.store_schema()),
            hash: block_hash(&block.type_name, &block.config),
        }
    }

    /// # Errors
    /// Returns a description of the problem if the provider or its version is not valid.
    pub(crate) fn from_stored(stored: StoredStateStore) -> Result<Self, String> {
        let StoredProvider { version, source, config, hash } = stored.provider;
        let provider = ProviderAddress::parse(&source).map_err(|error| {
            format!("the provider of the state store, \"{source}\", is not valid: {error}")
        })?;
        let version = version.filter(|version| !version.is_empty()).map(|version| {
            version.parse().map_err(|_| format!("the version \"{version}\" of the provider is not valid"))
        });
        Ok(Self {
            type_name: stored.type_name,
            provider,
            version: version.transpose()?,
            provider_arguments: config.unwrap_or_default(),
            provider_hash: hash,
            arguments: stored.config.unwrap_or_default(),
            hash: stored.hash,
        })
    }

    pub(crate) fn into_stored(self) -> StoredStateStore {
        StoredStateStore {
            type_name: self.type_name,
            provider: StoredProvider {
                version: self.version.map(|version| version.to_string()),
                source: self.provider.to_string(),
                config: Some(self.provider_arguments),
                hash: self.provider_hash,
            },
            config: Some(self.arguments),
            hash: self.hash,
        }
    }

    pub(crate) fn type_name(&self) -> &str {
        &self.type_name
    }

    pub(crate) fn provider(&self) -> &ProviderAddress {
        &self.provider
    }

    /// Returns the recorded plugin and configuration.
    ///
    /// # Errors
    /// Returns an error if the plugin cannot be used.
    pub(crate) async fn load(&self, context: &AppContext) -> Result<(StorePlugin, StoreSelection), AppError> {
        let plugin = find(context, self.provider.clone(), &self.type_name, None).await?;
        let selection = self.selection(&plugin);
        Ok((plugin, selection))
    }

    fn selection(&self, plugin: &StorePlugin) -> StoreSelection {
        StoreSelection {
            type_name: self.type_name.clone(),
            provider: self.provider.clone(),
            provider_config: BackendConfig::from_record(&self.provider_arguments, plugin.provider_schema()),
            config: BackendConfig::from_record(&self.arguments, plugin.store_schema()),
        }
    }

    /// Returns the recorded configuration if the blocks are the same as when they were recorded.
    pub(crate) fn same_as(&self, plugin: &StorePlugin, block: &StoreSelection) -> Option<StoreSelection> {
        if self.type_name != block.type_name || self.provider != block.provider {
            return None;
        }
        let recorded = self.selection(plugin);
        let hashes = (self.hash, self.provider_hash);
        let same = hashes
            == (
                block_hash(&block.type_name, &block.config),
                block_hash(block.provider.type_name(), &block.provider_config),
            );
        (same || recorded == *block).then_some(recorded)
    }
}

/// Returns the arguments of a configuration that contain no sensitive values.
pub(super) fn public_arguments(config: &BackendConfig, schema: &Block) -> Map<String, Value> {
    let mut arguments = config.to_record(schema);
    arguments.retain(|name, _| {
        let name = name.as_str();
        let attribute = schema.attributes.get(name).map(wardian_plugin::Attribute::has_sensitive);
        let block = schema.block_types.get(name).map(|nested| nested.block.has_secret());
        !attribute.or(block).unwrap_or(true)
    });
    arguments
}
