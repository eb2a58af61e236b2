//! Interrupts: Ctrl-C, once and twice, and killed commands.

use std::time::{Duration, Instant};

use wardian_end_to_end::Project;

fn project(seconds: u32) -> Project {
    Project::new(&[(
        "main.tf",
        &format!(
            "resource \"random_id\" \"first\" {{\n  byte_length = 4\n}}\n\nresource \"time_sleep\" \"slow\" {{\n  \
             create_duration = \"{seconds}s\"\n  triggers        = {{ id = random_id.first.hex }}\n}}\n\nresource \
             \"random_id\" \"last\" {{\n  byte_length = 4\n  keepers     = {{ after = time_sleep.slow.id }}\n}}\n"
        ),
    )])
}

fn resources(project: &Project) -> Vec<String> {
    let state = project.state();
    let resources = state["resources"].as_array().cloned().unwrap_or_default();
    resources
        .iter()
        .map(|one| format!("{}.{}", one["type"].as_str().unwrap_or(""), one["name"].as_str().unwrap_or("")))
        .collect()
}

#[test]
fn first_interrupt_finishes_changes_in_progress() {
    let project = project(4);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("time_sleep.slow: Creating...");
    apply.interrupt();
    let (status, seen) = apply.finish(Duration::from_mins(1));
    assert_eq!(status.code(), Some(1), "{seen}");
    assert!(seen.contains("Interrupt received."), "{seen}");
    let resources = resources(&project);
    assert!(resources.contains(&"random_id.first".to_owned()), "{resources:?}\n{seen}");
    assert!(!resources.contains(&"random_id.last".to_owned()), "{resources:?}\n{seen}");
    assert!(!project.has(".terraform.tfstate.lock.info"));
    // The next run completes the changes.
    project.run("apply -auto-approve").success();
    project.run("plan -detailed-exitcode").success();
}

#[test]
fn second_interrupt_stops_immediately() {
    let project = project(300);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("time_sleep.slow: Creating...");
    let started = Instant::now();
    apply.interrupt();
    // Two simultaneous interrupts would be received as one.
    apply.wait_for("Interrupt received.");
    apply.interrupt();
    let (status, seen) = apply.finish(Duration::from_mins(1));
    assert_eq!(status.code(), Some(1), "{seen}");
    assert!(started.elapsed() < Duration::from_mins(1));
    assert_eq!(resources(&project).first().map(String::as_str), Some("random_id.first"), "{seen}");
    assert!(!project.has(".terraform.tfstate.lock.info"));
    project.run("state list").success();
}

#[test]
fn termination_counts_as_second_interrupt() {
    let project = project(300);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("time_sleep.slow: Creating...");
    apply.terminate();
    let (status, seen) = apply.finish(Duration::from_mins(2));
    assert_eq!(status.code(), Some(1), "{seen}");
    assert!(seen.contains("Termination signal received."), "{seen}");
    assert_eq!(resources(&project).first().map(String::as_str), Some("random_id.first"), "{seen}");
    assert!(!project.has(".terraform.tfstate.lock.info"));
    project.run("state list").success();
}

#[test]
fn killed_apply_keeps_completed_changes() {
    let project = project(300);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("time_sleep.slow: Creating...");
    apply.kill();
    let seen = project.run("state list").success();
    assert_eq!(seen.out, "random_id.first\n", "{}", seen.text());
    assert!(seen.errors.contains("State not saved yet"), "{}", seen.text());
    let seen = project.run("destroy -auto-approve").success();
    assert!(seen.out.contains("Interrupted run recovered"), "{}", seen.text());
    assert!(resources(&project).is_empty());
}

#[test]
fn running_apply_is_not_reported_as_interrupted() {
    let project = project(300);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("time_sleep.slow: Creating...");
    for line in ["output -json", "state pull", "state list", "providers", "show", "show -json", "console"] {
        let seen = project.run(line).success();
        assert!(!seen.out.contains("Warning"), "{}", seen.text());
        assert!(seen.errors.contains("a run is in"), "{}", seen.text());
        assert!(!seen.errors.contains("Interrupted run recovered"), "{}", seen.text());
    }
    apply.kill();
}
