//! Saved plans, conflicts and versions of a state in the backend `postgres`.

use std::sync::LazyLock;

use wardian_end_to_end::Project;
use wardian_state_server::Postgres;

use crate::servers::run;

static POSTGRES: LazyLock<Option<Postgres>> = LazyLock::new(Postgres::start);

/// Two objects, and an output of the first one.
const MAIN: &str = "variable \"a\" {\n  default = \"1\"\n}\nvariable \"b\" {\n  default = \"1\"\n}\nresource \"terraform_data\" \"a\" \
                    {\n  input = var.a\n}\nresource \"terraform_data\" \"b\" {\n  input = var.b\n}\noutput \"a\" {\n  value = \
                    terraform_data.a.output\n}\n";

fn project(postgres: &Postgres, schema: &str) -> Project {
    let backend = format!(
        "terraform {{\n  backend \"postgres\" {{\n    conn_str = \"{}\"\n    schema_name = \"{schema}\"\n  }}\n}}\n",
        postgres.connection_string()
    );
    let project = Project::new(&[("main.tf", MAIN), ("backend.tf", &backend)]);
    run(&project, "init");
    project
}

#[test]
fn saved_plan_is_applied_after_unrelated_changes() {
    let Some(postgres) = &*POSTGRES else { return };
    let project = project(postgres, "saved");
    run(&project, "apply -auto-approve");
    run(&project, "plan -out=first -target=terraform_data.a -var a=2");
    run(&project, "plan -out=second -target=terraform_data.a -var a=3");
    // Another object changes, and then the one that the plan changes.
    run(&project, "apply -auto-approve -target=terraform_data.b -var b=2");
    run(&project, "apply first");
    run(&project, "plan -detailed-exitcode -var a=2 -var b=2");
    let seen = project.run("apply second").ended_with(1);
    for part in ["Plan is stale", "terraform_data.a was changed by a run of", "Create a new plan."] {
        assert!(seen.errors.contains(part), "{part}: {}", seen.text());
    }
    assert_eq!(run(&project, "output -raw a"), "2");
}

#[test]
fn saved_plan_with_moves_requires_the_same_state() {
    let Some(postgres) = &*POSTGRES else { return };
    let project = project(postgres, "moved");
    run(&project, "apply -auto-approve");
    let moved = MAIN.replace("terraform_data\" \"b\"", "terraform_data\" \"c\"");
    let moved = format!("{moved}moved {{\n  from = terraform_data.b\n  to   = terraform_data.c\n}}\n");
    project.write("main.tf", &moved);
    run(&project, "plan -out=moves");
    run(&project, "plan -destroy -out=destroys");
    project.write("main.tf", MAIN);
    run(&project, "apply -auto-approve -target=terraform_data.a -var a=2");
    project.write("main.tf", &moved);
    for plan in ["moves", "destroys"] {
        let seen = project.run(&format!("apply {plan}")).ended_with(1);
        assert!(seen.errors.contains("Saved plan is stale"), "{plan}: {}", seen.text());
    }
    run(&project, "apply -auto-approve -var a=2");
    assert_eq!(run(&project, "state list"), "terraform_data.a\nterraform_data.c\n");
    assert_eq!(run(&project, "output -raw a"), "2");
}

#[test]
fn versions_are_listed_printed_and_restored() {
    let Some(postgres) = &*POSTGRES else { return };
    let project = project(postgres, "versions");
    let mut files = Vec::new();
    for value in ["1", "2", "3"] {
        run(&project, &format!("apply -auto-approve -var a={value}"));
        files.push(run(&project, "state pull"));
    }
    let serial = |file: &str| {
        let state: serde_json::Value = serde_json::from_str(file).unwrap();
        state["serial"].as_u64().unwrap()
    };
    for file in &files {
        assert_eq!(&run(&project, &format!("state pull -at={}", serial(file))), file);
    }
    let first = serial(&files[0]);
    let shown = run(&project, &format!("state show -at={first} terraform_data.a"));
    assert!(shown.contains("input  = \"1\""), "{shown}");
    let history = run(&project, "state history -limit=2");
    assert_eq!(history.lines().count(), 2, "{history}");
    let json = run(&project, "state history -json");
    let newest = format!("\"serial\": {},", serial(&files[2]));
    for part in ["\"format_version\": \"1.0\"", &*newest, "\"operation\": \"OperationTypeApply\""] {
        assert!(json.contains(part), "{part}: {json}");
    }
    let seen = project.run("state pull -at=99").ended_with(1);
    assert!(seen.errors.contains("No such version"), "{}", seen.text());
    run(&project, &format!("state restore {first}"));
    assert_eq!(run(&project, "output -raw a"), "1");
    let restored = run(&project, "state pull");
    assert_eq!(serial(&restored), serial(&files[2]) + 1);
    // The objects are the same, so the restored state only needs the changed value.
    let plan = run(&project, "plan -var a=3");
    assert!(plan.contains("0 to add, 1 to change, 0 to destroy"), "{plan}");
}

#[test]
fn other_backends_have_no_versions() {
    let project = Project::new(&[("main.tf", MAIN)]);
    run(&project, "init");
    for line in ["state history", "state pull -at=1", "state restore 1"] {
        let seen = project.run(line).ended_with(1);
        assert!(seen.errors.contains("does not keep versions"), "{line}: {}", seen.text());
    }
}
