//! Waits until files change, for commands that run again after each change.
//!
//! The modification times and sizes of files are compared at short intervals, which works on every file
//! system. Cost of a comparison: O(watched files).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const INTERVAL: Duration = Duration::from_millis(20);

/// The modification times and sizes of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileTimes(BTreeMap<PathBuf, (SystemTime, u64)>);

impl FileTimes {
    /// Adds a file, unless it does not exist.
    pub(crate) fn add(&mut self, path: PathBuf) {
        if let Ok(metadata) = fs::metadata(&path) {
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            self.0.insert(path, (modified, metadata.len()));
        }
    }

    /// Adds the files in a directory and below it. `is_watched` selects files and directories.
    pub(crate) fn add_tree(&mut self, directory: &Path, is_watched: &dyn Fn(&Path) -> bool) {
        let mut pending = vec![directory.to_owned()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if !is_watched(&path) {
                    continue;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => pending.push(path),
                    Ok(kind) if kind.is_file() => self.add(path),
                    _ => {}
                }
            }
        }
    }

    /// Returns these times, completed with the times of files that only `other` contains.
    pub(crate) fn or(mut self, other: Self) -> Self {
        for (path, time) in other.0 {
            self.0.entry(path).or_insert(time);
        }
        self
    }

    fn changed(&self, now: &Self) -> BTreeSet<PathBuf> {
        let differs = |path: &&PathBuf| self.0.get(*path) != now.0.get(*path);
        self.0.keys().chain(now.0.keys()).filter(differs).cloned().collect()
    }

    /// Waits until a file differs from these times. Returns the paths that differ; `None` if
    /// `is_stopped` returns true.
    pub(crate) async fn next_change(
        &self,
        take: impl Fn() -> Self,
        is_stopped: impl Fn() -> bool,
    ) -> Option<BTreeSet<PathBuf>> {
        loop {
            if is_stopped() {
                return None;
            }
            let changed = self.changed(&take());
            if !changed.is_empty() {
                return Some(changed);
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_added_and_removed_files_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["same", "removed", "changed"] {
            fs::write(path(name), "a").unwrap();
        }
        fs::create_dir(path("target")).unwrap();
        fs::write(path("target").join("ignored"), "a").unwrap();
        let take = || {
            let mut times = FileTimes::default();
            times.add_tree(directory.path(), &|path| !path.ends_with("target"));
            times
        };
        let before = take();
        assert_eq!(before.0.len(), 3);
        fs::remove_file(path("removed")).unwrap();
        fs::write(path("changed"), "ab").unwrap();
        fs::write(path("target").join("ignored"), "ab").unwrap();
        fs::create_dir(path("new")).unwrap();
        fs::write(path("new").join("added"), "a").unwrap();
        let expected = [path("changed"), path("new").join("added"), path("removed")];
        assert_eq!(before.changed(&take()), expected.into_iter().collect());
        assert!(before.changed(&take().or(before.clone())).len() == 2);
    }
}
