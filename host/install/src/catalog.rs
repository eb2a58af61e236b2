//! The catalog of the plugins that are embedded in the binary.
//!
//! This module performs no I/O: the caller passes the bytes and the digest that was computed at
//! build time, so no hash is computed at run time.

use std::fmt;

use wardian_address::{ProviderAddress, Version};
use wardian_diagnostic::closest;

use crate::hash::{PackageHash, Sha256Digest};

/// A component that is embedded in the `wardian` binary.
#[derive(Clone, PartialEq, Eq)]
pub struct EmbeddedPlugin {
    /// The provider that the plugin implements.
    pub address: ProviderAddress,
    /// The version of the provider whose schema the plugin is compatible with.
    pub version: Version,
    pub bytes: &'static [u8],
    /// The digest of `bytes`, computed at build time.
    pub sha256: Sha256Digest,
    /// The hashes of the native packages of this version that the provider's registry publishes.
    pub published_hashes: &'static [&'static str],
}

impl EmbeddedPlugin {
    /// Returns the hash that the lock file records for the plugin.
    pub fn package_hash(&self) -> PackageHash {
        PackageHash::for_component(&self.address, &self.version, self.sha256)
    }
}

impl fmt::Debug for EmbeddedPlugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EmbeddedPlugin")
            .field("address", &self.address)
            .field("version", &self.version)
            .field("size", &self.bytes.len())
            .field("sha256", &self.sha256)
            .field("published_hashes", &self.published_hashes)
            .finish()
    }
}

/// All embedded plugins.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    plugins: Vec<EmbeddedPlugin>,
}

impl Catalog {
    pub fn new(plugins: Vec<EmbeddedPlugin>) -> Self {
        Self { plugins }
    }

    pub fn iter(&self) -> impl Iterator<Item = &EmbeddedPlugin> {
        self.plugins.iter()
    }

    pub fn versions_of<'a>(&'a self, address: &'a ProviderAddress) -> impl Iterator<Item = &'a Version> {
        self.plugins.iter().filter(move |plugin| plugin.address == *address).map(|plugin| &plugin.version)
    }

    /// Returns the provider with the most similar name in the same namespace, if the difference
    /// could be a typo. Returns `None` for an embedded provider.
    pub fn similar(&self, address: &ProviderAddress) -> Option<&ProviderAddress> {
        let same_namespace = |known: &&ProviderAddress| {
            (known.hostname(), known.namespace()) == (address.hostname(), address.namespace())
        };
        let known = || self.plugins.iter().map(|plugin| &plugin.address).filter(same_namespace);
        let near = closest(address.type_name(), known().map(ProviderAddress::type_name))?;
        known().find(|known| known.type_name() == near && *known != address)
    }

    pub fn find(&self, address: &ProviderAddress, version: &Version) -> Option<&EmbeddedPlugin> {
        self.plugins.iter().find(|plugin| plugin.address == *address && plugin.version == *version)
    }
}
