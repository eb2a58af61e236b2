//! Encrypted states in every backend.

use serde_json::Value;
use wardian_end_to_end::Project;

use crate::servers::{VARIABLES, backends, run};

const SECRET: &str = "hunter2-hunter2";

const MAIN: &str = "variable \"v\" {\n  default = \"hunter2-hunter2\"\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\noutput \
                    \"o\" {\n  value = terraform_data.a.output\n}\n";

const ENCRYPTION: &str = "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"p\" {\n      passphrase = \
                          \"correct-horse-battery-staple\"\n      iterations = 200000\n    }\n    method \"aes_gcm\" \"m\" {\n      \
                          keys = key_provider.pbkdf2.p\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n";

#[test]
fn states_and_workspaces_are_encrypted() {
    for backend in backends() {
        println!("{}", backend.name);
        let project =
            Project::new(&[("main.tf", MAIN), ("backend.tf", &backend.block), ("encryption.tf", ENCRYPTION)]);
        run(&project, "init");
        run(&project, "apply -auto-approve");
        run(&project, "apply -auto-approve -var v=other");
        run(&project, "plan -detailed-exitcode -var v=other");
        assert_eq!(run(&project, "output -raw o"), "other");
        let mut workspaces = vec!["default"];
        if backend.has_workspaces {
            run(&project, "workspace new second");
            run(&project, "apply -auto-approve");
            assert_eq!(run(&project, "output -raw o"), SECRET);
            // A workspace that was not used yet.
            run(&project, "workspace new third");
            workspaces.extend(["second", "third"]);
        }
        // Without its encryption, no state can be read.
        std::fs::rename(project.path("encryption.tf"), project.path("encryption.kept")).unwrap();
        for workspace in &workspaces {
            let mut variables = VARIABLES.clone();
            // The block of the backend "cloud" names its only workspace.
            if backend.has_workspaces {
                variables.push(("TF_WORKSPACE", *workspace));
            }
            if *workspace == "third" && backend.name == "local" {
                continue;
            }
            let seen = project.run_with("state pull", "", &variables).ended_with(1);
            let words: Vec<&str> = seen.errors.split_whitespace().filter(|word| *word != "│").collect();
            assert!(words.join(" ").contains("is encrypted"), "{}: {}", backend.name, seen.text());
        }
        // The states can be decrypted and migrated to another backend.
        std::fs::rename(project.path("encryption.kept"), project.path("encryption.tf")).unwrap();
        if backend.has_workspaces {
            run(&project, "workspace select default");
        }
        project
            .write("backend.tf", "terraform {\n  backend \"local\" {\n    path = \"here.tfstate\"\n  }\n}\n");
        run(&project, "init -force-copy");
        // From the backend "cloud", the state is copied to a workspace of the same name.
        let workspace = run(&project, "workspace show");
        let path = match workspace.trim() {
            "default" => "here.tfstate".to_owned(),
            name => format!("terraform.tfstate.d/{name}/terraform.tfstate"),
        };
        let stored: Value = serde_json::from_str(&project.read(&path)).unwrap();
        assert_eq!(stored["encryption_version"], "v0");
        assert_eq!(run(&project, "output -raw o"), "other");
    }
}
