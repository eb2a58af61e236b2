//! The config of a WebAssembly artifact: the imports and exports of a component.
//!
//! The config is a summary that the publisher's program has written. Decisions about access are
//! never based on a config, since only the component itself determines its imports.

use serde::{Deserialize, Serialize};
use wardian_digest::Sha256Digest;

use crate::digest::ContentDigest;

/// Maximum size of a config.
pub const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The operating system of components in configs and indexes.
const COMPONENT_OS: &str = "wasip2";
const ARCHITECTURE: &str = "wasm";

/// The config of a WebAssembly artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WasmConfig {
    /// The time at which the artifact was created, in RFC 3339 format.
    pub created: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    pub architecture: String,
    pub os: String,
    /// The digests of the artifact's layers.
    pub layer_digests: Vec<ContentDigest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<ComponentSummary>,
}

/// The names of a component's imports and exports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentSummary {
    #[serde(default)]
    pub exports: Vec<String>,
    #[serde(default)]
    pub imports: Vec<String>,
    /// The world for which the component was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl WasmConfig {
    /// Creates the config of a component. `created` is in RFC 3339 format.
    pub fn for_component(
        component: Sha256Digest,
        created: String,
        author: Option<String>,
        summary: ComponentSummary,
    ) -> Self {
        Self {
            created,
            author,
            architecture: ARCHITECTURE.to_owned(),
            os: COMPONENT_OS.to_owned(),
            layer_digests: vec![component.into()],
            component: Some(summary),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        // All keys are strings, so serialization cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Parses the config of an artifact with this layer.
    ///
    /// # Errors
    /// Returns the reason if the document is not the config of a component, or is the config of
    /// another component.
    pub(crate) fn parse(bytes: &[u8], layer: Sha256Digest) -> Result<Self, String> {
        let config: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if config.architecture != ARCHITECTURE || config.os != COMPONENT_OS {
            return Err("it is not the config of a component".to_owned());
        }
        if config.layer_digests != [ContentDigest::from(layer)] {
            return Err("it describes another component".to_owned());
        }
        if config.component.is_none() {
            return Err("it does not list the imports of the component".to_owned());
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_has_the_specified_fields() {
        let digest = Sha256Digest::hash(b"x");
        let summary = ComponentSummary {
            exports: vec!["wardian:plugin/provider@0.1.0".to_owned()],
            imports: vec!["wasi:io/poll@0.2.0".to_owned()],
            target: None,
        };
        let config = WasmConfig::for_component(digest, "2024-01-01T00:00:00Z".to_owned(), None, summary);
        let text = String::from_utf8(config.to_bytes()).unwrap();
        assert_eq!(
            text,
            format!(
                r#"{{"created":"2024-01-01T00:00:00Z","architecture":"wasm","os":"wasip2","layerDigests":["sha256:{digest}"],"component":{{"exports":["wardian:plugin/provider@0.1.0"],"imports":["wasi:io/poll@0.2.0"]}}}}"#
            )
        );
        assert_eq!(WasmConfig::parse(text.as_bytes(), digest).unwrap(), config);
        assert!(WasmConfig::parse(text.as_bytes(), Sha256Digest::hash(b"y")).is_err());
        let module = text.replace("wasip2", "wasip1");
        assert!(WasmConfig::parse(module.as_bytes(), digest).is_err());
        assert!(WasmConfig::parse(b"{}", digest).is_err());
    }
}
