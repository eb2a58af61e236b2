//! Copies of directory trees.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use wardian_archive::{CopyOptions, copy_tree};

use crate::fixture::{Content, Tree, read_tree};

struct Copying {
    root: tempfile::TempDir,
}

impl Copying {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let from = root.path().join("from");
        for directory in ["sub/empty", ".git/objects", "sub/.hidden"] {
            fs::create_dir_all(from.join(directory)).unwrap();
        }
        for (name, content) in [
            ("main.tf", "main"),
            (".terraform.lock.hcl", "lock"),
            ("sub/.tflint", "x"),
            ("sub/b.tf", "b"),
            (".git/objects/x", "x"),
            ("sub/.hidden/y", "y"),
            ("script.sh", "#!"),
        ] {
            fs::write(from.join(name), content).unwrap();
        }
        fs::set_permissions(from.join("script.sh"), fs::Permissions::from_mode(0o4755)).unwrap();
        symlink("../main.tf", from.join("sub/link")).unwrap();
        symlink("missing", from.join("dangling")).unwrap();
        symlink("sub", from.join("directory-link")).unwrap();
        Self { root }
    }

    fn from(&self) -> PathBuf {
        self.root.path().join("from")
    }

    fn to(&self) -> PathBuf {
        self.root.path().join("to")
    }

    fn copy(&self, options: CopyOptions) -> Tree {
        copy_tree(&self.from(), &self.to(), options).unwrap();
        tree(&self.to())
    }
}

fn tree(path: &Path) -> Tree {
    let mut tree = Tree::new();
    read_tree(path, "", &mut tree);
    tree
}

#[test]
fn whole_tree_is_copied() {
    let copying = Copying::new();
    let copy = copying.copy(CopyOptions::default());
    assert_eq!(copy, tree(&copying.from()));
    assert_eq!(copy["sub/link"], Content::Link("../main.tf".to_owned()));
    let metadata = fs::metadata(copying.to().join("script.sh")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o755, "without the setuid bit");
    assert_eq!(metadata.nlink(), 1);
}

#[test]
fn hidden_files_are_skipped_if_requested() {
    let copy = Copying::new().copy(CopyOptions { skips_hidden: true, ..CopyOptions::default() });
    let names: Vec<_> = copy.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["dangling", "directory-link", "main.tf", "script.sh", "sub", "sub/b.tf", "sub/empty", "sub/link"]
    );
}

#[test]
fn files_are_linked_if_requested() {
    let copying = Copying::new();
    let copy = copying.copy(CopyOptions { uses_hard_links: true, ..CopyOptions::default() });
    assert_eq!(copy, tree(&copying.from()));
    let inode = |path: PathBuf| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(copying.from().join("main.tf")), inode(copying.to().join("main.tf")));
    // The link itself is copied, not the file that it points to.
    let link = fs::symlink_metadata(copying.to().join("dangling")).unwrap();
    assert!(link.is_symlink() && link.nlink() == 1);
}

#[test]
fn link_to_a_directory_can_be_copied() {
    let copying = Copying::new();
    let link = copying.root.path().join("link");
    symlink("from", &link).unwrap();
    copy_tree(&link, &copying.to(), CopyOptions::default()).unwrap();
    assert_eq!(tree(&copying.to()), tree(&copying.from()));
}

#[test]
fn target_inside_the_source_is_not_copied_into_itself() {
    let copying = Copying::new();
    let before = tree(&copying.from());
    let target = copying.from().join("sub/copy");
    copy_tree(&copying.from(), &target, CopyOptions::default()).unwrap();
    let mut copy = tree(&target);
    copy.remove("sub/copy");
    assert_eq!(copy, before);
}

#[test]
fn existing_files_are_not_replaced() {
    let copying = Copying::new();
    fs::create_dir(copying.to()).unwrap();
    let victim = copying.root.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, copying.to().join("main.tf")).unwrap();
    for uses_hard_links in [false, true] {
        let options = CopyOptions { uses_hard_links, ..CopyOptions::default() };
        let error = copy_tree(&copying.from(), &copying.to(), options).unwrap_err();
        assert_eq!(error.source.kind(), std::io::ErrorKind::AlreadyExists, "{error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}

#[test]
fn special_files_and_missing_directories_are_errors() {
    let copying = Copying::new();
    let missing = copying.root.path().join("missing");
    assert!(copy_tree(&missing, &copying.to(), CopyOptions::default()).is_err());
    assert!(!copying.to().exists());
    let socket = copying.from().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = copy_tree(&copying.from(), &copying.to(), CopyOptions::default()).unwrap_err();
    assert_eq!(error.from, fs::canonicalize(copying.from()).unwrap().join("socket"), "{error}");
}
