//! Compiled code, kept between runs.
//!
//! Compiled code is native code: whoever can change it runs with all rights of
//! the person. So it is used only where it is authentic (see `wardian-cache`);
//! otherwise it is compiled anew and written over. What is run are the bytes that
//! were checked, from memory.
//!
//! An entry is called `DIGEST-ENGINE.code`: `DIGEST` is the component's SHA-256,
//! `ENGINE` the start of a digest of all that compiled code depends on. A wardian
//! of another version therefore uses other entries.

use std::io;
use std::path::PathBuf;

use wardian_cache::{Cache, CacheError, CacheFormat};

use crate::engine::Compatibility;

const FORMAT: CacheFormat =
    CacheFormat { magic: b"wardian code 1\r\n", max_total_bytes: 1 << 30, max_entry_bytes: 1 << 30 };

/// Where compiled code and the key that authenticates it are kept.
#[derive(Clone, Debug)]
pub struct CacheDirectories {
    /// For compiled code: it can be removed at any time.
    pub code: PathBuf,
    /// For the key: not the same directory, nor one above or below it.
    pub key: PathBuf,
}

/// An open cache.
pub(crate) struct CodeCache {
    entries: Cache,
    engine: String,
}

/// An entry that was found authentic.
pub(crate) struct Entry(Vec<u8>);

impl Entry {
    /// What wasmtime serialised.
    pub(crate) fn code(&self) -> &[u8] {
        &self.0
    }
}

impl CodeCache {
    /// Opens a cache, making what is not there yet.
    pub(crate) fn open(
        directories: &CacheDirectories,
        compatibility: Compatibility,
    ) -> Result<Self, CacheError> {
        let entries = Cache::open(&directories.code, &directories.key, FORMAT)?;
        Ok(Self { entries, engine: hex::encode(&compatibility.as_bytes()[..16]) })
    }

    /// The entry of a component, where there is an authentic one.
    pub(crate) fn get(&self, component: &[u8; 32]) -> Option<Entry> {
        self.entries.get(&self.name(component)).map(Entry)
    }

    /// Keeps a component's code.
    pub(crate) fn put(&self, component: &[u8; 32], code: &[u8]) -> io::Result<()> {
        self.entries.put(&self.name(component), code)
    }

    fn name(&self, component: &[u8; 32]) -> String {
        format!("{}-{}.code", hex::encode(component), self.engine)
    }
}
