//! An untrusted pull request that tries to read a key in four ways.

use serde_json::Value;
use wardian_end_to_end::Project;

const KEY: &str = "s3cret-of-the-build";

/// A data source that reads a file outside the directory.
const THROUGH_A_PROVIDER: &str = r#"terraform {
  required_providers {
    tfcoremock = { source = "hashicorp/tfcoremock" }
  }
}

provider "tfcoremock" {
  data_directory = "../keys"
}

data "tfcoremock_simple_resource" "key" {
  id = "key"
}

output "key" {
  value = data.tfcoremock_simple_resource.key.string
}
"#;

const THROUGH_A_DATA_SOURCE: &str = r#"data "local_file" "key" {
  filename = "../keys/key.json"
}

output "key" {
  value = data.local_file.key.content
}
"#;

const THROUGH_A_FUNCTION: &str = r#"output "key" {
  value = file("../keys/key.json")
}
"#;

const THROUGH_A_MODULE: &str = r#"module "key" {
  source = "../keys"
}
"#;

const WAYS: [(&str, &str); 4] = [
    ("provider", THROUGH_A_PROVIDER),
    ("data", THROUGH_A_DATA_SOURCE),
    ("function", THROUGH_A_FUNCTION),
    ("module", THROUGH_A_MODULE),
];

