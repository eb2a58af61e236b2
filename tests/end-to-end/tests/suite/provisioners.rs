//! Provisioners: policies, interrupts, and killed runs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use wardian_end_to_end::Project;

const POLICY: &str = r#"otherwise = "defer"

plugin "terraform.io/builtin/local-exec" {
  deny process {
    program = "env"
    reason  = "prints secrets"
  }
  deny environment {
    names = ["SECRET_*"]
  }
}
"#;

fn resource(name: &str, provisioners: &[&str]) -> String {
    let mut text = format!("resource \"terraform_data\" \"{name}\" {{\n");
    for block in provisioners {
        for part in ["  provisioner \"local-exec\" {\n", block, "\n  }\n"] {
            text.push_str(part);
        }
    }
    text + "}\n"
}

fn status(project: &Project, name: &str) -> String {
    let state = project.state();
    let resources = state["resources"].as_array().cloned().unwrap_or_default();
    let found = resources.iter().find(|one| one["name"] == name);
    let Some(found) = found else { return "absent".to_owned() };
    found["instances"][0]["status"].as_str().unwrap_or("whole").to_owned()
}

#[test]
fn command_denied_by_policy_does_not_run_and_is_recorded() {
    let granted = resource("granted", &["command = \"echo ${1 + 1} [$SECRET_KEY] [$OTHER]\""]);
    let denied = resource("denied", &["command = \"never\"\ninterpreter = [\"env\"]"]);
    let project = Project::new(&[("main.tf", &(granted + &denied)), ("wardian.policy.hcl", POLICY)]);
    let variables = [("SECRET_KEY", "hush"), ("OTHER", "shown"), ("WARDIAN_AUDIT", "audit.log")];
    let seen = project.run_with("apply -auto-approve", "", &variables).ended_with(1).text();
    assert!(seen.contains("terraform_data.granted (local-exec): 2 [] [shown]"), "{seen}");
    assert!(seen.contains("Policy does not allow the command 'never'"), "{seen}");
    assert!(seen.contains("wardian.policy.hcl:4"), "{seen}");
    assert_eq!((&*status(&project, "granted"), &*status(&project, "denied")), ("whole", "tainted"));
    let log = project.read("audit.log");
    let lines: Vec<serde_json::Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |name: &str| {
        let resource = format!("terraform_data.{name}");
        let is_it = |line: &&serde_json::Value| {
            line["capability"] == "process" && line["resource"] == resource.as_str()
        };
        lines.iter().find(is_it).cloned().unwrap_or_default()
    };
    assert_eq!(
        (&of("granted")["decision"], &of("granted")["target"], &of("granted")["status"]),
        (&"allowed".into(), &"/bin/sh".into(), &0.into()),
        "{log}"
    );
    assert_eq!(
        (&of("denied")["decision"], &of("denied")["target"]),
        (&"denied".into(), &"env".into()),
        "{log}"
    );
}

#[test]
fn interrupt_ends_the_command_and_taints_the_object() {
    let project = Project::new(&[(
        "main.tf",
        &resource("a", &["command = \"echo begun; exec sleep 300\"", "command = \"true\""]),
    )]);
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("(local-exec): begun");
    apply.interrupt();
    let (code, seen) = apply.finish(Duration::from_mins(1));
    assert_eq!(code.code(), Some(1), "{seen}");
    assert!(seen.contains("local-exec provisioner error"), "{seen}");
    assert_eq!(status(&project, "a"), "tainted", "{seen}");
}

#[test]
fn killed_run_leaves_tainted_object_and_no_process() {
    let command = "command = \"echo $$ > pid; echo begun; exec sleep 300\"";
    let project = Project::new(&[("main.tf", &resource("a", &[command]))]);
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("(local-exec): begun");
    apply.kill();
    let pid = project.read("pid").trim().to_owned();
    let is_gone = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !is_asleep(&pid)
    });
    assert!(is_gone, "the command outlived the run");
    project.write("main.tf", resource("a", &["command = \"true\""]));
    let plan = project.run("plan").success().text();
    assert!(plan.contains("terraform_data.a is tainted"), "{plan}");
    project.run("apply -auto-approve").success();
    assert_eq!(status(&project, "a"), "whole");
}

/// Returns whether the process still runs `sleep`, since its ID may have been reused.
fn is_asleep(pid: &str) -> bool {
    let command = fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
    command.starts_with(b"sleep")
}

#[test]
fn large_output_is_streamed_and_daemons_do_not_block() {
    let flood = "command = \"head -c 20000000 /dev/zero | tr '\\\\0' x | fold -w 100000; echo; echo over\"";
    let daemon = "command = \"sleep 60 & echo started\"";
    let project = Project::new(&[("main.tf", &resource("a", &[flood, daemon]))]);
    let started = std::time::Instant::now();
    let seen = project.run("apply -auto-approve").success().text();
    assert!(seen.contains("(local-exec): over") && seen.contains("(local-exec): started"));
    assert!(started.elapsed() < Duration::from_secs(50));
}
