//! Unreadable states, which cause an error and are not changed.

use wardian_end_to_end::{Project, assert_seen};

const MAIN: &str = "output \"a\" {\n  value = 1\n}\n";

#[track_caller]
fn check(name: &str, state: &str) {
    let project = Project::new(&[("main.tf", MAIN), ("terraform.tfstate", state)]);
    assert_seen!(name, project.run("plan").ended_with(1));
    for command in ["apply -auto-approve", "destroy -auto-approve", "refresh", "output", "state list"] {
        project.run(command).ended_with(1);
        assert_eq!(project.read("terraform.tfstate"), state, "{command}");
    }
    assert!(!project.has("terraform.tfstate.backup"));
}

#[test]
fn truncated_state_is_rejected() {
    check(
        "state_cut_off",
        "{\n  \"version\": 4,\n  \"terraform_version\": \"1.11.4\",\n  \"serial\": 3,\n  \"lin",
    );
}

#[test]
fn unsupported_state_files_are_rejected() {
    check("state_not_a_state", "{\"name\": \"something else\"}\n");
    check("state_text", "this is a letter to my mother\n");
    check("state_from_the_future", "{\"version\": 9, \"terraform_version\": \"9.0.0\", \"serial\": 1}\n");
}

#[test]
fn state_with_invalid_address_is_rejected() {
    let state = r#"{
  "version": 4,
  "terraform_version": "1.11.4",
  "serial": 1,
  "lineage": "8a1b2c3d-0000-0000-0000-000000000000",
  "outputs": {},
  "resources": [
    {
      "mode": "managed",
      "type": "random_id",
      "name": "a b",
      "provider": "provider[\"registry.terraform.io/hashicorp/random\"]",
      "instances": []
    }
  ],
  "check_results": null
}
"#;
    let project = Project::new(&[("main.tf", MAIN), ("terraform.tfstate", state)]);
    let seen = project.run("plan");
    if seen.code != Some(0) {
        assert_eq!(project.read("terraform.tfstate"), state);
    }
}