/// Creates four configurations next to a key. Each has a policy that grants the access it needs.
fn project() -> Project {
    let key = format!(r#"{{"values":{{"id":{{"string":"key"}},"string":{{"string":"{KEY}"}}}}}}"#);
    let project = Project::new(&[("keys/key.json", &key), ("keys/main.tf", &format!("# {KEY}\n???"))]);
    for (name, configuration) in WAYS {
        project.write(&format!("{name}/main.tf"), configuration);
        let grant = "otherwise = \"defer\"\n\nplugin \"*\" {\n  allow filesystem {\n    directories = [\"/\"]\n  }\n}\n";
        project.write(&format!("{name}/wardian.policy.hcl"), grant);
    }
    project
}

/// Returns the plugin and the target of each denial, with the target relative to the key.
fn denials(project: &Project) -> Vec<(String, String)> {
    let summary = project.run("audit -json audit.log").success();
    let summary: Value = serde_json::from_str(&summary.out).unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for plugin in list(&summary["plugins"]) {
        for one in list(&plugin["uses"]).iter().filter(|one| one["decision"] == "denied") {
            let target = text(&one["target"]);
            let (_, target) = target.rsplit_once("/keys").unwrap_or_default();
            found.push((text(&plugin["plugin"]), target.to_owned()));
        }
    }
    found
}

#[test]
fn untrusted_configuration_cannot_read_a_key() {
    let project = project();
    for (name, _) in WAYS {
        if name != "module" {
            project.run(&format!("-chdir={name} init")).success();
        }
        let line = format!("-chdir={name} plan -untrusted -audit-log=../audit.log");
        let seen = project.run(&line).ended_with(1);
        assert!(!seen.text().contains(KEY), "{}", seen.text());
        assert!(seen.text().contains("Denied by policy"), "{}", seen.text());
    }
    let mut denied = denials(&project);
    denied.sort();
    denied.dedup();
    let configuration = "terraform.io/builtin/configuration";
    let expected = [
        ("hashicorp/local", "/key.json"),
        ("hashicorp/tfcoremock", "/key.json"),
        (configuration, ""),
        (configuration, "/key.json"),
    ];
    assert_eq!(denied, expected.map(|(plugin, target)| (plugin.to_owned(), target.to_owned())));
}

/// A trusted configuration can read the key in the same ways. This shows that the untrusted
/// configurations do not fail for another reason.
#[test]
fn trusted_configuration_can_read_the_key() {
    let project = project();
    project.run("-chdir=function init").success();
    let seen = project.run("-chdir=function plan").success();
    assert!(seen.text().contains(KEY), "{}", seen.text());
}

#[test]
fn state_and_symlink_targets_are_not_read() {
    for (file, configuration) in [
        ("terraform.tfstate", "output \"x\" {\n  value = file(\"terraform.tfstate\")\n}\n"),
        ("main.tf", "output \"x\" {\n  value = templatefile(\"/proc/self/environ\", {})\n}\n"),
    ] {
        let project = Project::new(&[("main.tf", configuration)]);
        if file != "main.tf" {
            let state = r#"{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{},"resources":[]}"#;
            project.write(file, state);
        }
        let seen = project.run("plan -untrusted").ended_with(1);
        assert!(seen.text().contains("-untrusted denies it"), "{}", seen.text());
    }
}

#[cfg(unix)]
#[test]
fn automatically_read_files_must_not_be_links_to_files_outside() {
    let project = Project::new(&[("main.tf", "output \"x\" {\n  value = 1\n}\n")]);
    std::os::unix::fs::symlink("/proc/self/environ", project.path("a.auto.tfvars")).unwrap();
    let seen = project.run("plan -untrusted").ended_with(1);
    assert!(seen.errors.contains("a.auto.tfvars cannot be used"), "{}", seen.text());
}

/// Tests the files that each run reads first: the workspace, the backend, the journal.
#[cfg(unix)]
#[test]
fn sidecar_and_data_files_must_not_be_links_to_files_outside() {
    for (link, target) in [
        (".terraform/environment", "../../secret"),
        (".terraform/terraform.tfstate", "../../secret"),
        (".terraform", "../elsewhere"),
        ("terraform.tfstate", "../secret"),
        ("terraform.tfstate.backup", "../absent"),
        (".terraform.tfstate.journal", "../secret"),
    ] {
        let files =
            [("pr/main.tf", "output \"x\" {\n  value = 1\n}\n"), ("secret", KEY), ("elsewhere/x", "")];
        let project = Project::new(&files);
        if link != ".terraform" {
            project.write("pr/.terraform/x", "");
        }
        std::os::unix::fs::symlink(target, project.path("pr").join(link)).unwrap();
        for command in ["plan", "init", "validate"] {
            let line = format!("-chdir=pr {command} -untrusted -audit-log=../audit.log");
            let seen = project.run(&line).ended_with(1);
            assert!(seen.errors.contains("Error: File not permitted"), "{link} {command}: {}", seen.text());
            assert!(!seen.text().contains(KEY), "{link} {command}: {}", seen.text());
        }
        assert!(!project.path("absent").exists());
        let log = project.read("audit.log");
        assert!(log.lines().filter(|line| line.contains("\"denied\"")).count() >= 3, "{log}");
    }
}

/// Tests a state specified by a backend, and a state that is recorded as initialized in the
/// untrusted directory.
#[test]
fn state_outside_the_untrusted_directory_is_not_used() {
    let state = format!(
        r#"{{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{{"x":{{"value":"{KEY}","type":"string"}}}},"resources":[]}}"#
    );
    let elsewhere = "terraform {\n  backend \"local\" {\n    path = \"../other.tfstate\"\n  }\n}\noutput \"x\" {\n  value = 1\n}\n";
    let own = elsewhere.replace("../other", "own");
    let project =
        Project::new(&[("pr/main.tf", elsewhere), ("own/main.tf", &own), ("other.tfstate", &state)]);
    project.run("-chdir=pr init").success();
    assert!(project.run("-chdir=pr plan").success().text().contains(KEY), "it is the user's own to read");
    let seen = project.run("-chdir=pr plan -untrusted").ended_with(1);
    assert!(seen.errors.contains("State file not permitted"), "{}", seen.text());
    assert!(!seen.text().contains(KEY), "{}", seen.text());
    project.run("-chdir=own init").success();
    project.run("-chdir=own plan -untrusted").success();
}

/// An untrusted configuration cannot determine whether a file outside the directory exists.
#[cfg(unix)]
#[test]
fn symlink_does_not_reveal_whether_a_file_exists() {
    let project = Project::new(&[
        ("secret", KEY),
        ("pr/main.tf", "output \"x\" {\n  value = fileexists(\"probe\")\n}\n"),
    ]);
    for target in ["../secret", "../absent", "../secret/x", "/no/such/directory/x"] {
        let probe = project.path("pr/probe");
        std::os::unix::fs::symlink(target, &probe).unwrap();
        let seen = project.run("-chdir=pr plan -untrusted").ended_with(1);
        let errors = seen.errors.replace("\n│ ", " ");
        assert!(errors.contains("-untrusted denies it"), "{target}: {}", seen.text());
        std::fs::remove_file(probe).unwrap();
    }
}

/// Files named by options are not written through untrusted symbolic links.
#[cfg(unix)]
#[test]
fn output_is_not_written_through_untrusted_symlinks() {
    let project = Project::new(&[("pr/main.tf", "output \"x\" {\n  value = 1\n}\n"), ("profile", KEY)]);
    std::os::unix::fs::symlink("../profile", project.path("pr/written")).unwrap();
    for option in ["audit-log", "out"] {
        let seen = project.run(&format!("-chdir=pr plan -untrusted -{option}=written")).ended_with(1);
        assert!(seen.errors.contains("is not written"), "{}", seen.text());
        assert_eq!(project.read("profile"), KEY);
    }
    project.run("-chdir=pr plan -untrusted -audit-log=log -out=../plan").success();
    assert!(project.has("pr/log") || project.has("log"));
}
