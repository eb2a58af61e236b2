//! The configurations in `examples/`, with their policies.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::fs;
use std::path::Path;

use wardian_end_to_end::Project;

fn example(name: &str) -> Project {
    let project = Project::new(&[]);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name), "", &project);
    project
}

fn copy(from: &Path, prefix: &str, project: &Project) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            copy(&entry.path(), &format!("{name}/"), project);
        } else {
            project.write(&name, fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn generated_files_are_written_where_policy_allows() {
    let project = example("generated-files");
    for command in ["policy check", "init", "fmt -check", "validate", "apply -auto-approve"] {
        project.run(command).success();
    }
    assert!(project.has("generated/greeting.txt") && project.has("generated/inventory.json"));
    let outside = project.read("main.tf").replace("generated/greeting.txt", "greeting.txt");
    project.write("main.tf", outside);
    let denied = project.run("apply -auto-approve").ended_with(1);
    assert!(denied.errors.contains("greeting.txt") && !project.has("greeting.txt"), "{}", denied.text());
}

#[test]
fn scripted_setup_runs_only_granted_programs() {
    let project = example("scripted-setup");
    for command in ["policy check", "init", "fmt -check", "validate", "apply -auto-approve"] {
        project.run(command).success();
    }
    assert!(project.has("releases/2026-11/created"));
    let other =
        project.read("main.tf").replace("interpreter = [\"touch\"]", "interpreter = [\"cp\", \"main.tf\"]");
    project.write("main.tf", other);
    let denied = project.run("apply -auto-approve -replace=terraform_data.release").ended_with(1);
    assert!(denied.errors.contains("\"cp\""), "{}", denied.text());
}

#[test]
fn untrusted_review_plans_without_access() {
    let project = example("untrusted-review");
    project.run("init").success();
    let policy = [("WARDIAN_POLICY", "ci/organisation.policy.hcl")];
    project.run_with("policy check", "", &policy).success();
    let planned = project.run_with("plan -untrusted", "", &policy).success();
    assert!(planned.out.contains("Plan: 2 to add"), "{}", planned.text());
}
