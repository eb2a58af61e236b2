//! `init -untrusted`: only plugins and modules that the lock files pin are installed, and no
//! program is started.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::install_setup::{GitCommit, Installation, create_repository, requiring, usual_content};

fn project(configuration: &str) -> Installation {
    let installation = Installation::new(usual_content(), &[]);
    let git = installation.project.path("git");
    fs::create_dir_all(&git).unwrap();
    create_repository(&git, "zone", &[GitCommit::new(&[("main.tf", "# zone\n")], Some("v1.0.0"))]);
    let mut description = installation.server.description();
    description.git = Some(git);
    installation.server.update(description);
    installation.write("main.tf", configuration);
    installation
}

/// Runs a command with programs in PATH that record that they were started.
fn run_with_traps(installation: &Installation, line: &str) -> wardian_end_to_end::Seen {
    for name in ["git", "hg", "ssh", "terraform-credentials-tests"] {
        let path = installation.project.path(&format!("home/traps/{name}"));
        installation.write(&format!("home/traps/{name}"), "#!/bin/sh\ntouch [FOLDER]/home/started\nexit 1\n");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", installation.project.path("home/traps").display());
    let seen = installation.run_with(line, "", &[("PATH", &path)]);
    assert!(!installation.project.has("home/started"), "a program was started: {}", seen.text());
    seen
}

#[test]
fn untrusted_init_installs_only_locked_packages() {
    let installation = project(&requiring(&[("fake", "example.test/acme/fake", "1.0.0")]));
    let refused = run_with_traps(&installation, "init -untrusted").ended_with(1);
    assert!(refused.errors.contains("lock"), "{}", refused.text());
    assert_eq!(installation.requests(), Vec::<String>::new());
    installation.run("init").success();
    fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
    let lock = installation.project.read(".terraform.lock.hcl");
    // The locked package is installed. It is a native program, which an untrusted configuration cannot run.
    let refused = run_with_traps(&installation, "init -untrusted").ended_with(1);
    assert!(refused.out.contains("v1.0.0, as locked"), "{}", refused.text());
    assert!(refused.errors.contains("Native plugin denied by policy"), "{}", refused.text());
    assert!(installation.project.has(".terraform/providers/example.test/acme/fake/1.0.0"));
    assert_eq!(installation.project.read(".terraform.lock.hcl"), lock);
}

#[test]
fn untrusted_init_starts_no_git() {
    let source = "module \"zone\" {\n  source = \"git::[PLAIN]/git/zone.git?ref=v1.0.0\"\n}\n";
    let installation = project(source);
    let refused = run_with_traps(&installation, "init -untrusted").ended_with(1);
    assert!(refused.errors.contains("zone"), "{}", refused.text());
    assert_eq!(installation.requests(), Vec::<String>::new());
    // The module is pinned and in the user's cache, so it is installed without running git.
    installation.run("init").success();
    fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
    run_with_traps(&installation, "init -untrusted").success();
    assert_eq!(installation.project.read(".terraform/modules/zone/main.tf"), "# zone\n");
}

#[test]
fn untrusted_init_ignores_project_plugin_directories() {
    let installation = project(&requiring(&[("fake", "example.test/acme/fake", "1.0.0")]));
    installation.place("terraform.d/plugins", "example.test", "acme/fake", "1.0.0", false);
    run_with_traps(&installation, "init -untrusted").ended_with(1);
    assert!(!installation.project.has(".terraform/providers/example.test"));
}

#[test]
fn untrusted_init_installs_pinned_registry_module() {
    let source = "module \"net\" {\n  source  = \"example.test/acme/net/aws\"\n  version = \"1.0.0\"\n}\n";
    let installation = project(source);
    run_with_traps(&installation, "init -untrusted").ended_with(1);
    assert_eq!(installation.requests(), Vec::<String>::new());
    installation.run("init").success();
    fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
    run_with_traps(&installation, "init -untrusted").success();
    assert!(installation.project.has(".terraform/modules/net/main.tf"));
}
