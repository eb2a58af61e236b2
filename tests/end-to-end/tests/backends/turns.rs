//! Wardian and Terraform use one state in turn, under one lock.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use wardian_end_to_end::{Project, terraform};

use crate::servers::{VARIABLES, all_backends, backends, run};

const LIMIT: Duration = Duration::from_mins(2);

const MAIN: &str = "variable \"v\" {\n  default = \"1\"\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\noutput \"o\" {\n  \
                    value = terraform_data.a.output\n}\n";

/// An apply that waits until the file `finish` exists.
const WAITING: &str = "resource \"terraform_data\" \"first\" {}\nresource \"terraform_data\" \"second\" {\n  depends_on = \
                       [terraform_data.first]\n  provisioner \"local-exec\" {\n    command = \"touch started; for i in $(seq \
                       600); do test -e finish && exit 0; sleep 0.1; done; exit 1\"\n  }\n}\n";

fn wait_for_file(project: &Project, name: &str) {
    let deadline = Instant::now() + LIMIT;
    while !project.has(name) {
        assert!(Instant::now() < deadline, "{name} was not created");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Runs Terraform, and returns its exit code and its output.
fn ask(project: &Project, line: &str) -> (Option<i32>, String) {
    let mut command = terraform().unwrap().command(project, line);
    let output = command.envs(VARIABLES.iter().copied()).stdin(Stdio::null()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[track_caller]
fn ask_successfully(project: &Project, line: &str) -> String {
    let (code, text) = ask(project, line);
    assert_eq!(code, Some(0), "terraform {line}:\n{text}");
    text
}

#[test]
fn both_programs_change_one_state() {
    if terraform().is_none() {
        return;
    }
    for backend in backends() {
        println!("{}", backend.name);
        let project = Project::new(&[("main.tf", MAIN), ("backend.tf", &backend.block)]);
        run(&project, "init");
        run(&project, "apply -auto-approve");
        // Terraform accepts Wardian's record of the backend.
        ask_successfully(&project, "plan -detailed-exitcode -input=false -no-color");
        ask_successfully(&project, "apply -auto-approve -input=false -no-color -var v=2");
        run(&project, "plan -detailed-exitcode -var v=2");
        assert_eq!(run(&project, "output -raw o"), "2");
        run(&project, "apply -auto-approve -var v=3");
        assert_eq!(ask_successfully(&project, "output -raw o"), "3");
        let (ours, theirs) = (run(&project, "state pull"), ask_successfully(&project, "state pull"));
        assert_eq!(ours.trim_end(), project.filtered(theirs.trim_end()), "{}", backend.name);
    }
}

#[test]
fn both_programs_list_the_same_workspaces() {
    if terraform().is_none() {
        return;
    }
    for backend in backends().into_iter().filter(|backend| backend.has_workspaces) {
        println!("{}", backend.name);
        let project = Project::new(&[("main.tf", MAIN), ("backend.tf", &backend.block)]);
        run(&project, "init");
        run(&project, "workspace new ours");
        run(&project, "apply -auto-approve -var v=ours");
        ask_successfully(&project, "workspace new theirs");
        ask_successfully(&project, "apply -auto-approve -input=false -var v=theirs");
        for list in [run(&project, "workspace list"), ask_successfully(&project, "workspace list")] {
            // Terraform's order is arbitrary for some backends.
            let mut names: Vec<&str> = list.lines().map(|line| line.trim_start_matches(['*', ' '])).collect();
            names.sort_unstable();
            assert_eq!(names.join(" ").trim(), "default ours theirs", "{}", backend.name);
        }
        run(&project, "workspace select ours");
        assert_eq!(ask_successfully(&project, "output -raw o"), "ours");
        run(&project, "workspace select theirs");
        assert_eq!(run(&project, "output -raw o"), "theirs");
        run(&project, "workspace select default");
        run(&project, "workspace delete -force theirs");
        ask_successfully(&project, "workspace delete -force ours");
        assert_eq!(run(&project, "workspace list").trim(), "* default");
    }
}

#[test]
fn wardian_lock_excludes_terraform() {
    if terraform().is_none() {
        return;
    }
    for backend in backends() {
        println!("{}", backend.name);
        let project = Project::new(&[("main.tf", WAITING), ("backend.tf", &backend.block)]);
        run(&project, "init");
        let mut command = project.command("apply -auto-approve");
        let mut apply = command.envs(VARIABLES.iter().copied()).stdout(Stdio::null()).spawn().unwrap();
        wait_for_file(&project, "started");
        let (code, text) = ask(&project, "plan -input=false -no-color");
        // Terraform's backends "azurerm" and "gcs" create a state that does not exist yet, under the lock.
        let texts = ["Error acquiring the state lock", "error loading state: "];
        let is_excluded = texts.iter().any(|expected| text.contains(expected)) && text.contains("Lock Info:");
        assert!(code == Some(1) && is_excluded, "{}: {text}", backend.name);
        project.write("finish", "");
        assert!(apply.wait().unwrap().success(), "{}", backend.name);
        ask_successfully(&project, "plan -detailed-exitcode -input=false -no-color");
    }
}

#[test]
fn lock_of_terraform_excludes_wardian() {
    let Some(terraform) = terraform() else { return };
    for backend in backends() {
        println!("{}", backend.name);
        let project = Project::new(&[("main.tf", WAITING), ("backend.tf", &backend.block)]);
        ask_successfully(&project, "init -input=false");
        let mut command: Command = terraform.command(&project, "apply -auto-approve -input=false");
        let mut apply = command.envs(VARIABLES.iter().copied()).stdout(Stdio::null()).spawn().unwrap();
        wait_for_file(&project, "started");
        let seen = project.run_with("plan", "", &VARIABLES).ended_with(1);
        assert!(seen.errors.contains("Error acquiring the state lock"), "{}: {}", backend.name, seen.errors);
        project.write("finish", "");
        assert!(apply.wait().unwrap().success(), "{}", backend.name);
        run(&project, "plan -detailed-exitcode");
    }
}

/// An apply is killed; the changes are in the journal, and the next apply continues.
#[test]
fn killed_apply_is_continued() {
    for backend in all_backends() {
        println!("{}", backend.name);
        let project = Project::new(&[("main.tf", WAITING), ("backend.tf", &backend.block)]);
        run(&project, "init");
        let mut command = project.command("apply -auto-approve");
        let mut apply = command.envs(VARIABLES.iter().copied()).stdout(Stdio::null()).spawn().unwrap();
        wait_for_file(&project, "started");
        apply.kill().unwrap();
        apply.wait().unwrap();
        if backend.lock_remains {
            let mut plan = project.command("plan");
            let errors = plan.envs(VARIABLES.iter().copied()).output().unwrap().stderr;
            let errors = String::from_utf8_lossy(&errors).into_owned();
            let words: Vec<&str> = errors.split_whitespace().collect();
            let position = words.iter().position(|word| *word == "ID:").unwrap();
            run(&project, &format!("force-unlock -force {}", words[position + 1]));
        }
        project.write("finish", "");
        let out = run(&project, "apply -auto-approve -lock-timeout=60s");
        assert!(out.contains("1 added"), "{}: {out}", backend.name);
        assert_eq!(run(&project, "state list"), "terraform_data.first\nterraform_data.second\n");
    }
}
