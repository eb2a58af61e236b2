use wardian_sdk::provisioner::Ending;
use wardian_sdk::provisioner::testing::Rehearsal;

use super::*;

fn failed(rehearsal: Rehearsal, config: &str) -> String {
    let mut rehearsal = rehearsal;
    let found = rehearsal.provision(LocalExec, config).unwrap_err();
    let one = found.iter().next().unwrap();
    format!("{}: {}", one.summary, one.detail)
}

#[test]
fn a_command_is_run_by_a_shell_and_its_output_is_shown() {
    let mut rehearsal = Rehearsal::new().program("one\n  two\n", 0);
    rehearsal.provision(LocalExec, r#"{ "command": "echo \"a\"\n\techo b" }"#).unwrap();
    assert_eq!(rehearsal.shown, [r#"Executing: ["/bin/sh" "-c" "echo \"a\"\n\techo b"]"#, "one", "  two"]);
    let started = &rehearsal.started[0];
    assert_eq!((&*started.program, started.directory.as_deref()), ("/bin/sh", None));
    assert_eq!(started.arguments, ["-c", "echo \"a\"\n\techo b"]);
}

#[test]
fn all_arguments_are_honoured() {
    let mut rehearsal = Rehearsal::new().program("", 0);
    let config = r#"{
        "command": "print(1)", "interpreter": ["python3", null, "-c"], "working_dir": "sub", "quiet": true,
        "environment": { "A": "1", "B": null }
    }"#;
    rehearsal.provision(LocalExec, config).unwrap();
    let started = &rehearsal.started[0];
    assert_eq!(started.program, "python3");
    assert_eq!(started.arguments, ["-c", "print(1)"]);
    assert_eq!(started.directory.as_deref(), Some("sub"));
    assert_eq!(started.environment, [("A".to_owned(), "1".to_owned())]);
    assert_eq!(rehearsal.shown, ["Executing: (not shown, as quiet is set)"]);
    let mut rehearsal = Rehearsal::new().program("", 0);
    rehearsal.provision(LocalExec, r#"{ "command": "x", "interpreter": [] }"#).unwrap();
    assert_eq!(rehearsal.started[0].program, "/bin/sh");
}

#[test]
fn a_failure_says_how_and_with_which_output() {
    let text = failed(Rehearsal::new().program("out\n", 3), r#"{ "command": "false" }"#);
    assert_eq!(
        text,
        "local-exec provisioner error: The command 'false' failed with exit status 3. Output: out\n"
    );
    let killed = Rehearsal::new().program_that_ends("", Ending::Signal(9));
    assert!(failed(killed, r#"{ "command": "x" }"#).contains("signal 9"));
    let long = "x".repeat(100_000);
    assert!(failed(Rehearsal::new().program(&long, 1), r#"{ "command": "x" }"#).len() < 9_000);
}

#[test]
fn what_does_not_run_is_told() {
    let denied = Rehearsal::new().without_program(NotRun::Denied("no rule allows it".to_owned()));
    let text = failed(denied, r#"{ "command": "x" }"#);
    assert!(text.contains("Policy does not let") && text.ends_with("no rule allows it."), "{text}");
    let absent =
        Rehearsal::new().without_program(NotRun::NotFound("there is no program \"nope\"".to_owned()));
    assert!(failed(absent, r#"{ "command": "x" }"#).contains("there is no program"));
    for nothing in ["\"\"", "null"] {
        let text = failed(Rehearsal::new(), &format!("{{ \"command\": {nothing} }}"));
        assert!(text.starts_with("Invalid local-exec provisioner command"), "{text}");
    }
}

#[test]
fn words_are_quoted_so_that_each_can_be_told_from_its_neighbours() {
    let words = ["a b", "\u{1}\u{7f}\u{7}", "\u{a0}\u{202e}\u{e0001}", "\u{e4}\u{1f600}"].map(str::to_owned);
    assert_eq!(
        Quoted(&words).to_string(),
        "[\"a b\" \"\\x01\\x7f\\a\" \"\\u00a0\\u202e\\U000e0001\" \"\u{e4}\u{1f600}\"]"
    );
}
