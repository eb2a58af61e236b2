//! `init`: version selection, the written files, and rejected changes.

use wardian_end_to_end::{Project, assert_seen};

const NULL: &str = "resource \"null_resource\" \"a\" {}\n";

/// A lock file written by Terraform, with the hash of a native package.
const TERRAFORMS_LOCK: &str = r#"# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.4"
  hashes = [
    "h1:hkf5w5B6q8e2A42ND2CjAvgvSN3puAosDmOJb3zCVQM=",
    "zh:59f6b52ab4ff35739647f9509ee6d93d7c032985d9f8c6237d1f8a59471bbbe2",
  ]
}
"#;

#[test]
fn init_accepts_terraform_lock_file() {
    let project = Project::new(&[("main.tf", NULL), (".terraform.lock.hcl", TERRAFORMS_LOCK)]);
    assert_seen!("init_with_terraforms_lock", project.run("init").success());
    let lock = project.read(".terraform.lock.hcl");
    assert!(lock.contains("h1:hkf5w5B6q8e2A42ND2CjAvgvSN3puAosDmOJb3zCVQM="), "{lock}");
    assert_eq!(lock.matches("h1:").count(), 2, "{lock}");
    project.run("apply -auto-approve").success();
}

#[test]
fn init_does_not_write_readonly_lock_file() {
    let project = Project::new(&[("main.tf", NULL)]);
    assert_seen!("init_readonly_without_lock", project.run("init -lockfile=readonly").ended_with(1));
    assert!(!project.has(".terraform.lock.hcl"));
    project.write(".terraform.lock.hcl", TERRAFORMS_LOCK);
    assert_seen!("init_readonly", project.run("init -lockfile=readonly").success());
    assert_eq!(project.read(".terraform.lock.hcl"), TERRAFORMS_LOCK);
    project.run("plan").success();
}

#[test]
fn init_upgrades_locked_version_only_on_request() {
    let lock = TERRAFORMS_LOCK.replace("3.2.4", "3.2.1");
    let project = Project::new(&[("main.tf", NULL), (".terraform.lock.hcl", &lock)]);
    assert_seen!("init_locked_version_is_gone", project.run("init").ended_with(1));
    assert_eq!(project.read(".terraform.lock.hcl"), lock);
    assert_seen!("init_upgrade", project.run("init -upgrade").success());
    assert!(project.read(".terraform.lock.hcl").contains("\"3.2.4\""));
}

#[test]
fn init_does_not_change_invalid_lock_file() {
    let project = Project::new(&[("main.tf", NULL), (".terraform.lock.hcl", "provider \"x\" {\n")]);
    assert_seen!("init_damaged_lock", project.run("init").ended_with(1));
    assert_eq!(project.read(".terraform.lock.hcl"), "provider \"x\" {\n");
}

#[test]
fn init_uses_tf_data_dir() {
    let project = Project::new(&[("main.tf", NULL)]);
    project.run_with("init", "", &[("TF_DATA_DIR", "elsewhere")]).success();
    project.run_with("plan", "", &[("TF_DATA_DIR", "elsewhere")]).success();
    assert!(!project.has(".terraform"));
}

#[test]
fn built_in_provider_is_neither_installed_nor_locked() {
    let project = Project::new(&[("main.tf", "resource \"terraform_data\" \"a\" {}\n")]);
    assert_seen!("init_built_in", project.run("init").success());
    assert!(!project.has(".terraform.lock.hcl"));
    assert!(!project.has(".terraform"));
}

#[test]
fn built_in_provider_has_no_version_and_other_names_are_rejected() {
    let required = "terraform {\n  required_providers {\n    terraform = {\n      source  = \"terraform.io/builtin/terraform\"\n      \
                    version = \"~> 1.0\"\n    }\n    other = {\n      source = \"terraform.io/builtin/other\"\n    }\n  }\n}\n";
    let project = Project::new(&[("main.tf", required)]);
    assert_seen!("init_built_in_version", project.run("init").ended_with(1));
}
