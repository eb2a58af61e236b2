//! Third-party provisioners that are components: files in plugin directories, and packages in
//! mirrors.

use std::os::unix::fs::PermissionsExt as _;

use wardian_end_to_end::{Project, Seen, assert_seen, platform, test_guest};

/// Returns the example provisioner of the SDK, if it is built.
fn notify() -> Option<Vec<u8>> {
    Some(std::fs::read(test_guest("notify")?).unwrap_or_default())
}

fn configuration(label: &str, argument: &str) -> String {
    format!(
        "resource \"terraform_data\" \"web\" {{\n  provisioner \"{label}\" {{\n    {argument}\n  }}\n}}\n"
    )
}

/// Creates a project with a command that replaces `logger`.
fn project(label: &str) -> Project {
    let project = Project::new(&[("main.tf", &configuration(label, "message = \"web is there\""))]);
    project.write("bin/logger", "#!/bin/sh\necho \"logged: $*\"\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    assert!(std::fs::set_permissions(project.path("bin/logger"), mode).is_ok());
    project
}

fn run(project: &Project, line: &str) -> Seen {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", project.path("bin").display());
    let mut seen = project.run_with(line, "", &[("PATH", &path), ("WARDIAN_AUDIT", "audit.log")]);
    // Sizes and times of compiled code depend on the machine.
    seen.out =
        seen.out.lines().filter(|line| !line.contains("Compil")).map(|line| line.to_owned() + "\n").collect();
    seen
}

const FLAT: &str = "terraform.d/plugins/terraform-provisioner-notify_v1.0.0.wasm";
const GRANT: &str = "plugin \"localhost/plugins/provisioner-notify\" {\n  allow process {\n    program   = \"logger\"\n    \
                     arguments = [\"-t\", \"wardian\", \"-p\", \"user.*\", \"--\", \"*\"]\n  }\n}\n";

#[test]
fn third_party_provisioner_is_approved_locked_and_run() {
    let Some(notify) = notify() else { return };
    let project = project("notify");
    project.write(FLAT, &notify);
    assert_seen!("provisioner_asks", run(&project, "init").ended_with(4));
    assert!(!project.has(".terraform.lock.hcl"));
    project.write("wardian.policy.hcl", GRANT);
    assert_seen!("provisioner_installed", run(&project, "init").success());
    assert!(project.read(".terraform.lock.hcl").contains("localhost/plugins/provisioner-notify"));
    assert!(project.read(".wardian.lock.hcl").contains("localhost/plugins/provisioner-notify"));
    let applied = run(&project, "apply -auto-approve").success().out;
    for line in [
        "terraform_data.web: Provisioning with 'notify'...",
        "terraform_data.web (notify): Logging (info): web is there",
        "terraform_data.web (notify): logged: -t wardian -p user.info -- web is there",
    ] {
        assert!(applied.contains(line), "{applied}");
    }
    assert!(project.read("audit.log").contains("localhost/plugins/provisioner-notify"));
}

#[test]
fn denied_provisioner_access_suggests_a_rule() {
    let Some(notify) = notify() else { return };
    let project = project("notify");
    project.write(FLAT, &notify);
    project.write("wardian.policy.hcl", GRANT.replace("allow process", "deny process"));
    run(&project, "init").success();
    assert_seen!("provisioner_denied", run(&project, "apply -auto-approve").ended_with(1));
    assert_eq!(project.state()["resources"][0]["instances"][0]["status"], "tainted");
}

#[test]
fn provisioner_address_determines_its_package() {
    let Some(notify) = notify() else { return };
    let project = project("example.com/acme/notify");
    for version in ["1.0.0", "1.2.0"] {
        let path = format!("terraform.d/plugins/example.com/acme/provisioner-notify/{version}/notify.wasm");
        project.write(&path, &notify);
    }
    project.write("wardian.policy.hcl", GRANT.replace("localhost/plugins", "example.com/acme"));
    let init = run(&project, "init").success().out;
    assert!(init.contains("- example.com/acme/provisioner-notify v1.2.0, the newest available"), "{init}");
    let applied = run(&project, "apply -auto-approve").success().out;
    assert!(applied.contains("(example.com/acme/notify): Logging (info)"), "{applied}");
    project
        .write("main.tf", configuration("example.com/acme/notify", "message = \"x\"\n    level = \"loud\""));
    let refused = run(&project, "validate").ended_with(1).errors;
    assert!(refused.contains("Invalid level") && refused.contains("main.tf line 4"), "{refused}");
}

#[test]
fn replaced_provisioner_file_is_not_run() {
    let Some(notify) = notify() else { return };
    let project = project("notify");
    project.write(FLAT, &notify);
    project.write("wardian.policy.hcl", GRANT);
    run(&project, "init").success();
    let installed = ".terraform/providers/localhost/plugins/provisioner-notify/1.0.0/wasip2_wasm/\
                     terraform-provider-provisioner-notify_v1.0.0.wasm";
    assert!(project.has(installed));
    // A custom section changes the component's bytes, but not its behaviour.
    project.write(installed, [&notify[..], &[0, 2, 1, b'x']].concat());
    let refused = run(&project, "apply -auto-approve").ended_with(1).errors;
    assert!(refused.contains("does not match the lock file"), "{refused}");
    project.write(FLAT, [&notify[..], &[0, 2, 1, b'x']].concat());
    let refused = run(&project, "init").ended_with(1).errors;
    assert!(refused.contains("by the lock file: its hash"), "{refused}");
}

/// A file with the name of an embedded provisioner does not replace it.
#[test]
fn embedded_provisioner_is_not_replaced() {
    let configuration = configuration("local-exec", "command = \"echo ours\"");
    let project = Project::new(&[("main.tf", &configuration)]);
    for file in [
        "terraform-provisioner-local-exec_v9.0.0".to_owned(),
        format!("terraform.d/plugins/{}/terraform-provisioner-local-exec_v9.0.0", platform()),
    ] {
        project.write(&file, "#!/bin/sh\ntouch taken-over\n");
        let mode = std::fs::Permissions::from_mode(0o755);
        assert!(std::fs::set_permissions(project.path(&file), mode).is_ok());
    }
    project.run("init").success();
    let applied = project.run("apply -auto-approve").success().out;
    assert!(applied.contains("(local-exec): ours") && !project.has("taken-over"), "{applied}");
}

/// Native provisioners are treated like native providers: their use is reported, and the policy can
/// deny them.
#[test]
fn native_provisioner_is_subject_to_native_plugin_rules() {
    let project = Project::new(&[("main.tf", &configuration("fake", "message = \"hello\""))]);
    let plugin = wardian_end_to_end::binary().with_file_name("wardian-native-plugin");
    if !plugin.is_file() {
        println!("skipped: there is no {}", plugin.display());
        return;
    }
    let file = "home/.terraform.d/plugins/terraform-provisioner-fake_v1.2.3";
    project.write(file, format!("#!/bin/sh\nNATIVE_PLUGIN=5 exec '{}'\n", plugin.display()));
    let mode = std::fs::Permissions::from_mode(0o755);
    assert!(std::fs::set_permissions(project.path(file), mode).is_ok());
    assert_seen!("provisioner_native_init", project.run("init").success());
    let applied = project.run("apply -auto-approve").success().out;
    assert!(applied.contains("terraform_data.web (fake): told: hello"), "{applied}");
    project.write(
        "wardian.policy.hcl",
        "otherwise = \"defer\"\nplugin \"localhost/plugins/*\" {\n  native = \"deny\"\n}\n",
    );
    let refused = project.run("plan").ended_with(1).errors;
    assert!(refused.contains("Native plugin denied by policy"), "{refused}");
}
