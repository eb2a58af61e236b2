//! Options and commands of later versions of Terraform and of OpenTofu.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use serde_json::{Value, json};
use wardian_end_to_end::Project;

const TWO: &str = "resource \"terraform_data\" \"a\" {\n  input = 1\n}\nresource \"terraform_data\" \"b\" {\n  input = 2\n}\n";

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn addresses_in_files_select_objects() {
    let project = Project::new(&[("main.tf", TWO), ("targets", "# only this\nterraform_data.a\n")]);
    let out = project.run("plan -target-file=targets").success().out;
    assert!(out.contains("terraform_data.a will be created") && !out.contains("terraform_data.b"), "{out}");
    let out = project.run("plan -exclude-file=targets").success().out;
    assert!(out.contains("terraform_data.b will be created") && !out.contains("terraform_data.a"), "{out}");
    project.run("plan -exclude-file=targets -target=terraform_data.b").ended_with(1);
    project.write("targets", "terraform_data.a\nnot an address\n");
    let errors = project.run("plan -target-file=targets").ended_with(1).errors;
    assert!(errors.contains("on targets line 2"), "{errors}");
    project.write("targets", "\n");
    project.run("plan -target-file=targets").ended_with(1);
    project.run("plan -target-file=absent").ended_with(1);
    project.write("targets", "terraform_data.a\n");
    project.run("apply -auto-approve -target-file=targets").success();
    assert_eq!(project.run("state list").out, "terraform_data.a\n");
    project.run("destroy -auto-approve -exclude-file=targets").success();
    assert_eq!(project.run("state list").out, "terraform_data.a\n");
}

#[test]
fn json_messages_are_written_to_a_file_in_addition_to_text() {
    let project = Project::new(&[("main.tf", TWO)]);
    let seen = project.run("apply -auto-approve -json-into=log.json").success();
    assert!(seen.out.contains("\nWardian will perform the following actions:\n"), "{}", seen.text());
    assert!(seen.out.contains("Apply complete! Resources: 2 added"), "{}", seen.text());
    let log = project.read("log.json");
    let kinds: Vec<String> =
        log.lines().map(|line| parsed(line)["type"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(kinds.first().map(String::as_str), Some("version"));
    for kind in ["planned_change", "apply_start", "apply_complete", "change_summary", "outputs"] {
        assert!(kinds.iter().any(|one| one == kind), "{kind}: {log}");
    }
    project.write("main.tf", "resource {\n");
    project.run("plan -json-into=log.json").ended_with(1);
    assert!(project.read("log.json").contains("\"type\":\"diagnostic\""));
    project.run("plan -json -json-into=log.json").ended_with(1);
    let errors = project.run("plan -json-into=absent/log.json").ended_with(1).errors;
    assert!(errors.contains("Output file cannot be created"), "{errors}");
}

#[test]
fn concise_output_has_results_but_no_progress() {
    let project = Project::new(&[("main.tf", TWO)]);
    let out = project.run("apply -auto-approve -concise").success().out;
    assert!(!out.contains("Creating...") && out.contains("Apply complete!"), "{out}");
    let out = project.run("plan -concise").success().out;
    assert!(!out.contains("Refreshing state") && out.contains("No changes."), "{out}");
}

#[test]
fn workspaces_are_listed_as_json() {
    let project = Project::new(&[]);
    project.run("workspace new a").success();
    assert_eq!(
        parsed(&project.run("workspace list -json").success().out),
        json!({
            "format_version": "1.0",
            "workspaces": [
                { "name": "default", "is_current": false },
                { "name": "a", "is_current": true },
            ],
            "diagnostics": [],
        })
    );
}

#[test]
fn one_instance_is_shown_as_json() {
    let project = Project::new(&[("main.tf", TWO)]);
    project.run("apply -auto-approve").success();
    let shown = parsed(&project.run("state show -json terraform_data.b").success().out);
    let resources = &shown["values"]["root_module"]["resources"];
    assert_eq!(resources.as_array().map(Vec::len), Some(1));
    assert_eq!(resources[0]["address"], "terraform_data.b");
    let all = parsed(&project.run("show -json").success().out);
    assert_eq!(resources[0], all["values"]["root_module"]["resources"][1]);
    project.run("state show -json terraform_data.c").ended_with(1);
}

#[test]
fn identities_are_printed_by_address() {
    let project = Project::new(&[("main.tf", TWO)]);
    project.run("apply -auto-approve").success();
    let mut state = project.state();
    for resource in state["resources"].as_array_mut().unwrap() {
        let name = resource["name"].clone();
        resource["instances"][0]["identity"] = json!({ "name": name });
        resource["instances"][0]["identity_schema_version"] = 0.into();
    }
    project.write("terraform.tfstate", state.to_string());
    let identities = |line: &str| parsed(&project.run(line).success().out);
    assert_eq!(
        identities("state identities -json"),
        json!({ "terraform_data.a": { "name": "a" }, "terraform_data.b": { "name": "b" } })
    );
    assert_eq!(
        identities("state identities -json terraform_data.b"),
        json!({ "terraform_data.b": { "name": "b" } })
    );
    project.run("state identities").ended_with(1);
}

#[test]
fn terraform_options_are_accepted() {
    let project = Project::new(&[("main.tf", TWO)]);
    project.run("plan -parallelism=0").success();
    project.run("graph -verbose").success();
    let console = project.run_with("console -input=false -target=terraform_data.a", "1 + 1\n", &[]);
    assert_eq!(console.success().out, "2\n");
    project.run("init -var=a=1 -var-file=absent -target=terraform_data.a").success();
    project.run("apply -auto-approve").success();
    assert_eq!(project.run("state ls").success().out, project.run("state list").success().out);
    project.run("state move terraform_data.a terraform_data.c").success();
    project.run("state remove terraform_data.b").success();
    assert_eq!(project.run("state list").out, "terraform_data.c\n");
}
