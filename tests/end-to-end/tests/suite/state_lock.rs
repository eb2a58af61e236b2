//! Conflicts over the state lock.

use std::time::Duration;

use wardian_end_to_end::{Project, assert_seen};

const SLOW: &str = "resource \"time_sleep\" \"a\" {\n  create_duration = \"60s\"\n}\n";

#[test]
fn lock_error_names_holder_and_time() {
    let project = Project::new(&[("main.tf", SLOW)]);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("Creating...");
    let seen = project.run("plan").ended_with(1);
    assert_seen!("state_locked", seen);
    let waited = project.run("apply -auto-approve -lock-timeout=1s").ended_with(1);
    assert!(waited.out.starts_with("Waiting for the state lock"), "{}", waited.text());
    // A command that does not lock the state is not rejected.
    project.run("plan -lock=false").success();
    apply.interrupt();
    apply.wait_for("Interrupt received.");
    apply.interrupt();
    apply.finish(Duration::from_mins(1));
    project.run("plan").success();
    assert!(!project.has(".terraform.tfstate.lock.info"));
}

#[test]
fn lock_timeout_lets_applies_wait() {
    let main = "resource \"time_sleep\" \"a\" {\n  create_duration = \"3s\"\n}\n";
    let project = Project::new(&[("main.tf", main)]);
    project.run("init").success();
    let mut first = project.start("apply -auto-approve");
    first.wait_for("Creating...");
    let refused = project.run("apply -auto-approve").ended_with(1);
    assert!(refused.errors.contains("tester@"), "{}", refused.text());
    let second = project.run("apply -auto-approve -lock-timeout=1m").success();
    assert!(second.out.starts_with("Waiting for the state lock"), "{}", second.text());
    assert!(second.out.contains("0 added, 0 changed, 0 destroyed"), "{}", second.text());
    let (status, seen) = first.finish(Duration::from_mins(1));
    assert!(status.success(), "{seen}");
    assert_eq!(project.state()["resources"].as_array().map(Vec::len), Some(1));
    for line in ["state mv time_sleep.a time_sleep.b", "taint time_sleep.b", "state rm time_sleep.b"] {
        project.run(line).success();
    }
    assert!(!project.has(".terraform.tfstate.lock.info"));
}

#[test]
fn state_changing_commands_wait_for_the_lock() {
    let project = Project::new(&[("main.tf", SLOW)]);
    project.run("init").success();
    project.write("p", "{\"version\":4}");
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("Creating...");
    for line in
        ["taint time_sleep.a", "untaint time_sleep.a", "state push p", "refresh", "destroy -auto-approve"]
    {
        let seen = project.run(line).ended_with(1);
        assert!(seen.errors.contains("Error acquiring the state lock"), "{}", seen.text());
    }
    apply.kill();
}
