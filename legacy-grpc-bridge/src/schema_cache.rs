//! Caches plugin schemas between runs.
//!
//! The name of an entry contains the hash of the plugin's package, which gives each plugin a
//! separate entry, and Wardian's version, since a different version may check responses
//! differently. An entry contains the plugin's response nearly unchanged. A schema determines which
//! values are sensitive, so entries are used only if they are authentic (see `wardian-cache`); an
//! unusable entry is treated as missing.

use std::path::Path;

use bytes::Bytes;
use prost::Message as _;
use wardian_cache::{Cache, CacheError, CacheFormat};

use crate::ProtocolVersion;
use crate::protocol::tfplugin as m;
use crate::schema::Answered;

const FORMAT: CacheFormat =
    CacheFormat { magic: b"wardian schema1\n", max_total_bytes: 256 << 20, max_entry_bytes: 128 << 20 };

/// A cache of provider schemas on disk.
pub struct SchemaCache(Cache);

impl SchemaCache {
    /// Opens a cache and creates its missing directories. `key` is the directory of the key that
    /// authenticates entries. It must not be `directory`, an ancestor of it, or a directory in it.
    ///
    /// # Errors
    /// Returns an error if other users can write to one of the directories or read the key, or if a
    /// directory cannot be used.
    pub fn open(directory: &Path, key: &Path) -> Result<Self, CacheError> {
        Cache::open(directory, key, FORMAT).map(Self)
    }

    pub(crate) fn get(&self, package: &str) -> Option<Answered> {
        let bytes = self.0.get(&name(package)?)?;
        let kept = match m::KeptProviderSchema::decode(Bytes::from(bytes)) {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!(target: "wardian::plugin", package, %error, "cannot read a cached schema");
                return None;
            }
        };
        let version = match kept.protocol {
            5 => ProtocolVersion::Five,
            6 => ProtocolVersion::Six,
            _ => return None,
        };
        Some(Answered { version, schema: kept.schema?, identities: kept.identities })
    }

    /// Stores a response. A failure is logged and otherwise ignored.
    pub(crate) fn put(&self, package: &str, answered: &Answered) {
        let Some(name) = name(package) else { return };
        let kept = m::KeptProviderSchema {
            protocol: match answered.version {
                ProtocolVersion::Five => 5,
                ProtocolVersion::Six => 6,
            },
            schema: Some(answered.schema.clone()),
            identities: answered.identities.clone(),
        };
        if let Err(error) = self.0.put(&name, &kept.encode_to_vec()) {
            tracing::warn!(target: "wardian::plugin", package, %error, "cannot store a schema");
        }
    }
}

/// Returns the name of the cache entry for a package hash in the lock file's format; `None` for any
/// other string.
fn name(package: &str) -> Option<String> {
    const MAX_ENTRIES: usize = 100;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | ':');
    if package.is_empty() || package.len() > MAX_ENTRIES || !package.chars().all(allowed) {
        return None;
    }
    let package = package.replace('+', "-").replace(['/', ':'], "_").replace('=', "");
    Some(format!("{package}-{}.schema", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_cache_entry_names_are_valid_file_names() {
        let named = name("h1:DBD3jwW+V36BybqzDa/TEhKWRclYw0Qrojsri6lKeVgY=").unwrap();
        assert!(named.starts_with("h1_DBD3jwW-V36BybqzDa_TEhKWRclYw0Qrojsri6lKeVgY-"), "{named}");
        for bad in ["", "..", "a b", "\0", &"x".repeat(101)] {
            assert_eq!(name(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn stored_schema_is_found_and_decoded() {
        let root = tempfile::tempdir().unwrap();
        let open = || SchemaCache::open(&root.path().join("schemas"), &root.path().join("key")).unwrap();
        let mut schema = m::UndecodedProviderSchema::default();
        schema.resource_schemas.insert("a".into(), Bytes::from_static(b"\x08\x07"));
        let answered = Answered { version: ProtocolVersion::Five, schema, identities: [].into() };
        assert!(open().get("h1:a").is_none());
        open().put("h1:a", &answered);
        let found = open().get("h1:a").unwrap();
        assert_eq!(found.version, ProtocolVersion::Five);
        let decoded = crate::schema::provider_schema(found).unwrap();
        assert_eq!(decoded.schema.resources.get("a").unwrap().version, 7);
        assert!(open().get("h1:b").is_none());
    }
}
