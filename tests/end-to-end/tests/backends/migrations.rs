//! States are migrated between every pair of backends.

use serde_json::Value;
use wardian_end_to_end::Project;

use crate::servers::{all_backends, run};

const MAIN: &str = "variable \"v\" {\n  default = \"1\"\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\noutput \"o\" {\n  \
                    value = terraform_data.a.output\n}\n";

fn pull(project: &Project) -> Value {
    serde_json::from_str(&run(project, "state pull")).unwrap()
}

#[test]
fn states_are_migrated_between_every_pair() {
    let count = all_backends().len();
    for old in 0..count {
        for new in (0..count).filter(|new| *new != old) {
            let (old, new) = (all_backends().swap_remove(old), all_backends().swap_remove(new));
            println!("from {} to {}", old.name, new.name);
            let project = Project::new(&[("main.tf", MAIN), ("backend.tf", &old.block)]);
            run(&project, "init");
            run(&project, "apply -auto-approve");
            let before = pull(&project);
            project.write("backend.tf", &new.block);
            project.run("plan").ended_with(1);
            run(&project, "init -migrate-state -force-copy");
            assert_eq!(pull(&project), before, "from {} to {}", old.name, new.name);
            run(&project, "plan -detailed-exitcode");
        }
    }
}

#[test]
fn all_workspaces_are_migrated() {
    let count = all_backends().len();
    for old in 0..count {
        for new in (0..count).filter(|new| *new != old) {
            let (old, new) = (all_backends().swap_remove(old), all_backends().swap_remove(new));
            if !old.has_workspaces || !new.has_workspaces {
                continue;
            }
            println!("from {} to {}", old.name, new.name);
            let project = Project::new(&[("main.tf", MAIN), ("backend.tf", &old.block)]);
            run(&project, "init");
            run(&project, "apply -auto-approve -var v=default");
            run(&project, "workspace new dev");
            run(&project, "apply -auto-approve -var v=dev");
            project.write("backend.tf", &new.block);
            run(&project, "init -migrate-state -force-copy");
            assert_eq!(run(&project, "output -raw o"), "dev");
            run(&project, "workspace select default");
            assert_eq!(run(&project, "output -raw o"), "default");
        }
    }
}

#[test]
fn selected_workspace_is_migrated_to_a_backend_with_one_state() {
    for old in all_backends().into_iter().filter(|backend| backend.has_workspaces) {
        let new = all_backends().into_iter().find(|backend| !backend.has_workspaces).unwrap();
        println!("from {}", old.name);
        let project = Project::new(&[("main.tf", MAIN), ("backend.tf", &old.block)]);
        run(&project, "init");
        run(&project, "workspace new dev");
        run(&project, "apply -auto-approve -var v=dev");
        project.write("backend.tf", &new.block);
        run(&project, "init -migrate-state -force-copy");
        assert_eq!(run(&project, "workspace show").trim(), "default");
        assert_eq!(run(&project, "output -raw o"), "dev");
    }
}
