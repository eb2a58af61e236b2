//! States in a remote backend: commands, locks, migration, and faults of the service.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use wardian_end_to_end::{Project, terraform};
use wardian_state_server::{Fault, Response, StateServer};

const LIMIT: Duration = Duration::from_mins(2);

const MAIN: &str = "variable \"v\" {\n  default = \"1\"\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\noutput \"o\" {\n  \
                    value = terraform_data.a.output\n}\n";

/// A provisioner that waits until the file `finish` exists.
const WAITING: &str = "resource \"terraform_data\" \"first\" {}\nresource \"terraform_data\" \"second\" {\n  depends_on = \
                       [terraform_data.first]\n  provisioner \"local-exec\" {\n    command = \"echo started; for i in $(seq \
                       600); do test -e finish && exit 0; sleep 0.1; done; exit 1\"\n  }\n}\n";

const LOCK: &str = "{\"ID\":\"0000-1\",\"Operation\":\"OperationTypeApply\",\"Info\":\"\",\"Who\":\"them@there\",\
                    \"Version\":\"1.11.4\",\"Created\":\"2026-01-02T03:04:05Z\",\"Path\":\"\"}";

fn project(server: &StateServer, main: &str) -> Project {
    let project = Project::new(&[("main.tf", main), ("backend.tf", &server.block("/state"))]);
    project.run("init").success();
    project
}

fn state(server: &StateServer) -> Value {
    server.state("/state").map_or(Value::Null, |state| serde_json::from_slice(&state).unwrap())
}

/// Returns the types and names of the resources in a state.
fn resources(state: &Value) -> Vec<String> {
    let resources = state["resources"].as_array().cloned().unwrap_or_default();
    resources.iter().map(|resource| resource["name"].as_str().unwrap().to_owned()).collect()
}

/// Joins wrapped lines.
fn unwrapped(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == '│').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn journals(project: &Project) -> usize {
    fs::read_dir(project.path(".terraform/journals")).map_or(0, Iterator::count)
}

#[test]
fn commands_use_the_remote_state() {
    let server = StateServer::start();
    let project = project(&server, MAIN);
    project.run("apply -auto-approve -audit-log=audit.json").success();
    assert_eq!(
        (state(&server)["serial"].as_u64(), resources(&state(&server))),
        (Some(1), vec!["a".to_owned()])
    );
    assert!(!project.has("terraform.tfstate"));
    assert_eq!((server.lock_of("/state"), journals(&project)), (None, 0));
    project.run("plan -detailed-exitcode").success();
    project.run("apply -auto-approve -var v=2").success();
    assert_eq!(project.run("output -raw o").success().out, "2");
    assert_eq!(project.run("state list").success().out, "terraform_data.a\n");
    let pulled = project.run("state pull").success().out;
    assert_eq!(pulled, project.filtered(std::str::from_utf8(&server.state("/state").unwrap()).unwrap()));
    project.run("state mv terraform_data.a terraform_data.b").success();
    assert_eq!(resources(&state(&server)), ["b"]);
    project.run("state rm terraform_data.b").success();
    assert!(resources(&state(&server)).is_empty());
    project.run("plan -out=saved.tfplan").success();
    project.run("apply saved.tfplan").success();
    project.run("destroy -auto-approve").success();
    assert!(resources(&state(&server)).is_empty());
    assert_eq!(server.lock_of("/state"), None);
    let audit = project.read("audit.json");
    let written = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let written: Vec<Value> = written.filter(|record| record["plugin"] == "wardian").collect();
    assert!(
        written.iter().any(|record| record["call"] == "backend" && record["access"] == "POST"),
        "{audit}"
    );
}

#[test]
fn held_lock_names_its_holder_and_what_to_do() {
    let server = StateServer::start();
    let project = project(&server, MAIN);
    server.set_lock("/state", Some(LOCK));
    for line in ["plan", "apply -auto-approve", "state rm terraform_data.a", "taint terraform_data.a"] {
        let seen = project.run(line).ended_with(1);
        let text = unwrapped(&seen.errors);
        for expected in ["Error acquiring the state lock", "them@there", "Created:", "force-unlock 0000-1"] {
            assert!(line.starts_with("state rm") || text.contains(expected), "{line}: {text}");
        }
    }
    assert_eq!(server.lock_of("/state").as_deref(), Some(LOCK), "the lock of another process is preserved");
    let mut waiting = project.start("apply -auto-approve -lock-timeout=2m");
    waiting.wait_for("Waiting for the state lock");
    server.set_lock("/state", None);
    let (status, text) = waiting.finish(LIMIT);
    assert!(status.success(), "{text}");
    server.set_lock("/state", Some(LOCK));
    project.run("plan -lock=false").success();
    project.run("force-unlock 0000-1").ended_with(1);
    project.run_with("force-unlock 0000-1", "no\n", &[]).ended_with(1);
    assert!(server.lock_of("/state").is_some());
    project.run_with("force-unlock 0000-1", "yes\n", &[]).success();
    project.run("plan").success();
}

