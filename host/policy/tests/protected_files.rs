//! Protected files: rules that allow access to them, and denials of all other accesses to them.

mod support;

use std::path::Path;

use support::{parse, plugin, policy, project, request, shown};
use wardian_access::{AccessExtent, AccessRequest, ProtectedClass, ProtectedClasses};
use wardian_policy::{Decision, DenialReason, Level, Policy, PolicyPaths, load};

fn decide(policy: &Policy, text: &str) -> Decision {
    policy.decide(&plugin("acme/files"), &request(text))
}

fn is_allowed(policy: &Policy, text: &str) -> bool {
    decide(policy, text).is_allowed()
}

fn rules(arguments: &str) -> String {
    format!(
        "plugin \"acme/files\" {{\n  allow filesystem {{\n    directories = [\".\", \"/home/ada\"]\n    access = \
         [\"read\", \"write\"]\n{arguments}  }}\n}}\n"
    )
}

const SECRET: [&str; 9] = [
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "terraform.tfstate.1700000000.backup",
    "terraform.tfstate.d/prod/terraform.tfstate",
    ".terraform.tfstate.journal",
    "deep/er/x.TFSTATE",
    ".terraform/terraform.tfstate",
    "tfplan",
    "/home/ada/.terraform.d/credentials.tfrc.json",
];

const READABLE: [&str; 17] = [
    "main.tf",
    "modules/a/main.tf",
    "x_override.tf.json",
    "MAIN.TF",
    "main.tf/x",
    "a.auto.tfvars",
    "terraform.tfvars.json",
    "tests/a.tftest.hcl",
    "wardian.policy.hcl",
    "modules/a/wardian.policy.hcl",
    ".terraform.lock.hcl",
    ".wardian.lock.hcl",
    ".git/config",
    "modules/a/.git",
    "terraform.d/plugins/x",
    "terraform-provisioner-x",
    "/home/ada/.terraformrc",
];

#[test]
fn directory_grants_exclude_protected_files() {
    let policy = project(&rules(""));
    for path in SECRET {
        assert!(!is_allowed(&policy, &format!("read {path}")), "{path}");
        assert!(!is_allowed(&policy, &format!("write {path}")), "{path}");
    }
    for path in READABLE {
        assert!(is_allowed(&policy, &format!("read {path}")), "{path}");
        assert!(!is_allowed(&policy, &format!("write {path}")), "{path}");
    }
    for path in ["a", "a/b.txt", "generated/x.json", ".gitignore", "/home/ada/notes"] {
        assert!(is_allowed(&policy, &format!("write {path}")), "{path}");
    }
}

#[test]
fn rules_grant_the_classes_that_they_name() {
    let policy = project(&rules("    protected = [\"configuration\", \"states\", \"data\"]\n"));
    for allowed in [
        "write main.tf",
        "write modules/a/x.tf.json",
        "read terraform.tfstate",
        "write .terraform/modules/x/main.tf",
        "write .terraform/terraform.tfstate",
    ] {
        assert!(is_allowed(&policy, allowed), "{allowed}");
    }
    for denied in ["write terraform.tfvars", "write .git/config", "write wardian.policy.hcl", "read tfplan"] {
        assert!(!is_allowed(&policy, denied), "{denied}");
    }
    let Decision::Allowed(grant) = decide(&policy, "write x.tf") else { panic!("it is granted") };
    assert_eq!(grant.protected, ProtectedClasses::from(ProtectedClass::Configuration));
    let Decision::Allowed(grant) = decide(&policy, "read x.tf") else { panic!("it is granted") };
    assert!(grant.protected.is_empty());
}

#[test]
fn denials_name_the_class_and_the_rule() {
    let policy = project(&rules(""));
    let Decision::Denied(denial) = decide(&policy, "write main.tf") else { panic!("it is denied") };
    assert!(matches!(denial.reason, DenialReason::ProtectedClass { .. }), "{denial}");
    let text = denial.to_string();
    assert!(text.contains("wardian.policy.hcl:2 grants the directory"), "{text}");
    assert!(text.contains("protected = [\"configuration\"]"), "{text}");
    let view = policy.for_plugin(&plugin("acme/files"));
    let rule = view.rule_for(&request("write main.tf"), None).unwrap();
    assert!(rule.contains("protected   = [\"configuration\"]"), "{rule}");
    assert!(is_allowed(&project(&rule), "write main.tf"));
    // No rule in the root module's policy could grant the access.
    assert_eq!(view.rule_for(&request("write wardian.policy.hcl"), None), None);
    let text = match decide(&policy, "write wardian.policy.hcl") {
        Decision::Denied(denial) => denial.to_string(),
        Decision::Allowed(_) => panic!("it is denied"),
    };
    assert!(text.contains("only policies of the user and the organisation"), "{text}");
}

#[test]
fn connections_to_protected_sockets_need_the_class() {
    let rules = |classes: &str| {
        let rule = "directories = [\".\"]\n access = [\"connect\"]\n";
        project(&format!("plugin \"acme/files\" {{\n allow filesystem {{\n{rule}{classes}}}\n}}\n"))
    };
    assert!(is_allowed(&rules(""), "socket a.sock"));
    assert!(!is_allowed(&rules(""), "socket .git/fsmonitor--daemon.ipc"));
    assert!(is_allowed(&rules("protected = [\"version-control\"]\n"), "socket .git/fsmonitor--daemon.ipc"));
    let mut policy = rules("");
    policy.distrust([]);
    let Decision::Denied(denial) = decide(&policy, "socket a.sock") else { panic!() };
    assert!(denial.to_string().contains("connections to sockets are not opened"), "{denial}");
}

