//! State stores of plugins: the example `http-state` of the SDK, in the sandbox, with a server on this
//! machine; and the state store of the native test plugin.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::time::Duration;

use serde_json::Value;
use wardian_end_to_end::{Project, Seen, platform, test_guest};
use wardian_state_server::{Fault, Objects, Response, ServiceServer};

use crate::native_plugins::{make_executable, plugin};

const TOKEN: &str = "secret-token-7";
const COMPONENT: &str = "terraform.d/plugins/registry.terraform.io/acme/httpstate/1.0.0/httpstate.wasm";

const RESOURCES: &str = r#"
resource "terraform_data" "one" {
  input = "first"
}

output "value" {
  value = terraform_data.one.output
}
"#;

struct World {
    project: Project,
    server: ServiceServer<Objects>,
}

fn main_file(server: &ServiceServer<Objects>, more: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    httpstate = {{ source = \"acme/httpstate\" }}\n  }}\n  state_store \
         \"httpstate_objects\" {{\n    provider \"httpstate\" {{\n      token = \"{TOKEN}\"\n    }}\n    address = \
         \"{}/team\"\n{more}  }}\n}}\n{RESOURCES}",
        server.origin()
    )
}

fn policy(server: &ServiceServer<Objects>) -> String {
    let port = server.address().split_once(':').unwrap().1;
    format!(
        "plugin \"acme/httpstate\" {{\n  allow network {{\n    hosts     = [\"127.0.0.1\"]\n    addresses = \
         [\"loopback\"]\n    schemes   = [\"http\"]\n    ports     = [{port}]\n  }}\n  allow network {{\n    hosts = \
         [\"states.example.com\"]\n  }}\n}}\n"
    )
}

/// Creates a project whose state is in the example state store.
fn world(more: &str) -> Option<World> {
    let component = std::fs::read(test_guest("http-state")?).unwrap();
    let server = ServiceServer::start(|_| Objects::new(TOKEN));
    let project = Project::new(&[("main.tf", &main_file(&server, more))]);
    project.write(COMPONENT, component);
    project.write("wardian.policy.hcl", policy(&server));
    Some(World { project, server })
}

fn run(project: &Project, line: &str) -> Seen {
    project.run_with(line, "", &[("WARDIAN_AUDIT", "audit.log")])
}

impl World {
    fn run(&self, line: &str) -> Seen {
        run(&self.project, line)
    }

    fn initialized(self) -> Self {
        self.run("init").success();
        self
    }

    fn stored(&self, name: &str) -> Value {
        self.server
            .service()
            .object(name)
            .map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap())
    }
}

#[test]
fn state_is_kept_in_the_state_store() {
    let Some(world) = world("") else { return };
    let init = world.run("init").success().out;
    assert!(init.contains("The state store \"httpstate_objects\" is configured"), "{init}");
    let record: Value = serde_json::from_str(&world.project.read(".terraform/terraform.tfstate")).unwrap();
    let record = &record["state_store"];
    assert_eq!(record["type"], "httpstate_objects");
    assert_eq!(record["provider"]["source"], "registry.terraform.io/acme/httpstate");
    assert_eq!(record["provider"]["version"], "1.0.0");
    assert!(record["hash"].is_u64() && record["provider"]["hash"].is_u64(), "{record}");
    world.run("apply -auto-approve").success();
    assert!(!world.project.has("terraform.tfstate"));
    assert_eq!(world.stored("default.tfstate")["outputs"]["value"]["value"], "first");
    assert_eq!(world.server.service().names(), ["default.tfstate"], "the lock is released");
    assert_eq!(world.run("output -raw value").success().out.trim(), "first");
    let plan = world.run("plan -detailed-exitcode").success().out;
    assert!(plan.contains("No changes"), "{plan}");
    world.run("plan -out=saved -destroy").success();
    world.run("apply saved").success();
    assert_eq!(world.stored("default.tfstate")["resources"], serde_json::json!([]));
    let audit = world.project.read("audit.log");
    assert!(audit.contains("acme/httpstate") && !audit.contains(TOKEN), "{audit}");
}

#[test]
fn request_to_another_host_is_denied_and_recorded() {
    let Some(world) = world("    report_to = \"http://other.example.com/log\"\n") else { return };
    let world = world.initialized();
    let applied = world.run("apply -auto-approve").success();
    assert!(applied.text().contains("Write was not reported"), "{}", applied.text());
    let audit = world.project.read("audit.log");
    let denied = audit
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|record| record.to_string().contains("other.example.com") && record["decision"] == "denied");
    assert!(denied.is_some_and(|record| record["plugin"].to_string().contains("acme/httpstate")), "{audit}");
    assert_eq!(world.stored("default.tfstate")["outputs"]["value"]["value"], "first");
}

