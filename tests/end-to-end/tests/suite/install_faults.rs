//! Server faults and hostile archives: the messages that users see, and checks that nothing is
//! partially installed.
//!
//! Each case is one `init` with a server that has one fault. With `WARDIAN_RECORD=1`, the test
//! writes the output to `tests/installations/faults.md`; otherwise, the test compares the output
//! with this file. `WARDIAN_FAULTS=package/` selects the cases whose names contain `package/`, and
//! prints the output of each.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

#[path = "install_faults/cases.rs"]
mod cases;
#[path = "install_faults/table.rs"]
mod table;

use std::fs;
use std::path::Path;
use std::time::Duration;

use cases::{FaultCase, Subject, every_case};
use wardian_end_to_end::{Output, each};
use wardian_registry_server::{Origin, RecordedRequest, ServerDescription};

use crate::install_setup::{Installation, output_within};

/// The time limit of a command. The limit allows for several attempts that wait for a server that
/// does not respond.
const LIMIT: Duration = Duration::from_mins(5);
const MIN_CASES: usize = 100;
/// The beginnings of what users can do, of which each message contains one.
const REMEDIES: [&str; 17] = [
    "ask the",
    "log in",
    "choose another",
    "use one of",
    "run `wardian",
    "run the command",
    "check the",
    "check that",
    "check whether",
    "try again",
    "use another",
    "select another",
    "to continue without",
    "correct the",
    "if you trust",
    "to accept",
    "remove the",
];

/// The output that a user saw in one case.
struct SeenFault {
    code: Option<i32>,
    message: String,
    problems: Vec<String>,
}

#[test]
fn server_faults_are_explained() {
    let asked_for = std::env::var("WARDIAN_FAULTS").ok();
    let mut cases = every_case();
    assert!(cases.len() >= MIN_CASES, "there are only {} cases", cases.len());
    if let Some(pattern) = &asked_for {
        cases.retain(|case| case.name.contains(pattern));
    }
    let seen = each(&cases, run);
    let mut failures = Vec::new();
    for (case, seen) in cases.iter().zip(&seen) {
        if asked_for.is_some() {
            println!("==== {} ({:?})\n{}\n", case.name, seen.code, seen.message);
        }
        let problems = seen.problems.iter();
        failures.extend(problems.map(|problem| format!("==== {}: {problem}\n{}", case.name, seen.message)));
    }
    assert!(failures.is_empty(), "{} problems:\n{}", failures.len(), failures.join("\n"));
    if asked_for.is_some() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/installations/faults.md");
    let rows = cases.iter().zip(&seen).map(|(case, seen)| (case.name, &*case.title, &*seen.message));
    let text = table::text(rows);
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        fs::write(&path, text).unwrap();
    } else {
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        assert!(recorded == text, "faults.md is outdated; record it again. It should be:\n{text}");
    }
}

fn run(case: &FaultCase) -> SeenFault {
    let installation = Installation::new(ServerDescription::default(), &[("main.tf", &case.configuration())]);
    installation.server.update(case.content_with_addresses(&installation));
    for (path, text) in case.files() {
        installation.write(path, &text);
    }
    let mut command = installation.command("init -no-color");
    command.env("TF_REGISTRY_CLIENT_TIMEOUT", "2");
    let Some(output) = output_within(command, "", LIMIT) else {
        return SeenFault {
            code: None,
            message: String::new(),
            problems: vec![format!("`init` ran for longer than {} s", LIMIT.as_secs())],
        };
    };
    let message = table::message(&installation, &output);
    let problems = problems(case, &installation, &output, &message);
    SeenFault { code: output.code, message, problems }
}

fn problems(case: &FaultCase, installation: &Installation, output: &Output, message: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |is_so: bool, problem: String| {
        if !is_so {
            problems.push(problem);
        }
    };
    let wanted = i32::from(!case.recovers);
    check(output.code == Some(wanted), format!("exit code {:?} instead of {wanted}", output.code));
    check(!output.errors.contains("panicked"), "it panicked".to_owned());
    for secret in ["secret-1", "user:pass"] {
        let all = format!("{}{}", output.out, output.errors);
        check(!all.contains(secret), format!("{secret} is in the output"));
    }
    let leaked = installation.server.requests().into_iter().find(is_leak);
    check(leaked.is_none(), format!("credentials were sent to another host: {leaked:?}"));
    check(!Path::new("/tmp/escaped-absolute").exists(), "a file was written outside".to_owned());
    let escaped = find(&installation.project.path(""), "escaped");
    check(escaped.is_none(), format!("a file was written outside: {escaped:?}"));
    if case.recovers {
        return problems;
    }
    let (what, names): (_, &[&str]) = match case.subject {
        Subject::Provider | Subject::TlsProvider | Subject::Mirror | Subject::Oci => {
            ("plugin", &["acme/fake"])
        }
        Subject::Module | Subject::Archive(_) => ("module", &["\"net\"", "module.net", "acme/net"]),
    };
    check(names.iter().any(|name| message.contains(name)), format!("the {what} is not named"));
    let servers = ["[PLAIN", "[TLS", "[HOST]", "[OTHER", "example.test"];
    check(servers.iter().any(|server| message.contains(server)), "the server is not named".to_owned());
    let lower = message.to_lowercase();
    check(REMEDIES.iter().any(|remedy| lower.contains(remedy)), "no remedy is named".to_owned());
    check(!installation.project.has(".terraform.lock.hcl"), "there is a lock file".to_owned());
    for directory in [".terraform/providers", ".terraform/modules"] {
        let left = files_below(&installation.project.path(directory));
        let left: Vec<_> = left.into_iter().filter(|name| name != "modules.json").collect();
        let some = &left[..left.len().min(3)];
        check(left.is_empty(), format!("{directory} contains {} files, such as {some:?}", left.len()));
    }
    problems
}

/// Returns whether an origin other than the first received credentials.
fn is_leak(request: &RecordedRequest) -> bool {
    matches!(request.origin, Origin::OtherPlain | Origin::OtherTls)
        && !request.header("authorization").is_empty()
}

fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

fn find(directory: &Path, name: &str) -> Option<std::path::PathBuf> {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name() == name {
            return Some(entry.path());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(found) = find(&entry.path(), name)
        {
            return Some(found);
        }
    }
    None
}
