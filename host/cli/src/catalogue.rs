//! The plugins that are part of this program: `build.rs` puts them here.

use wardian_install::ProviderAddress;
use wardian_install::catalogue::{Catalogue, EmbeddedPlugin};
use wardian_install::hash::Sha256Digest;

struct Embedded {
    address: &'static str,
    version: &'static str,
    bytes: &'static [u8],
    sha256: [u8; 32],
}

/// All of them. Reads no plugin: not a byte of one is touched before it is used.
pub(crate) fn embedded() -> Catalogue {
    let embedded: Vec<Embedded> = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
    Catalogue::new(embedded.into_iter().filter_map(plugin).collect())
}

fn plugin(embedded: Embedded) -> Option<EmbeddedPlugin> {
    Some(EmbeddedPlugin {
        address: ProviderAddress::parse(embedded.address).ok()?,
        version: embedded.version.parse().ok()?,
        bytes: embedded.bytes,
        sha256: Sha256Digest::from_bytes(embedded.sha256),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_plugin_has_a_readable_address_and_version_and_its_digest() {
        let embedded: Vec<Embedded> = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
        for one in embedded {
            let (address, bytes) = (one.address, one.bytes);
            let plugin = plugin(one).unwrap_or_else(|| panic!("{address}"));
            assert_eq!(plugin.sha256, Sha256Digest::of(bytes), "{address}");
        }
    }
}
