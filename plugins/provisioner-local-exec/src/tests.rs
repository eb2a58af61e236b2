use wardian_sdk::provisioner::ExitStatus;
use wardian_sdk::provisioner::testing::ProvisionerHarness;

use super::*;

fn failed(harness: ProvisionerHarness, config: &str) -> String {
    let mut harness = harness;
    let found = harness.provision(LocalExec, config).unwrap_err();
    let one = found.iter().next().unwrap();
    format!("{}: {}", one.summary, one.detail)
}

#[test]
fn command_runs_in_shell_and_shows_output() {
    let mut harness = ProvisionerHarness::new().with_program("one\n  two\n", 0);
    harness.provision(LocalExec, r#"{ "command": "echo \"a\"\n\techo b" }"#).unwrap();
    assert_eq!(harness.shown, [r#"Executing: ["/bin/sh" "-c" "echo \"a\"\n\techo b"]"#, "one", "  two"]);
    let started = &harness.started[0];
    assert_eq!((&*started.program, started.directory.as_deref()), ("/bin/sh", None));
    assert_eq!(started.arguments, ["-c", "echo \"a\"\n\techo b"]);
}

#[test]
fn command_uses_all_arguments() {
    let mut harness = ProvisionerHarness::new().with_program("", 0);
    let config = r#"{
        "command": "print(1)", "interpreter": ["python3", null, "-c"], "working_dir": "sub", "quiet": true,
        "environment": { "A": "1", "B": null }
    }"#;
    harness.provision(LocalExec, config).unwrap();
    let started = &harness.started[0];
    assert_eq!(started.program, "python3");
    assert_eq!(started.arguments, ["-c", "print(1)"]);
    assert_eq!(started.directory.as_deref(), Some("sub"));
    assert_eq!(started.environment, [("A".to_owned(), "1".to_owned())]);
    assert_eq!(harness.shown, ["Executing: (not shown, as quiet is set)"]);
    let mut harness = ProvisionerHarness::new().with_program("", 0);
    harness.provision(LocalExec, r#"{ "command": "x", "interpreter": [] }"#).unwrap();
    assert_eq!(harness.started[0].program, "/bin/sh");
}

#[test]
fn failure_reports_status_and_output() {
    let text = failed(ProvisionerHarness::new().with_program("out\n", 3), r#"{ "command": "false" }"#);
    assert_eq!(
        text,
        "local-exec provisioner error: The command 'false' failed with exit status 3. Output: out\n"
    );
    let killed = ProvisionerHarness::new().with_program_status("", ExitStatus::Signal(9));
    assert!(failed(killed, r#"{ "command": "x" }"#).contains("signal 9"));
    let long = "x".repeat(100_000);
    assert!(failed(ProvisionerHarness::new().with_program(&long, 1), r#"{ "command": "x" }"#).len() < 9_000);
}

#[test]
fn spawn_errors_are_reported() {
    let denied =
        ProvisionerHarness::new().with_spawn_error(SpawnError::Denied("no rule allows it".to_owned()));
    let text = failed(denied, r#"{ "command": "x" }"#);
    assert!(text.contains("Policy does not allow") && text.ends_with("no rule allows it."), "{text}");
    let absent = ProvisionerHarness::new()
        .with_spawn_error(SpawnError::NotFound("there is no program \"nope\"".to_owned()));
    assert!(failed(absent, r#"{ "command": "x" }"#).contains("there is no program"));
    for nothing in ["\"\"", "null"] {
        let text = failed(ProvisionerHarness::new(), &format!("{{ \"command\": {nothing} }}"));
        assert!(text.starts_with("Invalid local-exec provisioner command"), "{text}");
    }
}

#[test]
fn words_are_quoted_individually() {
    let words = ["a b", "\u{1}\u{7f}\u{7}", "\u{a0}\u{202e}\u{e0001}", "\u{e4}\u{1f600}"].map(str::to_owned);
    assert_eq!(
        Quoted(&words).to_string(),
        "[\"a b\" \"\\x01\\x7f\\a\" \"\\u00a0\\u202e\\U000e0001\" \"\u{e4}\u{1f600}\"]"
    );
}
