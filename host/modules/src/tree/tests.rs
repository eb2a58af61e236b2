use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (path, content) in files {
            tree.write(path, content);
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    fn contents(&self) -> TreeContents {
        TreeContents::read(self.0.path()).unwrap()
    }
}

#[test]
fn hash_matches_go_modules() {
    let tree = Tree::new(&[("b/c.tf", "two\n"), ("a.tf", "one\n")]);
    // Computed with sha256sum: the hash of the lines "HEX  a.tf" and "HEX  b/c.tf".
    let line = |text: &str, path: &str| format!("{}  {path}\n", Sha256Digest::hash(text.as_bytes()));
    let expected = Sha256Digest::hash((line("one\n", "a.tf") + &line("two\n", "b/c.tf")).as_bytes());
    let hash = tree.contents().hash();
    assert_eq!(hash, TreeHash::from_bytes(*expected.as_bytes()));
}

#[test]
fn link_and_file_have_different_hashes() {
    let (file, link) = (Tree::new(&[("a", "b")]), Tree::new(&[("b", "")]));
    file.write("b", "");
    symlink("b", link.path("a")).unwrap();
    assert_ne!(file.contents().hash(), link.contents().hash());
    let other = Tree::new(&[("b", "")]);
    symlink("c", other.path("a")).unwrap();
    assert_ne!(other.contents().hash(), link.contents().hash());
}

#[test]
fn copy_has_the_same_hash_and_permissions() {
    let tree = Tree::new(&[("main.tf", "x"), ("scripts/run.sh", "y"), (".hidden/a", "z"), ("deep/er/b", "")]);
    fs::set_permissions(tree.path("scripts/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../main.tf", tree.path("scripts/link")).unwrap();
    fs::create_dir(tree.path("empty")).unwrap();
    let target = tempfile::tempdir().unwrap();
    let copy = target.path().join("copy");
    let copied = TreeContents::copy(tree.0.path(), &copy).unwrap();
    assert_eq!(copied, tree.contents());
    assert_eq!(copied, TreeContents::read(&copy).unwrap());
    assert!(copy.join("empty").is_dir());
    assert_eq!(fs::read_link(copy.join("scripts/link")).unwrap(), Path::new("../main.tf"));
    let is_executable = |path: &str| fs::metadata(copy.join(path)).unwrap().permissions().mode() & 0o100 != 0;
    assert!(is_executable("scripts/run.sh") && !is_executable("main.tf"));
    assert!(TreeContents::copy(tree.0.path(), &copy).is_err(), "the directory exists");
}

#[test]
fn repository_metadata_is_not_hashed() {
    let tree = Tree::new(&[("main.tf", "x")]);
    let plain = tree.contents().hash();
    tree.write(".git/config", "y");
    tree.write("sub/.git", "gitdir: elsewhere");
    tree.write(".hg/store", "z");
    assert_eq!(tree.contents().hash(), plain);
    tree.write(".gitignore", "y");
    assert_ne!(tree.contents().hash(), plain);
    prepare(tree.0.path()).unwrap();
    assert!(!tree.path(".git").exists() && !tree.path("sub/.git").exists() && !tree.path(".hg").exists());
    assert!(tree.path(".gitignore").exists());
}

#[test]
fn terraform_copy_lacks_only_hidden_files() {
    let full = Tree::new(&[("main.tf", "x"), (".github/a.yml", "y"), ("sub/.config", "z"), ("sub/b", "")]);
    let copy = Tree::new(&[("main.tf", "x"), ("sub/b", "")]);
    assert!(copy.contents().is_without_hidden_files_of(&full.contents()));
    assert!(!full.contents().is_without_hidden_files_of(&copy.contents()));
    copy.write("main.tf", "changed");
    assert!(!copy.contents().is_without_hidden_files_of(&full.contents()));
}

#[test]
fn links_must_point_inside_the_package() {
    for (path, target) in [("a", "/etc/passwd"), ("a", "../x"), ("d/a", "../../x"), ("a", "d/../../x")] {
        let tree = Tree::new(&[("d/file", "")]);
        symlink(target, tree.path(path)).unwrap();
        let error = prepare(tree.0.path()).unwrap_err();
        assert!(matches!(error.problem, TreeProblem::LinkOutside { .. }), "{error}");
    }
    let tree = Tree::new(&[("d/file", ""), (".git/x", "")]);
    symlink("../d/file", tree.path("d/inside")).unwrap();
    symlink("missing", tree.path("dangling")).unwrap();
    symlink("/etc", tree.path(".git/outside")).unwrap();
    prepare(tree.0.path()).unwrap();
}

#[test]
fn special_files_and_names_are_rejected() {
    let tree = Tree::new(&[("a\nb", "")]);
    assert!(matches!(TreeContents::read(tree.0.path()).unwrap_err().problem, TreeProblem::Name));
    let tree = Tree::new(&[]);
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.path("pipe"), rustix::fs::Mode::RUSR).unwrap();
    assert!(matches!(TreeContents::read(tree.0.path()).unwrap_err().problem, TreeProblem::Kind));
    assert!(TreeContents::read(&tree.path("missing")).is_err());
}

#[test]
fn commit_is_read_from_a_checkout() {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let tree = Tree::new(&[]);
    assert_eq!(commit_of_checkout(tree.0.path()), None);
    tree.write(".git/HEAD", &format!("{commit}\n"));
    assert_eq!(commit_of_checkout(tree.0.path()), CommitId::parse(commit));
    tree.write(".git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(commit_of_checkout(tree.0.path()), None);
    tree.write(".git/packed-refs", &format!("# comment\n{commit} refs/heads/main\n"));
    assert_eq!(commit_of_checkout(tree.0.path()), CommitId::parse(commit));
    tree.write(".git/refs/heads/main", &format!("{}\n", commit.replace('0', "1")));
    assert_eq!(commit_of_checkout(tree.0.path()), CommitId::parse(&commit.replace('0', "1")));
    for bad in ["ref: ../../x", "ref: /etc/passwd", "not a commit", ""] {
        tree.write(".git/HEAD", bad);
        assert_eq!(commit_of_checkout(tree.0.path()), None, "{bad}");
    }
}
