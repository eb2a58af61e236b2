//! Saved plans: writing, reading, encryption and application.

use wardian_end_to_end::{Project, assert_seen};

const MAIN: &str =
    "variable \"a\" {\n  type    = number\n  default = 1\n}\noutput \"a\" {\n  value = var.a\n}\n";

#[test]
fn saved_plan_is_applied_without_approval() {
    let project = Project::new(&[("main.tf", MAIN)]);
    assert_seen!("plan_saved", project.run("plan -out=tfplan -var a=2").success());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(project.path("tfplan")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_seen!("plan_shown", project.run("show tfplan").success());
    // The saved plan is applied, not the current configuration.
    project.write("main.tf", "output \"b\" {\n  value = 0\n}\n");
    assert_seen!("plan_applied", project.run("apply tfplan").success());
    assert_eq!(project.state()["outputs"]["a"]["value"], 2);
}

#[test]
fn stale_plan_is_rejected() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("apply -auto-approve").success();
    project.run("plan -out=tfplan -var a=2").success();
    project.run("apply -auto-approve -var a=3").success();
    let before = project.read("terraform.tfstate");
    assert_seen!("plan_stale", project.run("apply tfplan").ended_with(1));
    assert_eq!(project.read("terraform.tfstate"), before);
}

#[test]
fn planning_options_have_no_effect_on_saved_plan() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("plan -out=tfplan -var a=2").success();
    assert_seen!(
        "plan_with_options",
        project.run("apply -destroy -target=terraform_data.a tfplan").success()
    );
    assert_eq!(project.state()["outputs"]["a"]["value"], 2);
}

#[test]
fn invalid_plan_files_are_rejected() {
    let project = Project::new(&[("main.tf", MAIN), ("junk", "junk"), ("zip", "PK\u{3}\u{4}junk")]);
    assert_seen!("plan_junk", project.run("apply junk").ended_with(1));
    assert_seen!("plan_broken", project.run("apply zip").ended_with(1));
    assert_seen!("plan_missing", project.run("apply none").ended_with(1));
    project.run("plan -out=tfplan").success();
    assert_seen!("plan_with_variables", project.run("apply -var a=3 tfplan").ended_with(1));
}

#[test]
fn ephemeral_variables_are_passed_again() {
    let main = "variable \"key\" {\n  ephemeral = true\n}\nvariable \"kept\" {\n  type    = number\n  default = 1\n}\n\
                check \"key\" {\n  assert {\n    condition     = var.key == \"x\"\n    \
                error_message = \"another key\"\n  }\n}\noutput \"kept\" {\n  value = var.kept\n}\n";
    let project = Project::new(&[("main.tf", main)]);
    project.run("plan -out=tfplan -var key=secret").success();
    assert_seen!("plan_without_ephemeral", project.run("apply tfplan").ended_with(1));
    project.run("apply -var key=x -var kept=1 tfplan").success();
    let state = project.state();
    assert_eq!(state["outputs"]["kept"]["value"], 1);
    assert_eq!(state["check_results"][0]["config_addr"], "check.key");
    assert_eq!(state["check_results"][0]["status"], "pass");
}

const RANDOM: &str =
    "resource \"random_id\" \"a\" {\n  byte_length = 4\n}\n\nmodule \"m\" {\n  source = \"./m\"\n}\n";

#[test]
fn apply_of_a_plan_needs_no_configuration() {
    let made = Project::new(&[("main.tf", RANDOM), ("m/main.tf", "output \"o\" {\n  value = 1\n}\n")]);
    made.run("init").success();
    made.run("plan -out=tfplan").success();
    let elsewhere = Project::new(&[]);
    elsewhere.write("tfplan", std::fs::read(made.path("tfplan")).unwrap());
    elsewhere.run("show tfplan").success();
    elsewhere.run("apply tfplan").success();
    assert_eq!(elsewhere.state()["resources"][0]["type"], "random_id");
}

