use std::io;

use wardian_sdk::provisioner::testing::{MachineOperation, ProvisionerHarness};

use super::*;

const SCRIPT: &str = "/tmp/script";

fn machine() -> ProvisionerHarness {
    ProvisionerHarness::new().with_machine(Platform::Unix)
}

fn ran(command: &str) -> MachineOperation {
    MachineOperation::Run(command.to_owned())
}

fn wrote(content: &str) -> MachineOperation {
    MachineOperation::Upload { path: SCRIPT.into(), content: content.into(), mode: Some(0o700) }
}

fn failure(harness: &mut ProvisionerHarness, config: &str) -> String {
    let found = harness.provision(RemoteExec, config).unwrap_err();
    let one = found.iter().next().unwrap();
    format!("{}: {}", one.summary, one.detail)
}

fn operations(harness: ProvisionerHarness) -> Vec<MachineOperation> {
    harness.machine.unwrap().operations
}

#[test]
fn exactly_one_argument_is_required() {
    let found = |config: &str| ProvisionerHarness::validate(RemoteExec, config).iter().count();
    assert_eq!(found("{}"), 1);
    assert_eq!(found(r#"{ "inline": ["a"], "script": "b" }"#), 1);
    for fine in [r#"{ "inline": [] }"#, r#"{ "script": "" }"#, r#"{ "scripts": [null] }"#] {
        assert_eq!(found(fine), 0, "{fine}");
    }
}

#[test]
fn inline_runs_as_one_script_and_is_removed() {
    let mut harness = machine()
        .with_machine_result(Ok(("", 0)))
        .with_machine_result(Ok(("", 0)))
        .with_machine_result(Ok(("", 0)))
        .with_machine_result(Ok(("a\nb", 0)));
    harness.provision(RemoteExec, r#"{ "inline": ["echo a", "echo b"] }"#).unwrap();
    assert_eq!(harness.shown, ["a", "b"]);
    let expected = [
        MachineOperation::Connect(ConnectionOutput::Shown),
        wrote("#!/bin/sh\necho a\necho b\n"),
        ran("chmod 0700 /tmp/script"),
        ran(SCRIPT),
        ran("rm -f /tmp/script"),
    ];
    assert_eq!(operations(harness), expected);
}

#[test]
fn failed_script_is_removed() {
    let mut harness = machine()
        .with_machine_result(Ok(("", 0)))
        .with_machine_result(Ok(("", 0)))
        .with_machine_result(Ok(("", 0)))
        .with_machine_result(Ok(("", 3)));
    let text = failure(&mut harness, r#"{ "inline": ["exit 3"] }"#);
    assert!(text.starts_with(SUMMARY) && text.ends_with("failed with exit status 3."), "{text}");
    assert_eq!(operations(harness).last(), Some(&ran("rm -f /tmp/script")));
}

#[test]
fn windows_script_has_no_mode_or_shebang() {
    let mut harness = ProvisionerHarness::new().with_machine(Platform::Windows);
    harness.provision(RemoteExec, r#"{ "inline": ["dir"] }"#).unwrap();
    assert_eq!(
        operations(harness),
        [
            MachineOperation::Connect(ConnectionOutput::Shown),
            wrote("dir\n"),
            ran(SCRIPT),
            ran("del /q \\tmp\\script")
        ]
    );
}

#[test]
fn invalid_scripts_fail_before_connecting() {
    for (config, part) in [
        (r#"{ "inline": [null] }"#, "the \"inline\" argument contains null"),
        (r#"{ "inline": ["a", ""] }"#, "the \"inline\" argument contains an empty string"),
        (r#"{ "inline": [] }"#, "the \"inline\" list is empty"),
        (r#"{ "script": "" }"#, "the \"script\" argument contains an empty string"),
        (r#"{ "scripts": ["/srv/nope.sh"] }"#, "does not exist"),
        ("{}", "are null"),
    ] {
        let mut harness = machine();
        let text = failure(&mut harness, config);
        assert!(text.contains(part), "{config}: {text}");
        assert!(operations(harness).is_empty(), "{config}");
    }
    let text = failure(&mut ProvisionerHarness::new(), r#"{ "inline": ["a"] }"#);
    assert!(text.contains("no connection block"), "{text}");
}

#[test]
fn machine_errors_are_reported() {
    let mut denied = machine().with_machine_result(Err(RemoteError::Denied("no rule allows it".into())));
    let text = failure(&mut denied, r#"{ "inline": ["a"] }"#);
    assert!(text.ends_with("Policy does not allow this connection: no rule allows it."), "{text}");
    let mut no_mode = machine()
        .with_machine_result(Ok(("", 0)))
        .with_machine_result(Ok(("", 0)))
        .with_machine_result(Ok(("not permitted\n", 1)));
    let text = failure(&mut no_mode, r#"{ "inline": ["a"] }"#);
    assert!(text.contains("cannot be made executable") && text.contains("not permitted"), "{text}");
}

#[test]
fn scripts_are_read_in_order() {
    let read =
        |path: &std::path::Path| -> io::Result<Vec<u8>> { Ok(path.to_string_lossy().into_owned().into()) };
    let config = Config { scripts: Some(vec![Some("/a".into()), Some("/b".into())]), ..Config::default() };
    let expected = Scripts::Files(vec![("/a".into(), b"/a".to_vec()), ("/b".into(), b"/b".to_vec())]);
    assert_eq!(collect(config, &read), Ok(expected));
}

#[test]
fn path_is_quoted_as_one_word() {
    assert_eq!(word("/tmp/a b'c", Platform::Unix), r"'/tmp/a b'\''c'");
    assert_eq!(word("C:/a b.cmd", Platform::Windows), "\"C:/a b.cmd\"");
    assert_eq!(word("C:/a.cmd", Platform::Windows), "C:/a.cmd");
}
