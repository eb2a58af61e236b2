//! Crash reports. The command `crash` exists only in debug builds.

#![cfg(debug_assertions)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use wardian_end_to_end::{Project, Seen};

const MAIN: &str = "variable \"password\" {\n  default   = \"S3CRET\"\n  sensitive = true\n}\n\nresource \"random_id\" \
                    \"a\" {\n  byte_length = 4\n}\n";

/// Returns the report that a run wrote.
fn report(project: &Project, seen: &Seen) -> String {
    let files = std::fs::read_dir(project.path(".")).unwrap();
    let names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let reports: Vec<&String> = names.iter().filter(|name| name.starts_with("wardian-crash-")).collect();
    let [name] = reports[..] else { panic!("{names:?}") };
    assert!(seen.text().contains(name.as_str()), "the message names the file:\n{}", seen.text());
    project.read(name)
}

#[test]
fn command_panic_is_described_in_a_file() {
    let project = Project::new(&[("main.tf", MAIN)]);
    let seen = project.run("crash -text=S3CRET").ended_with(11);
    let report = report(&project, &seen);
    for expected in [
        "command: crash -text\n",
        "panicked at host/cli/src/commands/crash.rs",
        "root module: 1 random_id, 1 variable",
        "operation node=a test",
    ] {
        assert!(report.contains(expected), "{expected:?} is missing in:\n{report}");
    }
    assert!(!report.contains("S3CRET"), "{report}");
    assert!(seen.text().contains("Wardian crashed"), "{}", seen.text());
}

#[test]
fn task_panic_is_reported_with_its_message() {
    let project = Project::new(&[("main.tf", MAIN)]);
    let seen = project.run("crash -place=task").ended_with(11);
    assert!(report(&project, &seen).contains("requested by the command crash"));
}

#[test]
fn internal_error_is_reported_as_a_crash() {
    let project = Project::new(&[("main.tf", MAIN)]);
    let seen = project.run("crash -place=error").ended_with(11);
    assert!(seen.text().contains("Impossible state"), "{}", seen.text());
    assert!(report(&project, &seen).contains("crash:   error: Impossible state"));
}

#[test]
fn report_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("crash").ended_with(11);
    let files = std::fs::read_dir(project.path(".")).unwrap().map(Result::unwrap);
    let report =
        files.filter(|file| file.file_name().to_string_lossy().starts_with("wardian-crash-")).last().unwrap();
    assert_eq!(report.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
