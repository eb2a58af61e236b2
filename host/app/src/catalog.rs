//! The embedded plugins, collected by `build.rs`.

use wardian_address::ProviderAddress;
use wardian_install::catalog::{Catalog, EmbeddedPlugin};
use wardian_install::hash::Sha256Digest;
use wardian_value::Str;

use crate::published_hashes::published_hashes;

struct Embedded {
    address: &'static str,
    version: &'static str,
    /// The provisioner type, if the plugin is a provisioner.
    provisioner: Option<&'static str>,
    bytes: &'static [u8],
    sha256: [u8; 32],
}

/// Returns all embedded providers. The bytes of a plugin are read only when it is loaded.
pub fn embedded() -> Catalog {
    let providers = all().into_iter().filter(|embedded| embedded.provisioner.is_none());
    Catalog::new(providers.filter_map(plugin).collect())
}

fn all() -> Vec<Embedded> {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"))
}

/// Returns whether a plugin with this address is embedded.
pub fn is_embedded(address: &ProviderAddress) -> bool {
    all().into_iter().filter_map(plugin).any(|plugin| plugin.address == *address)
}

/// Returns whether a component with this address and this hash is embedded.
pub fn is_embedded_code(address: &ProviderAddress, sha256: Sha256Digest) -> bool {
    all().into_iter().filter_map(plugin).any(|plugin| plugin.address == *address && plugin.sha256 == sha256)
}

pub fn provisioner(type_name: &str) -> Option<EmbeddedPlugin> {
    all().into_iter().find(|embedded| embedded.provisioner == Some(type_name)).and_then(plugin)
}

/// Returns the types of the embedded provisioners.
pub fn provisioner_types() -> Vec<Str> {
    all().iter().filter_map(|embedded| embedded.provisioner).map(Str::new).collect()
}

fn plugin(embedded: Embedded) -> Option<EmbeddedPlugin> {
    Some(EmbeddedPlugin {
        address: ProviderAddress::parse(embedded.address).ok()?,
        version: embedded.version.parse().ok()?,
        bytes: embedded.bytes,
        sha256: Sha256Digest::from_bytes(embedded.sha256),
        published_hashes: published_hashes(embedded.address, embedded.version),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_plugins_have_valid_metadata_and_digest() {
        for one in all() {
            let (address, bytes) = (one.address, one.bytes);
            let plugin = plugin(one).unwrap_or_else(|| panic!("{address}"));
            assert_eq!(plugin.sha256, Sha256Digest::hash(bytes), "{address}");
        }
    }
}