#[test]
fn lock_is_released_after_errors_and_signals() {
    let server = StateServer::start();
    let project = project(&server, "resource \"terraform_data\" \"a\" {\n  input = file(\"missing\")\n}\n");
    project.run("apply -auto-approve").ended_with(1);
    assert_eq!(server.lock_of("/state"), None);
    // The signal arrives while the state is read, after it was locked.
    server.fail_next("GET", Fault::Delay(Duration::from_secs(5)));
    let running = project.start("plan");
    server.wait_for("LOCK", 2);
    thread::sleep(Duration::from_millis(200));
    running.terminate();
    let (status, text) = running.finish(LIMIT);
    assert!(!status.success(), "{text}");
    assert_eq!(server.lock_of("/state"), None, "{text}");
}

#[test]
fn failed_last_write_loses_no_change() {
    let server = StateServer::start();
    let project = project(&server, MAIN);
    project.run("apply -auto-approve").success();
    let before = server.state("/state");
    for _ in 0..3 {
        server.fail_next("POST", Fault::Answer(Response::new(500, "no space left")));
    }
    let seen = project.run("apply -auto-approve -var v=2").ended_with(1);
    let text = unwrapped(&seen.errors);
    assert!(text.contains("no space left") && text.contains("state push errored.tfstate"), "{text}");
    assert_eq!((server.state("/state"), server.lock_of("/state"), journals(&project)), (before, None, 1));
    let errored: Value = serde_json::from_str(&project.read("errored.tfstate")).unwrap();
    assert_eq!(errored["outputs"]["o"]["value"], "2");
    // A command that locks the state stores the changes; the pushed state contains the same ones.
    let seen = project.run("plan -detailed-exitcode -var v=2").success();
    assert!(unwrapped(&seen.text()).contains("Interrupted run recovered"), "{}", seen.text());
    assert_eq!(state(&server)["outputs"]["o"]["value"], "2");
    project.run("state push errored.tfstate").success();
    assert_eq!((state(&server)["outputs"]["o"]["value"].as_str(), journals(&project)), (Some("2"), 0));
    project.run("plan -detailed-exitcode -var v=2").success();
}

#[test]
fn killed_apply_loses_no_change() {
    let server = StateServer::start();
    let project = project(&server, WAITING);
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("started");
    apply.kill();
    assert_eq!((server.state("/state"), journals(&project)), (None, 1));
    let text = unwrapped(&project.run("apply -auto-approve").ended_with(1).errors);
    assert!(text.contains("tester@"), "the lock of the killed process is still held: {text}");
    let id = serde_json::from_str::<Value>(&server.lock_of("/state").unwrap()).unwrap()["ID"].clone();
    project.run(&format!("force-unlock -force {}", id.as_str().unwrap())).success();
    // A reader without a lock sees the changes in the journal.
    let pulled: Value = serde_json::from_str(&project.run("state pull").success().out).unwrap();
    assert_eq!(
        (resources(&pulled), server.state("/state")),
        (vec!["first".to_owned(), "second".to_owned()], None)
    );
    project.write("finish", "");
    let seen = project.run("apply -auto-approve").success();
    assert!(unwrapped(&seen.text()).contains("Interrupted run recovered"), "{}", seen.text());
    assert!(!seen.out.contains("terraform_data.first: Creating"), "{}", seen.out);
    assert_eq!((resources(&state(&server)).len(), journals(&project)), (2, 0));
}