#[test]
fn encrypted_plan_needs_its_passphrase() {
    let project = Project::new(&[("main.tf", MAIN)]);
    let knowing: &[(&str, &str)] = &[("WARDIAN_PLAN_PASSPHRASE", "open sesame")];
    project.run_with("plan -out=tfplan -encrypt -var a=2", "", knowing).success();
    let bytes = std::fs::read(project.path("tfplan")).unwrap();
    assert!(bytes.starts_with(b"WARDIAN-SEALED-1") && !bytes.windows(2).any(|part| part == b"PK"));
    for command in ["apply tfplan", "show tfplan"] {
        let wrong = [("WARDIAN_PLAN_PASSPHRASE", "open barley")];
        let seen = project.run_with(command, "", &wrong).ended_with(1);
        assert!(seen.errors.contains("encrypted with a different passphrase"), "{}", seen.text());
        let seen = project.run(command).ended_with(1);
        assert!(seen.errors.contains("No passphrase"), "{}", seen.text());
    }
    project.write("changed", [&bytes[..bytes.len() - 1], &[bytes[bytes.len() - 1] ^ 1]].concat());
    let seen = project.run_with("apply changed", "", knowing).ended_with(1);
    assert!(seen.errors.contains("changed or truncated"), "{}", seen.text());
    assert!(!project.has("terraform.tfstate"));
    let seen = project.run_with("show tfplan", "open sesame\n", &[]).success();
    assert!(seen.out.contains("Passphrase") && !seen.out.contains("open sesame"), "{}", seen.text());
    project.run_with("apply tfplan", "", knowing).success();
    assert_eq!(project.state()["outputs"]["a"]["value"], 2);
    // An interactive passphrase must be entered twice.
    let seen = project.run_with("plan -out=other -encrypt -var a=3", "one\ntwo\n", &[]).ended_with(1);
    assert!(seen.errors.contains("Passphrases differ") && !project.has("other"), "{}", seen.text());
    project.run_with("plan -out=other -encrypt -var a=3", "one\none\n", &[]).success();
    project.run_with("apply other", "one\n", &[]).success();
    let seen = project.run("plan -encrypt").ended_with(1);
    assert!(seen.errors.contains("-out"), "{}", seen.text());
}

#[test]
fn plan_for_other_plugin_versions_is_rejected() {
    let project = Project::new(&[("main.tf", RANDOM), ("m/main.tf", "")]);
    project.run("init").success();
    project.run("plan -out=tfplan").success();
    let lock = project.read(".terraform.lock.hcl");
    let line = lock.lines().find(|line| line.trim_start().starts_with("version")).unwrap();
    project.write(".terraform.lock.hcl", lock.replace(line, "  version = \"0.0.1\""));
    let seen = project.run("apply tfplan").ended_with(1);
    assert!(seen.errors.contains("Inconsistent dependency lock file"), "{}", seen.text());
    assert!(!project.has("terraform.tfstate"));
}

#[test]
fn saved_plan_respects_exclude() {
    let project = Project::new(&[
        ("main.tf", RANDOM),
        ("m/main.tf", "resource \"random_id\" \"b\" {\n  byte_length = 1\n}\n"),
    ]);
    project.run("init").success();
    let seen = project.run("plan -out=tfplan -exclude=module.m").success();
    assert!(
        seen.out.contains("Plan: 1 to add") && seen.out.contains("targeting is in effect"),
        "{}",
        seen.text()
    );
    let seen = project.run("apply tfplan").success();
    assert!(seen.out.contains("1 added"), "{}", seen.text());
    let seen = project.run("plan -exclude=module.m -target=random_id.a").ended_with(1);
    assert!(seen.errors.contains("Invalid combination of options"), "{}", seen.text());
}

#[test]
fn plan_for_another_workspace_is_rejected() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("plan -out=tfplan").success();
    project.run("workspace new blue").success();
    let seen = project.run("apply tfplan").ended_with(1);
    assert!(seen.errors.contains("for another workspace"), "{}", seen.text());
    project.run("workspace select default").success();
    project.run("apply tfplan").success();
}
