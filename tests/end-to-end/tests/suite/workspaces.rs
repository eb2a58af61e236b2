//! Workspace behaviour that the recorded results do not cover: names that could refer to other
//! directories, and separate states.

use wardian_end_to_end::Project;

const MAIN: &str = "output \"w\" {\n  value = terraform.workspace\n}\n";

#[test]
fn each_workspace_has_its_own_state() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("apply -auto-approve").success();
    project.run("workspace new dev").success();
    assert!(!project.has("terraform.tfstate.d/dev/terraform.tfstate"));
    project.run("apply -auto-approve").success();
    let output = |variables: &[(&str, &str)]| project.run_with("output -raw w", "", variables).success().out;
    assert_eq!(output(&[]), "dev");
    assert_eq!(output(&[("TF_WORKSPACE", "default")]), "default");
    // A workspace that does not exist yet is empty.
    let seen = project.run_with("apply -auto-approve", "", &[("TF_WORKSPACE", "new")]).success();
    assert!(seen.out.contains("w = \"new\""), "{}", seen.text());
    assert_eq!(project.run("workspace list").success().out, "  default\n* dev\n  new\n\n");
    // The plan is applied in the workspace in which it was created.
    project.run("plan -out=p -var-file=/dev/null").success();
    project.run("workspace select default").success();
    assert_eq!(project.run("output -raw w").success().out, "default");
}

#[test]
fn invalid_workspace_selection_is_rejected() {
    for name in ["../../elsewhere", "..", "a/b", "a b"] {
        let project = Project::new(&[("main.tf", MAIN), (".terraform/environment", name)]);
        for line in ["plan", "apply -auto-approve", "state list", "workspace show", "init"] {
            let seen = project.run(line).ended_with(1);
            assert!(seen.errors.contains("Invalid workspace name"), "{}", seen.text());
        }
        assert!(!project.has("terraform.tfstate") && !project.has("terraform.tfstate.d"));
        project.run("validate").success();
        let project = Project::new(&[("main.tf", MAIN)]);
        project.run_with("plan", "", &[("TF_WORKSPACE", name)]).ended_with(1);
        project.run(&format!("workspace new '{name}'")).ended_with(1);
    }
}

#[test]
fn tf_workspace_takes_precedence_and_prevents_select() {
    let project = Project::new(&[("main.tf", MAIN)]);
    let dev = [("TF_WORKSPACE", "dev")];
    assert_eq!(project.run_with("workspace show", "", &dev).success().out, "dev\n");
    project.run_with("workspace new x", "", &dev).ended_with(1);
    project.run_with("workspace select x", "", &dev).ended_with(1);
    project.run_with("state list", "", &dev).ended_with(1);
    assert!(!project.has("terraform.tfstate.d"));
}