#[test]
fn unfinished_state_is_stored_at_intervals() {
    let server = StateServer::start();
    let project = project(&server, WAITING);
    let mut command = project.command("apply -auto-approve");
    command.env("TF_STATE_PERSIST_INTERVAL", "0").stdout(std::process::Stdio::null());
    let mut apply = command.spawn().unwrap();
    server.wait_for_state("/state");
    // The second write can already have begun.
    let first = server.requests().into_iter().find(|request| request.method == "POST").unwrap();
    let stored: Value = serde_json::from_slice(&first.body).unwrap();
    assert_eq!((stored["serial"].as_u64(), resources(&stored)), (Some(1), vec!["first".to_owned()]));
    project.write("finish", "");
    assert!(apply.wait().unwrap().success());
    assert_eq!(resources(&state(&server)), ["first", "second"]);
    assert_eq!((server.lock_of("/state"), journals(&project)), (None, 0));
    project.run("plan -detailed-exitcode").success();
}

#[test]
fn apply_killed_after_an_interim_write_is_recovered() {
    let server = StateServer::start();
    let project = project(&server, WAITING);
    let mut command = project.command("apply -auto-approve");
    command.env("TF_STATE_PERSIST_INTERVAL", "0").stdout(std::process::Stdio::null());
    let mut apply = command.spawn().unwrap();
    server.wait_for_state("/state");
    apply.kill().unwrap();
    apply.wait().unwrap();
    server.set_lock("/state", None);
    project.write("finish", "");
    project.run("apply -auto-approve").success();
    assert_eq!(
        (resources(&state(&server)), journals(&project)),
        (vec!["first".to_owned(), "second".to_owned()], 0)
    );
}

#[test]
fn states_are_migrated_between_backends() {
    let server = StateServer::start();
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("apply -auto-approve").success();
    let local = project.state();
    project.write("backend.tf", server.block("/state"));
    let text = unwrapped(&project.run("plan").ended_with(1).errors);
    assert!(text.contains("Backend initialization required"), "{text}");
    project.run_with("init", "no\n", &[]).success();
    assert_eq!(state(&server), Value::Null);
    fs::remove_file(project.path(".terraform/terraform.tfstate")).unwrap();
    let seen = project.run("init -input=false").ended_with(1);
    assert!(unwrapped(&seen.errors).contains("-force-copy"), "{}", seen.errors);
    project.run_with("init", "yes\n", &[]).success();
    assert_eq!(state(&server), local);
    assert!(!project.has("terraform.tfstate") && project.has("terraform.tfstate.backup"));
    project.run("plan -detailed-exitcode").success();
    // To another address of the same backend.
    project.write("backend.tf", server.block("/other"));
    let text = unwrapped(&project.run("plan").ended_with(1).errors);
    assert!(text.contains("have changed since"), "{text}");
    let text = unwrapped(&project.run("init").ended_with(1).errors);
    assert!(text.contains("Backend configuration changed") && text.contains("-migrate-state"), "{text}");
    project.run("init -migrate-state -force-copy").success();
    let other: Value = serde_json::from_slice(&server.state("/other").unwrap()).unwrap();
    assert_eq!(other, local);
    // The state is migrated back to a local file.
    fs::remove_file(project.path("backend.tf")).unwrap();
    project.run("init -migrate-state -force-copy").success();
    assert_eq!(project.state(), local);
    project.run("plan -detailed-exitcode").success();
    // -reconfigure uses the state at the new location as it is.
    server.set_state("/state", "");
    fs::remove_file(project.path("terraform.tfstate")).unwrap();
    project.write("backend.tf", server.block("/state"));
    project.run("init -reconfigure").success();
    project.run("plan -detailed-exitcode").ended_with(2);
}

#[test]
fn partial_configuration_is_completed_by_options() {
    let server = StateServer::start();
    let backend = "terraform {\n  backend \"http\" {\n    retry_max = 0\n  }\n}\n";
    let project = Project::new(&[("main.tf", MAIN), ("backend.tf", backend)]);
    let seen = project.run("init").ended_with(1);
    assert!(unwrapped(&seen.errors).contains("requires the argument \"address\""), "{}", seen.errors);
    let address = server.url("/state");
    project.write("backend.hcl", format!("lock_address = \"{address}\"\nunlock_address = \"{address}\"\n"));
    project.run(&format!("init -backend-config=backend.hcl -backend-config=address={address}")).success();
    project.run("apply -auto-approve").success();
    assert!(server.methods().contains(&"LOCK".to_owned()));
    project.run("init").success();
    let text = unwrapped(&project.run("init -backend-config=adress=x").ended_with(1).errors);
    assert!(text.contains("Did you mean \"address\"?"), "{text}");
    let text = unwrapped(&project.run("workspace new dev").ended_with(1).errors);
    assert!(text.contains("Workspaces not supported"), "{text}");
}

