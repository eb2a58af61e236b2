//! Removes the least recently used entries.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use super::{ModuleCache, repository_lock};
use crate::programs::size_of;

/// The entries that were removed from a cache of modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrunedModules {
    /// The number of removed packages and repositories.
    pub entries: usize,
    pub removed_bytes: u64,
    pub kept_bytes: u64,
}

struct Entry {
    path: PathBuf,
    last_use: SystemTime,
    bytes: u64,
}

impl ModuleCache {
    /// Removes the least recently used entries until the size of all other entries is at most
    /// `max_bytes`. If a running process is copying a removed package, that process fetches the
    /// package again.
    pub fn prune(&self, max_bytes: u64) -> PrunedModules {
        let mut entries: Vec<Entry> = ["trees", "git"]
            .iter()
            .flat_map(|name| fs::read_dir(self.root.join(name)).into_iter().flatten().flatten())
            .filter_map(|entry| {
                let last_use = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
                let bytes = size_of(&entry.path(), u64::MAX);
                Some(Entry { path: entry.path(), last_use, bytes })
            })
            .collect();
        entries.sort_by_key(|entry| entry.last_use);
        let mut pruned = PrunedModules {
            kept_bytes: entries.iter().map(|entry| entry.bytes).sum(),
            ..PrunedModules::default()
        };
        for entry in entries {
            if pruned.kept_bytes <= max_bytes {
                break;
            }
            // A repository that a running process uses is kept.
            let Some(_lock) = self.try_lock(&repository_lock(&entry.path)) else { continue };
            self.remove(&entry.path);
            pruned.entries += 1;
            pruned.removed_bytes += entry.bytes;
            pruned.kept_bytes -= entry.bytes;
        }
        self.remove_records_without_tree();
        pruned
    }

    /// Removes the records of packages whose trees were removed.
    fn remove_records_without_tree(&self) {
        for entry in fs::read_dir(self.root.join("packages")).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "json")
                && !self.has_tree_of_record(&path)
            {
                let _ = fs::remove_file(&path);
            }
        }
    }
}
