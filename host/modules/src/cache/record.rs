//! Records of packages: the file tree that was fetched for a fixed state (commit, version or
//! digest) of an address.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wardian_cache::AtomicWrite;
use wardian_digest::Sha256Digest;
use wardian_files::read_regular;
use wardian_module_source::{CommitId, TreeHash};

use super::{ModuleCache, ModuleCacheError, mark_as_used};

const FORMAT: u32 = 1;
const MAX_RECORD_BYTES: u64 = 64 << 10;

/// Identifies a package in a fixed state: a commit, a version or a digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PackageKey(String);

impl PackageKey {
    /// `getter` separates the addresses of different kinds. `state` is the commit, version or
    /// digest.
    pub(crate) fn new(getter: &str, address: &str, state: &str) -> Self {
        Self(format!("{getter}\n{address}\n{state}"))
    }
}

/// The tree of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageRecord {
    pub hash: TreeHash,
    pub commit: Option<CommitId>,
    /// The subdirectory to which a registry refers.
    pub subdirectory: String,
}

/// A record in a file. A record of another format, or of another package, is ignored.
#[derive(Deserialize, Serialize)]
struct RecordFile {
    format: u32,
    package: String,
    hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    subdirectory: String,
}

impl ModuleCache {
    fn record_path(&self, key: &PackageKey) -> PathBuf {
        let name = Sha256Digest::hash(key.0.as_bytes());
        self.root.join("packages").join(format!("{name}.json"))
    }

    /// Returns the record of a package, if the cache contains its tree.
    pub(crate) fn record(&self, key: &PackageKey) -> Option<PackageRecord> {
        let path = self.record_path(key);
        let bytes = read_regular(&path, MAX_RECORD_BYTES).ok()?;
        let file: RecordFile = serde_json::from_slice(&bytes).ok()?;
        if file.format != FORMAT || file.package != key.0 {
            return None;
        }
        let commit = match file.commit {
            Some(commit) => Some(CommitId::parse(&commit)?),
            None => None,
        };
        let record =
            PackageRecord { hash: TreeHash::parse(&file.hash)?, commit, subdirectory: file.subdirectory };
        self.has_tree(&record.hash).then(|| {
            mark_as_used(&path);
            record
        })
    }

    pub(crate) fn write_record(
        &self,
        key: &PackageKey,
        record: &PackageRecord,
    ) -> Result<(), ModuleCacheError> {
        let file = RecordFile {
            format: FORMAT,
            package: key.0.clone(),
            hash: record.hash.to_string(),
            commit: record.commit.as_ref().map(ToString::to_string),
            subdirectory: record.subdirectory.clone(),
        };
        let path = self.record_path(key);
        let failed = |error| ModuleCacheError::new(&path, error);
        let text = serde_json::to_string(&file).map_err(|error| failed(error.into()))?;
        // A lost record is written again.
        AtomicWrite::new().private().without_sync().write(&path, &[text.as_bytes()]).map_err(failed)
    }
}

impl ModuleCache {
    /// Returns whether the cache contains the tree of the record in a file.
    pub(super) fn has_tree_of_record(&self, path: &std::path::Path) -> bool {
        let bytes = read_regular(path, MAX_RECORD_BYTES).unwrap_or_default();
        let file: Option<RecordFile> = serde_json::from_slice(&bytes).ok();
        file.and_then(|file| TreeHash::parse(&file.hash)).is_some_and(|hash| self.has_tree(&hash))
    }
}
