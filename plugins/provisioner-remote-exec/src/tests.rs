use std::io;

use wardian_sdk::provisioner::testing::{Done, Rehearsal};

use super::*;

const SCRIPT: &str = "/tmp/script";

fn machine() -> Rehearsal {
    Rehearsal::new().with_machine(Platform::Unix)
}

fn ran(command: &str) -> Done {
    Done::Ran(command.to_owned())
}

fn wrote(content: &str) -> Done {
    Done::Wrote { path: SCRIPT.into(), content: content.into(), mode: Some(0o700) }
}

fn failure(rehearsal: &mut Rehearsal, config: &str) -> String {
    let found = rehearsal.provision(RemoteExec, config).unwrap_err();
    let one = found.iter().next().unwrap();
    format!("{}: {}", one.summary, one.detail)
}

fn done(rehearsal: Rehearsal) -> Vec<Done> {
    rehearsal.machine.unwrap().done
}

#[test]
fn one_argument_is_set() {
    let found = |config: &str| Rehearsal::validate(RemoteExec, config).iter().count();
    assert_eq!(found("{}"), 1);
    assert_eq!(found(r#"{ "inline": ["a"], "script": "b" }"#), 1);
    for fine in [r#"{ "inline": [] }"#, r#"{ "script": "" }"#, r#"{ "scripts": [null] }"#] {
        assert_eq!(found(fine), 0, "{fine}");
    }
}

#[test]
fn lines_are_one_script_that_is_removed() {
    let mut rehearsal =
        machine().there(Ok(("", 0))).there(Ok(("", 0))).there(Ok(("", 0))).there(Ok(("a\nb", 0)));
    rehearsal.provision(RemoteExec, r#"{ "inline": ["echo a", "echo b"] }"#).unwrap();
    assert_eq!(rehearsal.shown, ["a", "b"]);
    let expected = [
        Done::Connected(Telling::Shown),
        wrote("#!/bin/sh\necho a\necho b\n"),
        ran("chmod 0700 /tmp/script"),
        ran(SCRIPT),
        ran("rm -f /tmp/script"),
    ];
    assert_eq!(done(rehearsal), expected);
}

#[test]
fn a_script_that_fails_is_removed_as_well() {
    let mut rehearsal = machine().there(Ok(("", 0))).there(Ok(("", 0))).there(Ok(("", 0))).there(Ok(("", 3)));
    let text = failure(&mut rehearsal, r#"{ "inline": ["exit 3"] }"#);
    assert!(text.starts_with(SUMMARY) && text.ends_with("ended with exit status 3."), "{text}");
    assert_eq!(done(rehearsal).last(), Some(&ran("rm -f /tmp/script")));
}

#[test]
fn windows_has_no_modes_and_no_shebang() {
    let mut rehearsal = Rehearsal::new().with_machine(Platform::Windows);
    rehearsal.provision(RemoteExec, r#"{ "inline": ["dir"] }"#).unwrap();
    assert_eq!(
        done(rehearsal),
        [Done::Connected(Telling::Shown), wrote("dir\n"), ran(SCRIPT), ran("del /q \\tmp\\script")]
    );
}

#[test]
fn what_cannot_be_run_is_told_before_anything_is_done() {
    for (config, part) in [
        (r#"{ "inline": [null] }"#, "null in the argument inline"),
        (r#"{ "inline": ["a", ""] }"#, "empty text in the argument inline"),
        (r#"{ "inline": [] }"#, "inline is empty"),
        (r#"{ "script": "" }"#, "empty text in the argument script"),
        (r#"{ "scripts": ["/srv/nope.sh"] }"#, "there is no script"),
        ("{}", "are null"),
    ] {
        let mut rehearsal = machine();
        let text = failure(&mut rehearsal, config);
        assert!(text.contains(part), "{config}: {text}");
        assert!(done(rehearsal).is_empty(), "{config}");
    }
    let text = failure(&mut Rehearsal::new(), r#"{ "inline": ["a"] }"#);
    assert!(text.contains("no connection block"), "{text}");
}

#[test]
fn what_fails_there_is_told() {
    let mut denied = machine().there(Err(RemoteError::Denied("no rule allows it".into())));
    let text = failure(&mut denied, r#"{ "inline": ["a"] }"#);
    assert!(text.ends_with("Policy does not let it run there: no rule allows it."), "{text}");
    let mut no_mode = machine().there(Ok(("", 0))).there(Ok(("", 0))).there(Ok(("not permitted\n", 1)));
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
fn a_path_is_one_word() {
    assert_eq!(word("/tmp/a b'c", Platform::Unix), r"'/tmp/a b'\''c'");
    assert_eq!(word("C:/a b.cmd", Platform::Windows), "\"C:/a b.cmd\"");
    assert_eq!(word("C:/a.cmd", Platform::Windows), "C:/a.cmd");
}
