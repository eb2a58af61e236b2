//! Caches compiled code between runs.
//!
//! Compiled code is native code: anyone who can change it can run code with all of the user's
//! permissions. Therefore, cached code is used only if it is authentic (see `wardian-cache`);
//! otherwise, the component is compiled again and the entry is overwritten. Only verified bytes
//! that are already in memory are run.
//!
//! An entry is named `DIGEST-ENGINE.code`: `DIGEST` is the component's SHA-256, `ENGINE` is a
//! prefix of a digest of all settings that compiled code depends on. Therefore, other versions of
//! Wardian use different entries. `functions-PLUGIN-ENGINE.code` contains the functions of the version of
//! a plugin that was compiled last (see `function_cache`); `PLUGIN` is a prefix of a digest of its address.

use std::io;
use std::path::PathBuf;

use wardian_address::ProviderAddress;
use wardian_cache::{Cache, CacheError, CacheFormat};

use crate::engine::Compatibility;

const FORMAT: CacheFormat =
    CacheFormat { magic: b"wardian code 1\r\n", max_total_bytes: 1 << 30, max_entry_bytes: 1 << 30 };

/// The directories of compiled code and of the key that authenticates it.
#[derive(Clone, Debug)]
pub struct CacheDirectories {
    /// The directory of compiled code, which can be removed at any time.
    pub code: PathBuf,
    /// The directory of the key. It must not be the code directory, an ancestor of it, or a
    /// directory in it.
    pub key: PathBuf,
}

pub(crate) struct CodeCache {
    entries: Cache,
    engine: String,
}

/// An entry whose authenticity was checked.
pub(crate) struct Entry(Vec<u8>);

impl Entry {
    /// Returns the code in wasmtime's serialized form.
    pub(crate) fn code(&self) -> &[u8] {
        &self.0
    }
}

impl CodeCache {
    /// Opens a cache and creates its missing directories.
    pub(crate) fn open(
        directories: &CacheDirectories,
        compatibility: Compatibility,
    ) -> Result<Self, CacheError> {
        let entries = Cache::open(&directories.code, &directories.key, FORMAT)?;
        Ok(Self { entries, engine: hex::encode(&compatibility.as_bytes()[..16]) })
    }

    /// Returns a component's entry, if there is an authentic one.
    pub(crate) fn get(&self, component: &[u8; 32]) -> Option<Entry> {
        self.entries.get(&self.name(component)).map(Entry)
    }

    /// Stores a component's code.
    pub(crate) fn put(&self, component: &[u8; 32], code: &[u8]) -> io::Result<()> {
        self.entries.put(&self.name(component), code)
    }

    /// Returns the functions of the version of a plugin that was compiled last; empty if there is no authentic
    /// entry.
    pub(crate) fn functions(&self, plugin: &ProviderAddress) -> Vec<u8> {
        self.entries.get(&self.functions_name(plugin)).unwrap_or_default()
    }

    /// Stores the functions of a plugin.
    pub(crate) fn put_functions(&self, plugin: &ProviderAddress, functions: &[u8]) -> io::Result<()> {
        self.entries.put(&self.functions_name(plugin), functions)
    }

    fn functions_name(&self, plugin: &ProviderAddress) -> String {
        let plugin = blake3::hash(plugin.to_string().as_bytes());
        format!("functions-{}-{}.code", hex::encode(&plugin.as_bytes()[..16]), self.engine)
    }

    fn name(&self, component: &[u8; 32]) -> String {
        format!("{}-{}.code", hex::encode(component), self.engine)
    }
}
