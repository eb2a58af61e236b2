//! Directories of which a confined program sees a part.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A directory that the program may read, except for some of its entries. The program sees the
/// entries that existed when it was started; it cannot create others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryView {
    /// The real path.
    pub directory: PathBuf,
    pub entries: BTreeMap<OsString, ViewEntry>,
}

impl DirectoryView {
    /// Whether the directory contains a path that the program does not see.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        let Ok(path) = path.strip_prefix(&self.directory) else { return false };
        let mut entries = &self.entries;
        for name in path {
            match entries.get(name) {
                None => return true,
                Some(ViewEntry::Whole) => return false,
                Some(ViewEntry::Partial(below)) => entries = below,
            }
        }
        false
    }
}

/// An entry that the program sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewEntry {
    /// The file, or the directory with everything in it.
    Whole,
    /// A directory with these entries only.
    Partial(BTreeMap<OsString, ViewEntry>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_entries_are_visible() {
        let below = BTreeMap::from([("file".into(), ViewEntry::Whole)]);
        let entries = BTreeMap::from([
            ("whole".into(), ViewEntry::Whole),
            ("partial".into(), ViewEntry::Partial(below)),
        ]);
        let view = DirectoryView { directory: "/d".into(), entries };
        for path in ["/d", "/d/whole", "/d/whole/x/y", "/d/partial", "/d/partial/file", "/e", "/", "/dx"] {
            assert!(!view.hides(Path::new(path)), "{path}");
        }
        for path in ["/d/other", "/d/whole.txt", "/d/partial/secret", "/d/partial/file.bak"] {
            assert!(view.hides(Path::new(path)), "{path}");
        }
    }
}