#[test]
fn denials_take_precedence_over_named_classes() {
    let text = "plugin \"acme/files\" {\n  deny filesystem {\n    directories = [\"modules\"]\n  }\n}\n";
    let policy = project(&(rules("    protected = [\"configuration\"]\n") + text));
    assert!(is_allowed(&policy, "write main.tf"));
    assert!(!is_allowed(&policy, "write modules/a/main.tf"));
    let text = "plugin \"acme/files\" {\n  deny filesystem {\n    protected = [\"configuration\"]\n  }\n}\n";
    let policy = project(&(rules("    protected = [\"configuration\", \"variables\"]\n") + text));
    assert!(!is_allowed(&policy, "write main.tf") && !is_allowed(&policy, "read main.tf"));
    assert!(is_allowed(&policy, "write a.tfvars") && is_allowed(&policy, "write a"));
}

#[test]
fn every_level_must_name_the_class() {
    let (with, without) = (rules("    protected = [\"configuration\"]\n"), rules(""));
    for (organisation, module) in [(&with, &without), (&without, &with)] {
        let policy = policy(&[(Level::Organisation, organisation), (Level::RootModule, module)]);
        assert!(!is_allowed(&policy, "write main.tf"));
        assert!(is_allowed(&policy, "write a"));
    }
    let policy = policy(&[(Level::Organisation, &with), (Level::RootModule, &with)]);
    assert!(is_allowed(&policy, "write main.tf"));
}

#[test]
fn root_module_cannot_grant_machine_wide_classes() {
    let text = rules("    protected = [\"configuration\", \"keys\"]\n");
    let problems = shown(&parse(Level::RootModule, &text).unwrap_err());
    assert!(problems.contains("affect every configuration on this machine"), "{problems}");
    assert!(parse(Level::User, &text).is_ok());
    let unknown = rules("    protected = [\"configurations\"]\n");
    let problems = shown(&parse(Level::User, &unknown).unwrap_err());
    assert!(problems.contains("Did you mean"), "{problems}");
}

#[test]
fn locations_are_protected_before_they_exist() {
    let mut policy = policy(&[(Level::User, &rules(""))]);
    policy.protect(ProtectedClass::Keys, Path::new("/home/ada/.local/share/wardian"));
    policy.protect(ProtectedClass::Plans, Path::new("/srv/project/out/release"));
    assert!(!is_allowed(&policy, "read /home/ada/.local/share/wardian/key"));
    assert!(!is_allowed(&policy, "write /home/ada/.local/share"));
    assert!(!is_allowed(&policy, "read out/release"));
    assert!(!is_allowed(&policy, "write out"), "a link there would lead elsewhere");
    let new_directory = match request("write out") {
        AccessRequest::File(access) => AccessRequest::File(access.with_extent(AccessExtent::NewDirectory)),
        other => other,
    };
    assert!(policy.decide(&plugin("acme/files"), &new_directory).is_allowed());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wardian.policy.hcl"), rules("")).unwrap();
    let paths = PolicyPaths {
        user: Some("/home/ada/.config/wardian/wardian.policy.hcl".into()),
        root_module: folder.path().to_owned(),
        ..PolicyPaths::default()
    };
    let policy = load(&paths).unwrap();
    assert!(!is_allowed(&policy, "write /home/ada/.config"), "it has no file yet");
    assert!(is_allowed(&policy, "write /home/ada/.configuration"));
}

#[test]
fn protected_file_metadata_needs_no_class() {
    let policy = project(&rules(""));
    let metadata = match request("read terraform.tfstate") {
        AccessRequest::File(access) => AccessRequest::File(access.with_extent(AccessExtent::Metadata)),
        other => other,
    };
    assert!(policy.decide(&plugin("acme/files"), &metadata).is_allowed());
    assert!(!project("").decide(&plugin("acme/files"), &metadata).is_allowed());
}

#[test]
fn files_protected_by_content_require_a_rule() {
    let content = |policy: &Policy| {
        let AccessRequest::File(access) = request("read notes.txt") else { panic!("it is a file") };
        let classes = ProtectedClasses::from(ProtectedClass::States);
        policy.decide(&plugin("acme/files"), &AccessRequest::File(access.with_classes(classes))).is_allowed()
    };
    assert!(!content(&project(&rules(""))));
    assert!(content(&project(&rules("    protected = [\"states\"]\n"))));
}

#[test]
fn untrusted_configurations_cannot_read_secret_classes() {
    let text = rules("    protected = [\"states\", \"plans\", \"credentials\"]\n");
    let mut policy = policy(&[(Level::User, &text)]);
    assert!(is_allowed(&policy, "read terraform.tfstate"));
    policy.distrust([]);
    for path in SECRET.iter().chain(&[".git/config", "a/.terraform/environment"]) {
        assert!(!is_allowed(&policy, &format!("read {path}")), "{path}");
    }
    for path in ["main.tf", "a", "terraform.tfvars"] {
        assert!(is_allowed(&policy, &format!("read {path}")), "{path}");
        assert!(!is_allowed(&policy, &format!("write {path}")), "{path}");
    }
}
