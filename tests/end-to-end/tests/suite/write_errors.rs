//! Files that cannot be written during an apply. No object may be lost, and the messages must be
//! helpful. A limit on the file size simulates a full disk; a removed directory simulates a
//! directory without write permission (tests may run as root).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use wardian_end_to_end::{Project, binary};

const MANY: &str = "variable \"v\" {\n  type    = number\n  default = 1\n}\nresource \"terraform_data\" \"a\" {\n  count = 60\n  input = \"${var.v} \
                    ${join(\"\", [for n in range(400) : \"x\"])}\"\n}\noutput \"o\" {\n  value = var.v\n}\n";

fn objects(state: &str) -> Vec<String> {
    let state: Value = serde_json::from_str(state).unwrap_or_default();
    let instances = state["resources"][0]["instances"].as_array().cloned().unwrap_or_default();
    instances.iter().map(|instance| instance["attributes"]["id"].as_str().unwrap().to_owned()).collect()
}

/// Runs a command with a limit on the file size, in blocks of 512 bytes.
fn run_limited(project: &Project, blocks: u32, line: &str) -> (Option<i32>, String, String) {
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec {} {line}", binary().display()))
        .current_dir(project.path(""))
        .env("HOME", project.path("home"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Joins wrapped lines.
fn unwrapped(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c == '│')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the state that was printed as JSON because no file could be written.
fn printed_state(out: &str) -> &str {
    let start = out.find("\n{\n  \"version\": 4,").unwrap_or_else(|| panic!("no state in:\n{out}")) + 1;
    let end = out[start..].find("\n}\n").unwrap() + start + 3;
    &out[start..end]
}

#[test]
fn full_disk_during_changes_loses_no_object() {
    let project = Project::new(&[("main.tf", MANY)]);
    let (code, out, errors) = run_limited(&project, 40, "apply -auto-approve");
    assert_eq!(code, Some(1), "{out}{errors}");
    assert!(errors.contains("State not saved"), "{errors}");
    assert!(unwrapped(&errors).contains("wardian state push FILE"), "{errors}");
    // The printed state contains every created object.
    let made = out.matches("Creation complete").count();
    let printed = objects(printed_state(&out));
    assert!(printed.len() >= made && made > 0, "{made} made, {} printed", printed.len());
    project.write("kept.tfstate", printed_state(&out));
    project.run("state push kept.tfstate").success();
    assert_eq!(objects(&project.read("terraform.tfstate")), printed);
    project.run("apply -auto-approve").success();
    let after = objects(&project.read("terraform.tfstate"));
    assert_eq!(after.len(), 60);
    assert!(printed.iter().all(|id| after.contains(id)), "an object was created twice");
    project.run("plan -detailed-exitcode").success();
}

#[test]
fn full_disk_while_writing_the_state_preserves_changes() {
    let project = Project::new(&[("main.tf", MANY)]);
    project.run("apply -auto-approve").success();
    let before = project.read("terraform.tfstate");
    // The journal has enough space for the changes, but not for the complete state afterwards.
    let journal = before.len() / 512 + 30;
    let (code, out, errors) =
        run_limited(&project, u32::try_from(journal).unwrap(), "apply -auto-approve -var v=2 -backup=-");
    assert_eq!(code, Some(1), "{out}{errors}");
    assert_eq!(project.read("terraform.tfstate"), before, "the state is whole");
    // The changes in the journal are recovered, so all objects are recorded.
    project.run("apply -auto-approve -var v=2").success();
    let state = project.state();
    assert_eq!(objects(&project.read("terraform.tfstate")), objects(&before));
    let inputs = state["resources"][0]["instances"].as_array().unwrap();
    assert!(inputs.iter().all(|i| i["attributes"]["input"]["value"].as_str().unwrap().starts_with("2 ")));
    assert_eq!(state["outputs"]["o"]["value"], 2);
}

#[test]
fn removed_state_directory_leaves_an_errored_state() {
    let backend = "terraform {\n  backend \"local\" {\n    path = \"states/here.tfstate\"\n  }\n}\n";
    let main =
        "resource \"time_sleep\" \"a\" {\n  create_duration = \"4s\"\n}\noutput \"o\" {\n  value = 1\n}\n";
    let project = Project::new(&[("main.tf", main), ("backend.tf", backend)]);
    project.run("init").success();
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("Creating...");
    fs::rename(project.path("states"), project.path("moved")).unwrap();
    project.write("states", "in the way");
    let (status, seen) = apply.finish(Duration::from_mins(1));
    assert_eq!(status.code(), Some(1), "{seen}");
    assert!(unwrapped(&seen).contains("wardian state push errored.tfstate"), "{seen}");
    fs::remove_file(project.path("states")).unwrap();
    project.run("state push errored.tfstate").success();
    assert_eq!(project.run("state list").success().out, "time_sleep.a\n");
    assert_eq!(project.run("output o").success().out, "1\n");
    project.run("plan -detailed-exitcode").success();
}

#[test]
fn unwritable_backup_leaves_an_errored_state() {
    let project = Project::new(&[(
        "main.tf",
        "variable \"v\" {\n  type    = number\n  default = 1\n}\noutput \"o\" {\n  value = var.v\n}\n",
    )]);
    project.run("apply -auto-approve").success();
    let before = project.read("terraform.tfstate");
    let seen = project.run("apply -auto-approve -var v=2 -backup=none/kept").ended_with(1);
    assert!(unwrapped(&seen.errors).contains("wardian state push errored.tfstate"), "{}", seen.text());
    assert_eq!(project.read("terraform.tfstate"), before);
    project.run("state push errored.tfstate").success();
    assert_eq!(project.run("output o").success().out, "2\n");
    // After the repair, an older state is rejected.
    project.write("old.tfstate", &before);
    let seen = project.run("state push old.tfstate").ended_with(1);
    assert!(seen.errors.contains("Failed to write state"), "{}", seen.text());
}

#[test]
fn state_commands_change_nothing_if_writing_fails() {
    let project = Project::new(&[("main.tf", MANY)]);
    project.run("apply -auto-approve").success();
    let before = project.read("terraform.tfstate");
    for line in [
        "state mv terraform_data.a terraform_data.b",
        "state rm terraform_data.a[0]",
        "taint terraform_data.a[0]",
    ] {
        let (code, out, errors) = run_limited(&project, 20, line);
        assert_eq!(code, Some(1), "{line}: {out}{errors}");
        assert_eq!(project.read("terraform.tfstate"), before, "{line}");
    }
    project.run("plan -detailed-exitcode").success();
    assert_eq!(objects(&project.read("terraform.tfstate")), objects(&before));
}
