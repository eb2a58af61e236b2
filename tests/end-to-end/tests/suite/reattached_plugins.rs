//! Providers that are already running, as in a debugger: `TF_REATTACH_PROVIDERS`.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use wardian_end_to_end::{Project, assert_seen};

use crate::native_plugins::{CONFIGURATION, plugin};

const VARIABLE: &str = "TF_REATTACH_PROVIDERS";

/// The plugin, started as a debugger would start it.
struct Debugged {
    process: Child,
    /// The value of the variable that the plugin prints.
    text: String,
    _sockets: tempfile::TempDir,
}

impl Debugged {
    fn start() -> Option<Self> {
        let sockets = tempfile::tempdir().unwrap();
        let mut process = Command::new(plugin()?)
            .env("TF_PLUGIN_MAGIC_COOKIE", "a debugger's own")
            .env("PLUGIN_UNIX_SOCKET_DIR", sockets.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let text = format!(
            r#"{{"example.com/acme/fake":{{"Protocol":"grpc","ProtocolVersion":6,"Pid":{},"Test":true,"Addr":{{"Network":"unix","String":"{}/plugin1"}}}}}}"#,
            process.id(),
            sockets.path().display()
        );
        Some(Self { process, text, _sockets: sockets })
    }
}

impl Drop for Debugged {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn reattached_provider_is_used() {
    let Some(mut debugged) = Debugged::start() else { return };
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    let text = debugged.text.clone();
    let run = |line: &str| project.run_with(line, "", &[(VARIABLE, &text)]);
    let init = run("init").success();
    assert!(init.out.contains("- example.com/acme/fake is already running (process "), "{}", init.text());
    assert!(!project.has(".terraform.lock.hcl") && !project.has(".terraform/providers"));
    run("validate").success();
    let applied = run("apply -auto-approve").success();
    assert!(applied.out.contains("Apply complete! Resources: 1 added"), "{}", applied.text());
    assert!(run("plan").success().out.contains("No changes."));
    run("plan -destroy -out=plan").success();
    run("apply plan").success();
    assert_eq!(project.state()["resources"].as_array().map(Vec::len), Some(0));
    assert!(debugged.process.try_wait().unwrap().is_none(), "it is not ours to end");
    assert!(project.run("plan").ended_with(1).errors.contains("not in the lock file"));
}

#[test]
fn lock_entry_for_reattached_provider_is_preserved() {
    let Some(debugged) = Debugged::start() else { return };
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    let lock = "provider \"example.com/acme/fake\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",\n  ]\n}\n";
    project.write(".terraform.lock.hcl", lock);
    project.run_with("init", "", &[(VARIABLE, &debugged.text)]).success();
    assert_eq!(project.read(".terraform.lock.hcl"), lock);
    project.run_with("plan", "", &[(VARIABLE, &debugged.text)]).success();
}

#[test]
fn exited_reattached_provider_is_reported() {
    let Some(debugged) = Debugged::start() else { return };
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    let text = debugged.text.clone();
    drop(debugged);
    let refused = project.run_with("validate", "", &[(VARIABLE, &text)]).ended_with(1);
    assert!(refused.errors.replace("\n│ ", " ").contains("Is it still running?"), "{}", refused.text());
}

#[test]
fn invalid_reattach_variable_is_rejected() {
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    assert_seen!("reattach_syntax", project.run_with("validate", "", &[(VARIABLE, "{")]).ended_with(1));
    let member = r#"{"example.com/acme/fake":{"Addr":{"Network":"udp","String":"127.0.0.1:1"}}}"#;
    assert_seen!("reattach_network", project.run_with("init", "", &[(VARIABLE, member)]).ended_with(1));
}

#[test]
fn policy_denies_reattached_provider_like_any_native_plugin() {
    let Some(debugged) = Debugged::start() else { return };
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    project.write("wardian.policy.hcl", "plugin \"*\" {\n  native = \"deny\"\n}\n");
    let refused = project.run_with("validate", "", &[(VARIABLE, &debugged.text)]).ended_with(1);
    assert!(refused.errors.contains("Native plugin denied by policy"), "{}", refused.text());
}
