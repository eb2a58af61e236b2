//! The lock on the state.

use std::time::Duration;

use wardian_end_to_end::{Project, assert_seen};

const SLOW: &str = "resource \"time_sleep\" \"a\" {\n  create_duration = \"60s\"\n}\n";

#[test]
fn a_locked_state_says_who_and_since_when() {
    let project = Project::new(&[("main.tf", SLOW)]);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("Creating...");
    let seen = project.run("plan").ended_with(1);
    assert_seen!("state_locked", seen);
    let waited = project.run("apply -auto-approve -lock-timeout=1s").ended_with(1);
    assert!(waited.out.starts_with("Waiting for the state lock"), "{}", waited.text());
    // Who takes no lock is not refused.
    project.run("plan -lock=false").success();
    apply.interrupt();
    apply.wait_for("Interrupt received.");
    apply.interrupt();
    apply.finish(Duration::from_mins(1));
    project.run("plan").success();
    assert!(!project.has(".terraform.tfstate.lock.info"));
}
