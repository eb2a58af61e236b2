//! Runs Terraform's commands on states and lock files that Wardian has written.

use serde_json::Value;
use wardian_end_to_end::{Terraform, terraform};

use crate::core_workflow;

#[test]
fn terraform_reads_the_state() {
    let Some(terraform) = terraform() else { return };
    let project = core_workflow::project();
    project.run("init").success();
    project.run("apply -auto-approve").success();
    let ours = project.run("state list").success().out;
    assert_eq!(terraform.ask_about_state(&project, &["state", "list"]), ours);
    let theirs = terraform.ask_about_state(&project, &["state", "pull"]);
    assert_eq!(Terraform::comparable(&theirs), Terraform::comparable(&project.read("terraform.tfstate")));
    let outputs = terraform.ask_about_state(&project, &["output", "-json"]);
    let outputs: Value = serde_json::from_str(&outputs).unwrap();
    let ours: Value = serde_json::from_str(&project.run("output -json").success().out).unwrap();
    assert_eq!(outputs, ours);
}

#[test]
fn terraform_reads_the_lock_file() {
    let Some(terraform) = terraform() else { return };
    let project = core_workflow::project();
    project.run("init").success();
    let theirs: Value =
        serde_json::from_str(&terraform.ask(&project.path(""), &["version", "-json"])).unwrap();
    let ours: Value = serde_json::from_str(&project.run("version -json").success().out).unwrap();
    assert_eq!(theirs["provider_selections"], ours["provider_selections"]);
    assert_eq!(theirs["provider_selections"].as_object().map(|all| all.len()), Some(3));
}