#[test]
fn state_store_without_a_grant_is_not_read() {
    let Some(world) = world("") else { return };
    world.project.write(
        "wardian.policy.hcl",
        "plugin \"acme/httpstate\" {\n  allow network {\n    hosts = [\"states.example.com\"]\n  }\n}\n",
    );
    let refused = world.run("init").ended_with(1).errors;
    assert!(refused.contains("127.0.0.1"), "{refused}");
    assert!(world.server.requests().is_empty());
}

#[test]
fn killed_apply_leaves_a_lock_that_names_its_holder() {
    let Some(world) = world("") else { return };
    let world = world.initialized();
    world.server.fail_next("PUT", "default.tfstate", Fault::Hang);
    let mut apply = world.project.start("apply -auto-approve");
    world.server.wait_for("PUT", "default.tfstate", 1);
    apply.kill();
    let id_of = |state: &Value| state["resources"][0]["instances"][0]["attributes"]["id"].clone();
    let requests = world.server.requests();
    let lost = requests.iter().find(|one| one.method == "PUT" && one.target.ends_with(".tfstate")).unwrap();
    let made = id_of(&serde_json::from_slice(&lost.body).unwrap());
    assert!(made.is_string() && world.stored("default.tfstate").is_null());
    let blocked = world.run("plan").ended_with(1).errors;
    assert!(blocked.contains("tester@") && blocked.contains("OperationTypeApply"), "{blocked}");
    assert!(blocked.contains("force-unlock"), "{blocked}");
    let holder = world.stored("default.lock");
    let id = holder["id"].as_str().unwrap().to_owned();
    let wrong = "force-unlock -force 11111111-2222-3333-4444-555555555555";
    world.run(wrong).ended_with(1);
    assert_eq!(world.stored("default.lock")["id"], *id);
    world.run(&format!("force-unlock -force {id}")).success();
    // The object of the killed run is in its journal, so it is not created again.
    let recovered = world.run("apply -auto-approve").success();
    assert!(recovered.text().contains("Interrupted run recovered"), "{}", recovered.text());
    assert_eq!(id_of(&world.stored("default.tfstate")), made, "the object was not replaced");
}

#[test]
fn failed_write_preserves_the_state() {
    let Some(world) = world("") else { return };
    let world = world.initialized();
    let full = Response::new(507, "the disk is full");
    world.server.fail_next("PUT", "default.tfstate", Fault::Answer(full));
    let failed = world.run("apply -auto-approve").ended_with(1).errors;
    assert!(failed.contains("the disk is full") && failed.contains("errored.tfstate"), "{failed}");
    assert!(world.project.read("errored.tfstate").contains("first"));
    world.run("state push errored.tfstate").success();
    assert_eq!(world.stored("default.tfstate")["outputs"]["value"]["value"], "first");
    world.run("plan -detailed-exitcode").success();
}

#[test]
fn states_are_migrated_to_and_from_the_state_store() {
    let Some(world) = world("") else { return };
    let with_store = world.project.read("main.tf");
    world.project.write("main.tf", RESOURCES);
    world.run("init").success();
    world.run("apply -auto-approve").success();
    let lineage = world.project.state()["lineage"].clone();
    world.run("workspace new other").success();
    world.run("apply -auto-approve").success();
    world.run("workspace select default").success();
    world.project.write("main.tf", &with_store);
    let refused = world.run("plan").ended_with(1).errors;
    assert!(refused.contains("a state store \"httpstate_objects\""), "{refused}");
    world.run("init -force-copy").success();
    assert_eq!(world.server.service().names(), ["default.tfstate", "other.tfstate"]);
    assert_eq!(world.stored("default.tfstate")["lineage"], lineage);
    world.run("plan -detailed-exitcode").success();
    let changed = with_store.replace("/team", "/elsewhere");
    world.project.write("main.tf", &changed);
    let refused = world.run("plan").ended_with(1).errors;
    assert!(refused.contains("have changed since"), "{refused}");
    world.project.write("main.tf", RESOURCES);
    world.run("init -migrate-state -input=false").ended_with(1);
    world.run("init -migrate-state -force-copy").success();
    assert_eq!(world.project.state()["lineage"], lineage);
    let record: Value = serde_json::from_str(&world.project.read(".terraform/terraform.tfstate")).unwrap();
    assert!(record.get("state_store").is_none(), "{record}");
    world.run("plan -detailed-exitcode").success();
}

#[test]
fn workspaces_are_states_of_the_state_store() {
    let Some(world) = world("") else { return };
    let world = world.initialized();
    world.run("workspace new b").success();
    world.run("apply -auto-approve").success();
    assert_eq!(world.stored("b.tfstate")["outputs"]["value"]["value"], "first");
    let listed = world.run("workspace list").success().out;
    assert!(listed.contains("* b") && listed.contains("default"), "{listed}");
    world.run("workspace select default").success();
    world.run("workspace delete b").ended_with(1);
    world.run("workspace delete -force b").success();
    assert!(world.server.service().object("b.tfstate").is_none());
}

