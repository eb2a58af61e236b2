//! A snapshot of the files in a directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use wardian_end_to_end::Project;

/// The contents of files, by path.
#[derive(Debug)]
pub struct Folder(BTreeMap<String, String>);

/// A change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Made,
    Changed,
    Removed,
}

impl Folder {
    /// Reads all files except the files of the home directory and installed files.
    pub fn read(project: &Project) -> Self {
        let mut files = BTreeMap::new();
        below(&project.path(""), "", &mut files);
        Self(files)
    }

    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// Returns the changes from this snapshot to a later snapshot.
    pub fn changes<'a>(&'a self, after: &'a Self) -> Vec<(&'a str, Fate)> {
        let paths: BTreeSet<&str> = self.0.keys().chain(after.0.keys()).map(String::as_str).collect();
        paths
            .into_iter()
            .filter_map(|path| match (self.get(path), after.get(path)) {
                (None, _) => Some((path, Fate::Made)),
                (_, None) => Some((path, Fate::Removed)),
                (Some(earlier), Some(later)) => (earlier != later).then_some((path, Fate::Changed)),
            })
            .collect()
    }
}

fn below(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !["home", ".terraform/modules", ".terraform/providers"].contains(&&*name) {
                below(&entry.path(), &format!("{name}/"), found);
            }
        } else {
            let content = fs::read(entry.path()).unwrap_or_default();
            found.insert(name, String::from_utf8_lossy(&content).into_owned());
        }
    }
}