#[test]
fn remote_state_data_source_reads_other_backends() {
    let server = StateServer::start();
    project(&server, MAIN).run("apply -auto-approve").success();
    let main = format!(
        "data \"terraform_remote_state\" \"other\" {{\n  backend = \"http\"\n  config = {{\n    address = \"{}\"\n  }}\n}}\n\
         output \"o\" {{\n  value = data.terraform_remote_state.other.outputs.o\n}}\n",
        server.url("/state")
    );
    let reader = Project::new(&[("main.tf", &main)]);
    reader.run("apply -auto-approve").success();
    assert_eq!(reader.run("output -raw o").success().out, "1");
    reader.write("main.tf", main.replace("/state", "/missing"));
    let text = unwrapped(&reader.run("plan").ended_with(1).errors);
    assert!(text.contains("Unable to find remote state"), "{text}");
}

#[test]
fn untrusted_configuration_opens_no_backend() {
    let server = StateServer::start();
    server.set_state("/state", "{}");
    let other = format!(
        "data \"terraform_remote_state\" \"other\" {{\n  backend = \"http\"\n  config = {{\n    address = \"{}\"\n  }}\n}}\n",
        server.url("/state")
    );
    let project = Project::new(&[("main.tf", MAIN), ("backend.tf", &server.block("/state"))]);
    project.run("init -untrusted").success();
    let count = server.requests().len();
    assert_eq!(count, 0);
    let seen = project.run("plan -untrusted").success();
    let text = unwrapped(&seen.text());
    assert!(text.contains("State not read") && text.contains("terraform_data.a will be created"), "{text}");
    project.write("main.tf", other);
    let text = unwrapped(&project.run("plan -untrusted").ended_with(1).errors);
    assert!(text.contains("Backend not permitted"), "{text}");
    assert_eq!(server.requests().len(), count);
}

#[test]
fn wardian_and_terraform_take_turns() {
    let Some(terraform) = terraform() else { return };
    let server = StateServer::start();
    let project = project(&server, MAIN);
    project.run("apply -auto-approve").success();
    let ask = |arguments: &[&str]| terraform.ask(&project.path(""), arguments);
    ask(&["init", "-input=false"]);
    ask(&["plan", "-detailed-exitcode", "-input=false"]);
    ask(&["apply", "-auto-approve", "-input=false", "-var", "v=2"]);
    project.run("plan -detailed-exitcode -var v=2").success();
    assert_eq!(project.run("output -raw o").success().out, "2");
    // Terraform respects Wardian's lock, and Wardian respects Terraform's lock.
    server.set_lock("/state", Some(LOCK));
    let output = terraform.command(&project, "plan -input=false -no-color").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("Error acquiring the state lock"));
    server.set_lock("/state", None);
    project.write("main.tf", WAITING);
    let mut apply: std::process::Child = terraform
        .command(&project, "apply -auto-approve -input=false")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for("LOCK", 6);
    let text = unwrapped(&project.run("plan").ended_with(1).errors);
    assert!(text.contains("Error acquiring the state lock") && text.contains("OperationTypeApply"), "{text}");
    project.write("finish", "");
    assert!(apply.wait().unwrap().success());
    project.run("plan -detailed-exitcode").success();
}

/// Wardian's record of the backend is accepted by Terraform without `init`, and the reverse.
#[test]
fn record_of_the_backend_is_terraforms() {
    let Some(terraform) = terraform() else { return };
    let server = StateServer::start();
    let record = |project: &Project| -> Value {
        serde_json::from_str(&project.read(".terraform/terraform.tfstate")).unwrap()
    };
    let ours = project(&server, MAIN);
    let theirs = Project::new(&[("main.tf", MAIN), ("backend.tf", &server.block("/state"))]);
    terraform.ask(&theirs.path(""), &["init", "-input=false"]);
    assert_eq!(record(&ours), record(&theirs));
    let mut plan: Command = terraform.command(&ours, "plan -input=false -no-color");
    assert!(plan.output().unwrap().status.success());
    theirs.run("init").success();
    theirs.run("plan").success();
}
