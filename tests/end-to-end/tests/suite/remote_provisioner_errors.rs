//! Connection errors for provisioned machines. Each is a row of the error table in
//! `docs/provisioners.md`.

use std::fs;
use std::time::{Duration, Instant};

use wardian_end_to_end::Project;

use crate::sshd::Sshd;

fn resource(body: &str) -> String {
    format!("resource \"terraform_data\" \"a\" {{\n{body}\n}}\n")
}

fn status(project: &Project) -> String {
    let state = project.state();
    let instance = &state["resources"][0]["instances"][0];
    if instance.is_null() {
        return "absent".to_owned();
    }
    instance["status"].as_str().unwrap_or("whole").to_owned()
}

/// Joins wrapped lines.
fn flat(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// Runs `apply`, expects that it fails and taints the object, and returns the output.
fn failed(project: &Project) -> String {
    let seen = flat(&project.run("apply -auto-approve").ended_with(1).text());
    assert_eq!(status(project), "tainted", "{seen}");
    seen
}

/// Asserts that the output contains each text.
#[track_caller]
fn assert_contains(seen: &str, parts: &[&str]) {
    for part in parts {
        assert!(seen.contains(part), "{part:?} is not in:\n{seen}");
    }
}

fn settled(is_so: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_mins(1) {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Returns whether the process with this ID runs a program.
fn runs(pid: &str, program: &str) -> bool {
    let command = fs::read(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
    command.starts_with(program.as_bytes())
}

fn connection(lines: &str) -> String {
    format!("connection {{\nhost = \"127.0.0.1\"\nagent = false\n{lines}\n}}\n")
}

const INLINE: &str = "provisioner \"remote-exec\" {\ninline = [\"echo reached\"]\n}";

#[test]
fn unknown_key_or_password_is_reported() {
    let Some(sshd) = Sshd::start() else { return };
    let lines = "port = PORT\nprivate_key = file(\"keys/other\")\npassword = \"no\"\ntimeout = \"1s\"";
    let seen = failed(&sshd.project(&resource(&(connection(lines) + INLINE))));
    assert_contains(
        &seen,
        &["remote-exec provisioner error", "did not accept the user \"root\"", "tried the private key"],
    );
    assert!(!seen.contains("(remote-exec): reached"), "{seen}");
}

#[test]
fn changed_host_key_is_reported() {
    let Some(sshd) = Sshd::start() else { return };
    let lines = "port = PORT\nprivate_key = file(\"keys/id\")\nhost_key = file(\"keys/other.pub\")";
    let began = Instant::now();
    let seen = failed(&sshd.project(&resource(&(connection(lines) + INLINE))));
    assert_contains(&seen, &["host_key is", "no credential was sent to it"]);
    assert!(began.elapsed() < Duration::from_mins(1), "it is final, and not tried for five minutes");
    assert_eq!(sshd.logins(), 0);
}

#[test]
fn unreachable_machine_is_reported() {
    let Some(sshd) = Sshd::start() else { return };
    let lines = "port = 9\nprivate_key = file(\"keys/id\")\ntimeout = \"1s\"";
    let seen = failed(&sshd.project(&resource(&(connection(lines) + INLINE))));
    assert_contains(
        &seen,
        &["could not connect to 127.0.0.1:9 within 1 s", "refused", "`timeout` in the connection block"],
    );
}

#[test]
fn invalid_connection_block_is_reported() {
    let Some(sshd) = Sshd::start() else { return };
    let seen = failed(&sshd.project(&resource(&(connection("type = \"telnet\"") + INLINE))));
    assert_contains(
        &seen,
        &["the connection block cannot be used: type: \"telnet\" is not a connection type"],
    );
}

#[test]
fn missing_or_unreadable_source_is_reported() {
    let Some(sshd) = Sshd::start() else { return };
    let copy = |source: &str| {
        resource(&format!("KEY\nprovisioner \"file\" {{\nsource = \"{source}\"\ndestination = \"THERE\"\n}}"))
    };
    let seen = failed(&sshd.project(&copy("nope")));
    assert_contains(&seen, &["file provisioner error", "there is no file or directory", "nope"]);
    // Root can read every file, so a broken symbolic link is used as the unreadable file.
    let project = sshd.project(&copy("tree"));
    project.write("tree/a", "a");
    std::os::unix::fs::symlink("nowhere", project.path("tree/b")).unwrap();
    assert_contains(&failed(&project), &["there is no file or directory", "tree/b"]);
}

#[test]
fn missing_or_full_destination_is_reported() {
    let Some(sshd) = Sshd::with_little_room() else { return };
    let copy = |to: &str| {
        resource(&format!("KEY\nprovisioner \"file\" {{\nsource = \"large\"\ndestination = \"{to}\"\n}}"))
    };
    for (to, part) in [("PLACE/small/large", "No space left"), ("PLACE/nowhere/large", "did not write")] {
        let project = sshd.project(&copy(to));
        project.write("large", vec![7; 1 << 20]);
        assert_contains(&failed(&project), &["file provisioner error", part]);
    }
}

#[test]
fn connection_lost_during_a_command_is_reported() {
    let Some(sshd) = Sshd::start() else { return };
    let body = "KEY\nprovisioner \"remote-exec\" {\ninline = [\"echo $$ > THERE/pid; echo begun; exec sleep 300\"]\n}";
    let project = sshd.project(&resource(&sshd.filled(body)));
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("(remote-exec): begun");
    sshd.end_sessions();
    let (code, seen) = apply.finish(Duration::from_mins(2));
    assert_eq!((code.code(), &*status(&project)), (Some(1), "tainted"), "{seen}");
    assert_contains(
        &flat(&seen),
        &["was lost while a command was running; the command's exit status is unknown"],
    );
    let pid = fs::read_to_string(sshd.path("there/pid")).unwrap();
    assert!(settled(|| !runs(&pid, "sleep")), "the command is still running");
}

#[test]
fn connection_lost_during_a_copy_is_reported() {
    let Some(sshd) = Sshd::start() else { return };
    let body = "KEY\nprovisioner \"file\" {\nsource = \"large\"\ndestination = \"THERE/large\"\n}";
    let project = sshd.project(&resource(body));
    fs::File::create(project.path("large")).unwrap().set_len(8 << 30).unwrap();
    let apply = project.start("apply -auto-approve");
    let written = || fs::metadata(sshd.path("there/large")).as_ref().map_or(0, fs::Metadata::len);
    assert!(settled(|| written() > 1 << 20), "nothing comes");
    sshd.end_sessions();
    let (code, seen) = apply.finish(Duration::from_mins(2));
    assert_eq!((code.code(), &*status(&project)), (Some(1), "tainted"), "{seen}");
    assert_contains(&flat(&seen), &["file provisioner error", "was lost while files were being copied"]);
    assert!(written() < 8 << 30);
}

#[test]
fn interrupt_abandons_an_endless_command() {
    let Some(sshd) = Sshd::start() else { return };
    let body = "KEY\nprovisioner \"remote-exec\" {\ninline = [\"echo $$ > THERE/pid; echo begun; exec sleep 300\"]\n}";
    let project = sshd.project(&resource(body));
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("(remote-exec): begun");
    apply.interrupt();
    let (code, seen) = apply.finish(Duration::from_mins(1));
    assert_eq!((code.code(), &*status(&project)), (Some(1), "tainted"), "{seen}");
    assert_contains(&flat(&seen), &["remote-exec provisioner error", "the run is being stopped"]);
    let pid = fs::read_to_string(sshd.path("there/pid")).unwrap();
    assert!(settled(|| !runs(&pid, "sleep")), "the command is still running");
}

#[test]
fn binary_large_or_held_open_output_does_not_fail_the_run() {
    let Some(sshd) = Sshd::start() else { return };
    let body = r#"KEY
      provisioner "remote-exec" { inline = ["printf '\\000\\377\\033[2Jx\\n'"] }
      provisioner "remote-exec" { inline = ["head -c 100000000 /dev/zero | tr '\\0' x | fold -w 100000; echo; echo over"] }
      provisioner "remote-exec" { inline = ["sleep 77 & echo left"] }"#;
    let project = sshd.project(&resource(body));
    let began = Instant::now();
    let seen = project.run("apply -auto-approve").success().out;
    assert!(began.elapsed() < Duration::from_secs(70), "who holds the output holds nobody up");
    assert!(!seen.contains('\u{1b}') && seen.contains("\\u{1b}[2Jx"), "what steers a terminal reaches it");
    assert!(seen.contains("(remote-exec): over") && seen.contains("(remote-exec): left"));
    assert_eq!(status(&project), "whole");
}

#[test]
fn policy_denies_machine_or_file() {
    let Some(sshd) = Sshd::start() else { return };
    let body = "KEY\nprovisioner \"file\" {\nsource = \"secret/key\"\ndestination = \"THERE/key\"\non_failure = continue\n}\n\
                provisioner \"file\" {\ncontent = \"x\"\ndestination = \"THERE/x\"\n}\n"
        .to_owned()
        + INLINE;
    let project = sshd.project(&resource(&body));
    project.write("secret/key", "hush");
    let policy = r#"otherwise = "defer"
plugin "terraform.io/builtin/remote-exec" {
  deny communicator {
    hosts  = ["127.0.0.1"]
    reason = "not that one"
  }
}
plugin "terraform.io/builtin/file" {
  deny filesystem {
    directories = ["secret"]
  }
}
"#;
    project.write("wardian.policy.hcl", policy);
    let variables = [("WARDIAN_AUDIT", "audit.log")];
    let seen = flat(&project.run_with("apply -auto-approve", "", &variables).ended_with(1).text());
    // The connection is open, but the policy denies it to this provisioner.
    assert_contains(
        &seen,
        &["Policy does not allow this connection", "not that one", "wardian.policy.hcl:3"],
    );
    assert!(!seen.contains("(remote-exec): reached"), "{seen}");
    assert!(sshd.path("there/x").exists() && !sshd.path("there/key").exists());
    assert_eq!((sshd.logins(), &*status(&project)), (1, "tainted"));
    let log = project.read("audit.log");
    let is_recorded = |decision: &str, capability: &str, plugin: &str| {
        log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()).any(|line| {
            line["decision"] == decision
                && line["capability"] == capability
                && line["plugin"].as_str().is_some_and(|name| name.ends_with(plugin))
                && line["resource"] == "terraform_data.a"
        })
    };
    assert!(is_recorded("allowed", "communicator", "/file"), "{log}");
    assert!(is_recorded("denied", "communicator", "/remote-exec"), "{log}");
    assert!(is_recorded("denied", "filesystem", "/file"), "{log}");
}

#[test]
fn untrusted_configuration_reaches_no_machine() {
    let Some(sshd) = Sshd::start() else { return };
    let project = sshd.project(&resource(&("KEY\n".to_owned() + INLINE)));
    let seen = flat(&project.run("apply -auto-approve -untrusted").text());
    assert!(!seen.contains("(remote-exec): reached") && sshd.logins() == 0, "{seen}");
}

#[test]
fn twenty_commands_share_one_connection() {
    let Some(sshd) = Sshd::start() else { return };
    let body = format!("KEY\n{}", format!("{INLINE}\n").repeat(20));
    let project = sshd.project(&resource(&body));
    let seen = project.run("apply -auto-approve").success().out;
    assert_eq!(seen.matches("(remote-exec): reached").count(), 20, "{seen}");
    assert_eq!(sshd.logins(), 1, "{}", sshd.log());
    let left = fs::read_dir("/tmp").unwrap().flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        name.starts_with("terraform_") && text.contains("echo reached")
    });
    assert_eq!(left.count(), 0, "scripts are removed");
    assert!(settled(|| sshd.log().contains("Disconnected from") || sshd.log().contains("Connection closed")));
}
