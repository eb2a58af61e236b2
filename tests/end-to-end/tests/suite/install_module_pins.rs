//! Modules are pinned in `.wardian.lock.hcl`: a changed package stops `init`, and only `-upgrade`
//! accepts it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::collections::BTreeMap;
use std::fs;

use wardian_registry_server::{ModuleRelease, OciRepository, RegistryModule};

use crate::install_setup::{GitCommit, Installation, create_repository, usual_content};

const CONSENT: &str = ".wardian.lock.hcl";

fn git_project() -> Installation {
    let installation = Installation::new(usual_content(), &[]);
    let git = installation.project.path("git");
    fs::create_dir_all(&git).unwrap();
    create_repository(&git, "zone", &[GitCommit::new(&[("main.tf", "# zone\n")], Some("v1.0.0"))]);
    let mut description = installation.server.description();
    description.git = Some(git);
    installation.server.update(description);
    installation
        .write("main.tf", "module \"zone\" {\n  source = \"git::[PLAIN]/git/zone.git?ref=v1.0.0\"\n}\n");
    installation
}

/// Removes all files that `init` created, except for the lock files, as in a fresh clone on another
/// machine.
fn as_fresh_clone(installation: &Installation) {
    fs::remove_dir_all(installation.project.path(".terraform")).unwrap();
    fs::remove_dir_all(installation.cache.path()).unwrap();
}

#[test]
fn git_module_is_pinned_by_commit_and_content() {
    let installation = git_project();
    installation.run("init").success();
    let pins = installation.project.read(CONSENT);
    assert!(pins.contains("zone.git"), "{pins}");
    assert!(pins.contains("h1:"), "{pins}");
    let commit = installation.project.path("git/zone.git");
    let commit =
        std::process::Command::new("git").arg("-C").arg(commit).args(["rev-parse", "v1.0.0"]).output();
    let commit = String::from_utf8(commit.unwrap().stdout).unwrap();
    assert!(pins.contains(commit.trim()), "{commit} is not in {pins}");
    as_fresh_clone(&installation);
    installation.run("init").success();
    assert_eq!(installation.project.read(CONSENT), pins);
}

#[test]
fn moved_tag_stops_init_until_upgrade() {
    let installation = git_project();
    installation.run("init").success();
    let pins = installation.project.read(CONSENT);
    let git = installation.project.path("git");
    fs::remove_dir_all(git.join("zone.git")).unwrap();
    create_repository(&git, "zone", &[GitCommit::new(&[("main.tf", "# another zone\n")], Some("v1.0.0"))]);
    as_fresh_clone(&installation);
    let refused = installation.run("init").ended_with(1);
    assert!(refused.errors.contains("zone") && refused.errors.contains("-upgrade"), "{}", refused.text());
    assert_eq!(installation.project.read(CONSENT), pins);
    assert!(!installation.project.has(".terraform/modules/zone/main.tf"));
    installation.run("init -upgrade").success();
    assert_ne!(installation.project.read(CONSENT), pins);
    assert_eq!(installation.project.read(".terraform/modules/zone/main.tf"), "# another zone\n");
}

#[test]
fn changed_registry_module_archive_stops_init() {
    let installation = Installation::new(
        usual_content(),
        &[(
            "main.tf",
            "module \"net\" {\n  source  = \"example.test/acme/net/aws\"\n  version = \"~> 1.0\"\n}\n",
        )],
    );
    installation.run("init").success();
    let mut description = installation.server.description();
    for version in &mut description.modules[0].versions {
        version.files.insert("backdoor.tf".to_owned(), "# changed\n".to_owned());
    }
    installation.server.update(description);
    as_fresh_clone(&installation);
    let refused = installation.run("init").ended_with(1);
    assert!(refused.errors.contains("net") && refused.errors.contains("-upgrade"), "{}", refused.text());
    assert!(!installation.project.has(".terraform/modules/net/main.tf"));
}

