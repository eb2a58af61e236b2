//! Saved plans.

use wardian_end_to_end::{Project, assert_seen};

const MAIN: &str =
    "variable \"a\" {\n  type    = number\n  default = 1\n}\noutput \"a\" {\n  value = var.a\n}\n";

#[test]
fn a_saved_plan_is_applied_without_asking() {
    let project = Project::new(&[("main.tf", MAIN)]);
    assert_seen!("plan_saved", project.run("plan -out=tfplan -var a=2").success());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(project.path("tfplan")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_seen!("plan_shown", project.run("show tfplan").success());
    // What the plan says counts, not what the files say by now.
    project.write("main.tf", "output \"b\" {\n  value = 0\n}\n");
    assert_seen!("plan_applied", project.run("apply tfplan").success());
    assert_eq!(project.state()["outputs"]["a"]["value"], 2);
}

#[test]
fn a_stale_plan_is_refused() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("apply -auto-approve").success();
    project.run("plan -out=tfplan -var a=2").success();
    project.run("apply -auto-approve -var a=3").success();
    let before = project.read("terraform.tfstate");
    assert_seen!("plan_stale", project.run("apply tfplan").ended_with(1));
    assert_eq!(project.read("terraform.tfstate"), before);
}

#[test]
fn what_is_no_plan_is_refused() {
    let project = Project::new(&[("main.tf", MAIN), ("junk", "junk"), ("zip", "PK\u{3}\u{4}junk")]);
    assert_seen!("plan_junk", project.run("apply junk").ended_with(1));
    assert_seen!("plan_broken", project.run("apply zip").ended_with(1));
    assert_seen!("plan_missing", project.run("apply none").ended_with(1));
    project.run("plan -out=tfplan").success();
    assert_seen!("plan_with_variables", project.run("apply -var a=3 tfplan").ended_with(1));
    assert_seen!("plan_with_options", project.run("apply -destroy tfplan").ended_with(1));
}

#[test]
fn ephemeral_variables_are_given_again() {
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
