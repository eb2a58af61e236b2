//! States are migrated between every pair of backends.

use serde_json::Value;
use wardian_end_to_end::Project;

use crate::servers::{Kind, all_kinds, run};

const MAIN: &str = "variable \"v\" {\n  default = \"1\"\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\noutput \"o\" {\n  \
                    value = terraform_data.a.output\n}\n";

fn pull(project: &Project) -> Value {
    serde_json::from_str(&run(project, "state pull")).unwrap()
}

/// Returns every pair of two kinds of storages for which a condition holds.
fn pairs(condition: fn(Kind) -> bool) -> impl Iterator<Item = (Kind, Kind)> {
    let kinds: Vec<Kind> = all_kinds().into_iter().filter(|kind| condition(*kind)).collect();
    let pairs =
        kinds.clone().into_iter().flat_map(move |old| kinds.clone().into_iter().map(move |new| (old, new)));
    pairs.filter(|(old, new)| old != new)
}

#[test]
fn states_are_migrated_between_every_pair() {
    for (old, new) in pairs(|_| true) {
        let (old, new) = (old.create(), new.create());
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

#[test]
fn all_workspaces_are_migrated() {
    for (old, new) in pairs(Kind::has_workspaces) {
        let (old, new) = (old.create(), new.create());
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

#[test]
fn selected_workspace_is_migrated_to_a_backend_with_one_state() {
    for old in all_kinds().into_iter().filter(|kind| kind.has_workspaces()) {
        let (old, new) = (old.create(), Kind::Http.create());
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
