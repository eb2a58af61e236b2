//! A directory in which archives are unpacked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use wardian_archive::{ArchiveError, ArchiveFormat, ArchiveLimits, Unpacked, unpack};

/// A temporary directory with an archive in one directory and the target in another.
pub struct Fixture {
    root: tempfile::TempDir,
}

/// The content of a tree by name: files, and the targets of links.
pub type Tree = BTreeMap<String, Content>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    File(Vec<u8>),
    Link(String),
    Directory,
}

impl Fixture {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("parent")).unwrap();
        Self { root }
    }

    pub fn target(&self) -> PathBuf {
        self.root.path().join("parent/target")
    }

    pub fn unpack(
        &self,
        archive: &[u8],
        format: ArchiveFormat,
        limits: &ArchiveLimits,
    ) -> Result<Unpacked, ArchiveError> {
        let path = self.root.path().join("archive");
        fs::write(&path, archive).unwrap();
        let result = unpack(&path, format, &self.target(), limits);
        result.map_err(|error| {
            assert_eq!(error.archive, path);
            assert!(error.to_string().len() < 2_000, "{error}");
            self.check_nothing_remains();
            error.problem
        })
    }

    /// Checks that nothing was written outside of the target, which was removed.
    fn check_nothing_remains(&self) {
        let names = |path: &Path| -> Vec<_> {
            let mut names: Vec<_> =
                fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert!(names(&self.root.path().join("parent")).is_empty());
        assert_eq!(names(self.root.path()), ["archive", "parent"]);
    }

    /// Returns the content of the target, and checks that nothing else was written.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        read_tree(&self.target(), "", &mut tree);
        fs::remove_dir_all(self.target()).unwrap();
        self.check_nothing_remains();
        tree
    }

    #[track_caller]
    pub fn unpacks_to(&self, archive: &[u8], format: ArchiveFormat, expected: &[(&str, &str)]) {
        self.unpack(archive, format, &ArchiveLimits::for_module_package()).unwrap();
        let mut tree = self.tree();
        tree.retain(|_, content| *content != Content::Directory);
        let expected: Tree = expected
            .iter()
            .map(|(name, content)| ((*name).to_owned(), Content::File(content.as_bytes().to_vec())))
            .collect();
        assert_eq!(tree, expected);
    }
}

pub fn read_tree(directory: &Path, prefix: &str, tree: &mut Tree) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        let file_type = entry.file_type().unwrap();
        if file_type.is_dir() {
            read_tree(&entry.path(), &format!("{name}/"), tree);
            tree.insert(name, Content::Directory);
        } else if file_type.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            tree.insert(name, Content::Link(target.to_str().unwrap().to_owned()));
        } else {
            tree.insert(name, Content::File(fs::read(entry.path()).unwrap()));
        }
    }
}

/// Limits of a few KiB, to keep the tests fast.
pub fn small_limits() -> ArchiveLimits {
    ArchiveLimits {
        max_unpacked_bytes: 100_000,
        max_bytes_at_any_ratio: 50_000,
        max_entries: 20,
        ..ArchiveLimits::for_module_package()
    }
}
