use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let tree = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(tree.path("a/b")).unwrap();
        fs::write(tree.path("a/b/file"), "").unwrap();
        for (name, target) in [
            ("link", "a/b"),
            ("a/up", "../a/b/file"),
            ("slash", "a/"),
            ("out", "../elsewhere"),
            ("absolute", "/etc"),
            ("loop", "loop"),
            ("dangling", "a/new"),
        ] {
            symlink(target, tree.path(name)).unwrap();
        }
        symlink(tree.path("a/b"), tree.path("absolute-inside")).unwrap();
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn base(&self) -> Directory {
        Directory::open_absolute(self.root.path()).unwrap()
    }

    /// Resolves a path and returns the result below the root, or the error.
    fn find(&self, path: &str, last: LastLink) -> String {
        self.find_by(path, last, LinkRule::Relative)
    }

    fn find_by(&self, path: &str, last: LastLink, rule: LinkRule<'_>) -> String {
        match resolve(&self.base(), OsStr::new(path), last, rule, &mut Vec::new()) {
            Ok(place) => {
                let inner = place.path().strip_prefix(self.root.path()).unwrap().display().to_string();
                inner + if place.is_directory { "/" } else { "" }
            }
            Err(FileAccessError::Outside { .. }) => "outside".into(),
            Err(FileAccessError::System(error)) => Errno::from_io_error(&error).unwrap().to_string(),
            Err(error) => error.to_string(),
        }
    }
}

#[test]
fn paths_resolve_as_in_the_kernel() {
    let tree = Tree::new();
    for (path, expected) in [
        ("a/b/file", "a/b/file"),
        (".//a/./b//file", "a/b/file"),
        ("a/../a/b", "a/b"),
        ("a/b/", "a/b/"),
        (".", "/"),
        ("a/..", "/"),
        ("link/file", "a/b/file"),
        ("link/../up", "a/b/file"),
        ("link", "a/b"),
        ("link/", "a/b/"),
        ("slash", "a/"),
        ("dangling", "a/new"),
        ("new", "new"),
        ("a/b/new", "a/b/new"),
    ] {
        assert_eq!(tree.find(path, LastLink::Follow), expected, "{path}");
        assert_eq!(tree.find_by(path, LastLink::Follow, LinkRule::Beneath), expected, "{path}");
    }
    assert_eq!(tree.find("link", LastLink::Keep), "link");
    assert_eq!(tree.find("link/", LastLink::Keep), "a/b/", "a slash follows the link");
    for path in ["absolute-inside", "absolute-inside/file"] {
        let inside = path.replace("absolute-inside", "a/b");
        assert_eq!(tree.find(path, LastLink::Follow), "outside", "{path}");
        assert!(tree.find_by(path, LastLink::Follow, LinkRule::Beneath).starts_with(&inside), "{path}");
    }
}

#[test]
fn paths_that_escape_the_directory_are_rejected() {
    let tree = Tree::new();
    for path in ["..", "../x", "a/../..", "out", "out/x", "absolute", "absolute/x", "/etc", "link/../../.."] {
        for rule in [LinkRule::Relative, LinkRule::Beneath] {
            assert_eq!(tree.find_by(path, LastLink::Follow, rule), "outside", "{path}");
        }
    }
    assert_eq!(tree.find("out", LastLink::Keep), "out", "the link itself is inside");
}

#[test]
fn invalid_paths_are_rejected() {
    let tree = Tree::new();
    let long = "a/../".repeat(MAX_PATH_LENGTH / 5);
    let too_long = "a".repeat(MAX_PATH_LENGTH + 1);
    for (path, expected) in [
        ("", Errno::NOENT),
        ("absent/x", Errno::NOENT),
        ("a/b/file/x", Errno::NOTDIR),
        ("loop", Errno::LOOP),
        ("loop/x", Errno::LOOP),
        ("a\0b", Errno::INVAL),
        (&too_long, Errno::NAMETOOLONG),
    ] {
        assert_eq!(tree.find(path, LastLink::Follow), expected.to_string(), "{path}");
    }
    assert_eq!(tree.find(&long, LastLink::Follow), "/");
}

#[test]
fn names_must_be_single_path_components() {
    let base = Tree::new().base();
    for name in ["a/b", "..", "", "a\0", "/etc", "link/"] {
        let name = OsStr::new(name);
        assert!(base.open_file(name, FileOpening::READ).is_err(), "{name:?}");
        assert!(base.metadata(name).is_err(), "{name:?}");
        assert!(base.remove_file(name).is_err(), "{name:?}");
        assert!(base.create_directory(name, 0o700).is_err(), "{name:?}");
    }
}

#[test]
fn granted_paths_have_no_links_in_writable_directories() {
    let tree = Tree::new();
    fs::create_dir_all(tree.path("shared/1")).unwrap();
    symlink("../../..", tree.path("shared/cache")).unwrap();
    symlink("shared", tree.path("alias")).unwrap();
    let directories =
        WritableDirectories::new(["shared", "shared/cache", "alias/1"].map(|name| tree.path(name)));
    let listed: Vec<_> = directories.iter().map(Path::to_owned).collect();
    let expected = ["alias/1", "shared", "shared/1", "shared/cache"].map(|name| tree.path(name));
    assert_eq!(listed, expected, "the link in `shared` is not resolved, the one outside is");
    let resolved = |name: &str| directories.resolve(&tree.path(name));
    assert_eq!(resolved("alias/1/new/x").unwrap().path(), tree.path("shared/1/new/x"));
    assert_eq!(resolved("alias/1/new/x").unwrap().missing.len(), 2);
    for name in ["shared/cache", "shared/cache/etc", "alias/cache"] {
        let error = resolved(name).unwrap_err();
        assert!(error.to_string().contains("use its target in the policy"), "{error}");
    }
}