#[test]
fn pinned_registry_version_is_kept_until_upgrade() {
    let configuration =
        "module \"net\" {\n  source  = \"example.test/acme/net/aws\"\n  version = \">= 1.0.0\"\n}\n";
    let installation = Installation::new(usual_content(), &[("main.tf", configuration)]);
    installation.run("init").success();
    let mut description = installation.server.description();
    let newest = ModuleRelease {
        version: "3.0.0".to_owned(),
        files: BTreeMap::from([("main.tf".to_owned(), "# three\n".to_owned())]),
        ..ModuleRelease::default()
    };
    description.modules[0].versions.push(newest);
    installation.server.update(description);
    as_fresh_clone(&installation);
    installation.run("init").success();
    assert!(installation.project.read(".terraform/modules/modules.json").contains("\"2.0.0\""));
    installation.run("init -upgrade").success();
    assert!(installation.project.read(".terraform/modules/modules.json").contains("\"3.0.0\""));
}

#[test]
fn changed_installed_module_stops_init() {
    let installation = git_project();
    installation.run("init").success();
    installation.project.write(".terraform/modules/zone/main.tf", "# changed by somebody\n");
    let refused = installation.run("init").ended_with(1);
    assert!(refused.errors.contains("zone") && refused.errors.contains("-upgrade"), "{}", refused.text());
    fs::remove_dir_all(installation.project.path(".terraform/modules/zone")).unwrap();
    installation.run("init").success();
    assert_eq!(installation.project.read(".terraform/modules/zone/main.tf"), "# zone\n");
}

#[test]
fn location_in_registry_response_body_is_used() {
    let mut content = usual_content();
    content.modules = vec![RegistryModule {
        address: "acme/net/aws".to_owned(),
        versions: vec![ModuleRelease {
            version: "1.0.0".to_owned(),
            files: BTreeMap::from([("main.tf".to_owned(), "# net\n".to_owned())]),
            has_body: true,
            ..ModuleRelease::default()
        }],
    }];
    let installation = Installation::new(
        content,
        &[("main.tf", "module \"net\" {\n  source = \"example.test/acme/net/aws\"\n}\n")],
    );
    installation.run("init").success();
    assert_eq!(installation.project.read(".terraform/modules/net/main.tf"), "# net\n");
}

#[test]
fn oci_module_is_installed_and_pinned() {
    let mut content = usual_content();
    let files = |text: &str| BTreeMap::from([("main.tf".to_owned(), text.to_owned())]);
    content.oci.push(OciRepository {
        name: "modules/net".to_owned(),
        modules: BTreeMap::from([
            ("latest".to_owned(), files("# latest\n")),
            ("1.0.0".to_owned(), files("# one\n")),
        ]),
        ..OciRepository::default()
    });
    let installation = Installation::new(
        content,
        &[(
            "main.tf",
            "module \"a\" {\n  source = \"oci://[HOST]/modules/net\"\n}\n\nmodule \"b\" {\n  source = \
             \"oci://[HOST]/modules/net?tag=1.0.0\"\n}\n",
        )],
    );
    installation.run("init").success();
    assert_eq!(installation.project.read(".terraform/modules/a/main.tf"), "# latest\n");
    assert_eq!(installation.project.read(".terraform/modules/b/main.tf"), "# one\n");
    assert!(installation.project.read(CONSENT).contains("modules/net"));
}

#[test]
fn module_sources_cannot_run_programs_through_git() {
    for source in [
        "git::ext::sh -c touch% pwned",
        "git::--upload-pack=touch pwned",
        "git::file:///tmp?ref=--output=pwned",
    ] {
        let installation = Installation::new(usual_content(), &[]);
        installation.write("main.tf", &format!("module \"m\" {{\n  source = \"{source}\"\n}}\n"));
        installation.run("init").ended_with(1);
        assert!(!installation.project.has("pwned"), "{source}");
    }
}