#[test]
fn mistakes_in_a_state_store_block_are_explained() {
    let Some(world) = world("") else { return };
    let correct = world.project.read("main.tf");
    for (from, to, expected) in [
        ("httpstate_objects\"", "httpstate_object\"", "\"httpstate_objects\"?"),
        ("provider \"httpstate\"", "provider \"httpstat\"", "has no entry in"),
        ("address =", "adress =", "address"),
    ] {
        world.project.write("main.tf", correct.replacen(from, to, 1));
        let refused = world.run("init").ended_with(1).errors;
        assert!(refused.contains(expected) && refused.contains("main.tf line"), "{refused}");
    }
    world.project.write(
        "main.tf",
        correct
            .replace("httpstate_objects", "random_objects")
            .replace(
                "httpstate = { source = \"acme/httpstate\" }",
                "random = { source = \"hashicorp/random\" }",
            )
            .replace(
                "provider \"httpstate\" {\n      token = \"secret-token-7\"\n    }",
                "provider \"random\" {}",
            ),
    );
    let refused = world.run("init").ended_with(1).errors;
    assert!(refused.contains("Provider without state stores"), "{refused}");
}

#[test]
fn backend_config_sets_arguments_of_the_state_store() {
    let Some(world) = world("") else { return };
    let main = world.project.read("main.tf");
    let address = format!("    address = \"{}/team\"\n", world.server.origin());
    world.project.write("main.tf", main.replace(&address, ""));
    let refused = world.run("init").ended_with(1).errors;
    assert!(refused.contains("requires the argument \"address\""), "{refused}");
    world.run(&format!("init -backend-config=address={}/team", world.server.origin())).success();
    world.run("apply -auto-approve").success();
    assert!(world.server.service().object("default.tfstate").is_some());
}

#[test]
fn hanging_state_store_is_interrupted() {
    let Some(world) = world("") else { return };
    let world = world.initialized();
    world.server.fail_next("GET", "default.tfstate", Fault::Hang);
    let before = world.server.count("GET", "default.tfstate");
    let plan = world.project.start("plan -lock=false");
    world.server.wait_for("GET", "default.tfstate", before + 1);
    plan.interrupt();
    let (status, _) = plan.finish(Duration::from_secs(30));
    assert!(!status.success());
}

#[test]
fn damaged_state_is_an_error_and_not_replaced() {
    let Some(world) = world("") else { return };
    let world = world.initialized();
    world.server.service().put("default.tfstate", "<html>");
    let refused = world.run("plan").ended_with(1).errors;
    assert!(refused.contains("is not a state file"), "{refused}");
    assert_eq!(world.server.service().object("default.tfstate").unwrap(), b"<html>");
}

#[test]
fn state_store_of_an_untrusted_configuration_is_not_opened() {
    let Some(world) = world("") else { return };
    let world = world.initialized();
    let before = world.server.requests().len();
    let plan = world.run("plan -untrusted");
    assert!(plan.text().contains("State not read"), "{}", plan.text());
    assert_eq!(world.server.requests().len(), before);
}

#[test]
fn native_state_store_keeps_states_and_locks() {
    let Some(plugin) = plugin() else { return };
    let main = format!(
        "terraform {{\n  required_providers {{\n    fake = {{ source = \"example.com/acme/fake\" }}\n  }}\n  state_store \
         \"fake_files\" {{\n    provider \"fake\" {{}}\n    directory = \"states\"\n  }}\n}}\n{RESOURCES}"
    );
    let project = Project::new(&[("main.tf", &main), ("states/.keep", "")]);
    let file = format!(
        "terraform.d/plugins/example.com/acme/fake/1.2.3/{}/terraform-provider-fake_v1.2.3",
        platform()
    );
    project.write(&file, std::fs::read(plugin).unwrap());
    make_executable(&project.path(&file));
    project.run("init").success();
    project.run("apply -auto-approve").success();
    assert!(project.read("states/default.tfstate").contains("first"));
    assert!(!project.has("states/default.lock") && !project.has("terraform.tfstate"));
    project.write(
        "states/default.lock",
        "  ID:        held-1\n  Operation: apply\n  Who:       ann@build\n  Created:   2026-01-29\n",
    );
    let blocked = project.run("plan").ended_with(1).errors;
    assert!(blocked.contains("ann@build") && blocked.contains("held-1"), "{blocked}");
    project.run("force-unlock -force held-1").success();
    project.run("plan -detailed-exitcode").success();
}
