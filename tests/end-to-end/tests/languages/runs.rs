//! Runs that are killed or interrupted while a provider creates an object whose state it has recorded.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use wardian_end_to_end::{Project, Running};

use crate::provider::{ADDRESS, Language, Provider};

/// The provider records the state of this item, and then waits for ten minutes.
fn project(provider: &Provider) -> Project {
    let project = provider.project();
    project.write(
        "main.tf",
        format!(
            "terraform {{\n  required_providers {{\n    inventory = {{\n      source = \"{ADDRESS}\"\n    }}\n  }}\n}}\n\n\
             resource \"inventory_item\" \"a\" {{\n  name = \"slow\"\n}}\n"
        ),
    );
    project
}

/// Starts to create the item, and returns when its state is recorded.
fn recorded(project: &Project, language: Language) -> Running {
    let apply = project.start("apply -auto-approve -no-color");
    let journal = project.path(".terraform.tfstate.journal");
    let started = Instant::now();
    let has_id = || fs::read(&journal).is_ok_and(|text| String::from_utf8_lossy(&text).contains("item-slow"));
    while !has_id() {
        assert!(started.elapsed() < Duration::from_mins(2), "{language} has recorded no state");
        thread::sleep(Duration::from_millis(20));
    }
    apply
}

/// The stored object is tainted, so that the next run replaces it.
fn assert_tainted(project: &Project, language: Language) {
    let instance = &project.state()["resources"][0]["instances"][0];
    assert_eq!(instance["status"], "tainted", "{language}: {}", project.state());
    assert_eq!(instance["attributes"]["id"], "item-slow", "{language}");
}

#[test]
fn recorded_state_survives_a_killed_run() {
    for language in Language::ALL {
        let Some(provider) = Provider::find(language) else { continue };
        let project = project(&provider);
        recorded(&project, language).kill();
        // The next command that locks the state completes it.
        project.run("apply -refresh-only -auto-approve -no-color").success();
        assert_tainted(&project, language);
    }
}

#[test]
fn interrupt_ends_a_wait_and_keeps_the_recorded_state() {
    for language in Language::ALL {
        let Some(provider) = Provider::find(language) else { continue };
        let project = project(&provider);
        let apply = recorded(&project, language);
        apply.interrupt();
        let (status, seen) = apply.finish(Duration::from_mins(2));
        assert_eq!(status.code(), Some(1), "{language}:\n{seen}");
        assert!(
            seen.contains("The operation ended early because the run is interrupted."),
            "{language}:\n{seen}"
        );
        assert_tainted(&project, language);
    }
}
