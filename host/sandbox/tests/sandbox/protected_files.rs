//! A plugin with a writable directory cannot write, move or create files that a later command
//! trusts or runs, and cannot read states and plans under any name.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_plugin::Provider;

use crate::guest::{allow, granted, load, probe, short};

const STATE: &str = "{\"version\":4,\"terraform_version\":\"1.11.4\",\"serial\":1,\"lineage\":\"x\"}";

struct Project {
    root: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { root: tempfile::tempdir().unwrap() };
        for directory in ["open", "modules/a", ".git/hooks", "out"] {
            fs::create_dir_all(project.path(directory)).unwrap();
        }
        for file in ["main.tf", "modules/a/main.tf", ".git/config", "open/file"] {
            fs::write(project.path(file), file).unwrap();
        }
        for state in ["terraform.tfstate", "terraform.tfstate.1700000000.backup", "notes.txt", "out/x"] {
            fs::write(project.path(state), STATE).unwrap();
        }
        fs::write(project.path("release"), "WARDIAN-SEALED-1 ...").unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn provider(&self, rules: &str) -> Arc<dyn Provider> {
        load(short()).provider(granted(self.root.path(), rules))
    }
}

#[tokio::test]
async fn protected_files_are_not_written_created_or_moved() {
    let project = Project::new();
    let provider = project.provider(&allow("read write", &["."]));
    for attempt in [
        "write:main.tf",
        "append:main.tf",
        "truncate:main.tf",
        "remove:main.tf",
        "set-mode:777|main.tf",
        "write:zz.tf",
        "write:ZZ.TF",
        "write:open/zz_override.tf.json",
        "write:terraform.tfvars",
        "write:x.auto.tfvars.json",
        "create:600|terraform-provisioner-x",
        "write:.git/hooks/pre-commit",
        "write:.git/config",
        "make-directory:terraform.d",
        "make-directory:zz.tf",
        "create-directory:700|open/.git",
        "rename:open/file|zz.tf",
        "hardlink:open/file|zz.tf",
        "symlink:open/file|terraform.tfstate",
        "symlink:open/file|zz.tf",
        "rename:main.tf|open/main",
        "hardlink:main.tf|open/main",
        "rename:modules|others",
        "rename:modules/a|modules/b",
        "rename:.git|git",
        "remove:release",
        "rename:open/file|release",
        "write:release",
        "append:notes.txt",
    ] {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with("refused: ") || answer.starts_with("denied: "), "{attempt}: {answer}");
    }
    for file in ["main.tf", "modules/a/main.tf", ".git/config", "open/file"] {
        assert_eq!(fs::read_to_string(project.path(file)).unwrap(), file);
    }
    assert_eq!(fs::read_to_string(project.path("notes.txt")).unwrap(), STATE);
    assert_eq!(probe(&*provider, "rename:open|elsewhere").await, "renamed");
    assert_eq!(probe(&*provider, "read:main.tf").await, "main.tf");
}

#[tokio::test]
async fn states_and_plans_are_not_read_under_any_name() {
    let project = Project::new();
    let provider = project.provider(&allow("read write", &["."]));
    for attempt in [
        "read:terraform.tfstate",
        "read:terraform.tfstate.1700000000.backup",
        "read:notes.txt",
        "read:out/x",
        "read:release",
        "hardlink:notes.txt|open/copy",
        "rename:terraform.tfstate|open/copy",
        "rename:notes.txt|open/copy",
    ] {
        let answer = probe(&*provider, attempt).await;
        assert!(answer.starts_with("refused: ") || answer.starts_with("denied: "), "{attempt}: {answer}");
    }
    let rules = allow("read", &["."]).replace("\n}", "\n protected = [\"states\"]\n}");
    let provider = project.provider(&rules);
    assert_eq!(probe(&*provider, "read:notes.txt").await, STATE);
    assert_eq!(probe(&*provider, "read:terraform.tfstate").await, STATE);
    assert!(!probe(&*provider, "read:release").await.starts_with("WARDIAN"));
}
