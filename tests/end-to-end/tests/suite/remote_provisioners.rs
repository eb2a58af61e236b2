//! The provisioners `file` and `remote-exec` on a machine that is accessed over SSH: the output,
//! the positions of errors, the state, and the resulting files on the machine are compared with
//! Terraform's. `WARDIAN_RECORD=1` records Terraform's results again if `terraform` is on PATH.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use wardian_end_to_end::{Project, terraform};

use crate::sshd::Sshd;

/// A scenario: its name, the machine, the configuration, and the commands.
struct Scenario {
    name: &'static str,
    machine: fn() -> Option<Sshd>,
    configuration: &'static str,
    lines: &'static [&'static str],
}

const APPLY: &[&str] = &["apply -auto-approve"];
const AND_DESTROY: &[&str] = &["apply -auto-approve", "destroy -auto-approve"];

impl Scenario {
    const fn new(
        name: &'static str,
        machine: fn() -> Option<Sshd>,
        configuration: &'static str,
        lines: &'static [&'static str],
    ) -> Self {
        Self { name, machine, configuration, lines }
    }
}

const SCENARIOS: [Scenario; 18] = [
    Scenario::new(
        "password",
        Sshd::with_password,
        r#"
            connection {
              host     = "127.0.0.1"
              port     = PORT
              password = "PASSWORD"
              agent    = false
              timeout  = "20s"
            }
            provisioner "remote-exec" { inline = ["echo in"] }"#,
        APPLY,
    ),
    Scenario::new(
        "certificate",
        Sshd::start,
        r#"
            connection {
              type        = "ssh"
              user        = "root"
              host        = "127.0.0.1"
              port        = PORT
              private_key = file("keys/certified")
              certificate = file("keys/certified-cert.pub")
              host_key    = file("keys/host.pub")
              agent       = false
              timeout     = "20s"
            }
            provisioner "remote-exec" { inline = ["echo in"] }"#,
        APPLY,
    ),
    Scenario::new(
        "bastion",
        Sshd::start,
        r#"
            connection {
              host         = "127.0.0.1"
              port         = PORT
              private_key  = file("keys/id")
              agent        = false
              bastion_host = "127.0.0.1"
              bastion_port = PORT
              timeout      = "20s"
            }
            provisioner "remote-exec" { inline = ["echo in"] }"#,
        APPLY,
    ),
    Scenario::new(
        "content and a file",
        Sshd::start,
        r#"
            KEY
            provisioner "file" {
              content     = "hello ${self.id == "" ? 1 : 2}\n"
              destination = "THERE/content"
            }
            provisioner "file" {
              content     = ""
              destination = "THERE/empty"
            }
            provisioner "file" {
              source      = "sources/a.txt"
              destination = "THERE/copy"
            }
            "#,
        APPLY,
    ),
    Scenario::new(
        "a file onto a directory",
        Sshd::start,
        r#"
            KEY
            provisioner "file" {
              source      = "${path.module}/sources/a.txt"
              destination = "THERE"
            }"#,
        APPLY,
    ),
    Scenario::new(
        "a directory without slash",
        Sshd::start,
        r#"
            KEY
            provisioner "file" {
              source      = "sources"
              destination = "THERE"
            }"#,
        APPLY,
    ),
    Scenario::new(
        "a directory with slash",
        Sshd::start,
        r#"
            KEY
            provisioner "file" {
              source      = "sources/"
              destination = "THERE"
            }"#,
        APPLY,
    ),
    Scenario::new(
        "inline",
        Sshd::start,
        r##"
            KEY
            provisioner "remote-exec" {
              inline = ["echo one", "echo two >&2; printf 'no newline'", "x=1", "echo $x; false", "echo $0 $#"]
            }
            provisioner "remote-exec" { inline = ["#!/bin/bash", "echo $${BASH_VERSION:+bash}; test -t 1 && echo terminal"] }"##,
        APPLY,
    ),
    Scenario::new(
        "scripts",
        Sshd::start,
        r#"
            KEY
            provisioner "remote-exec" { script = "sources/one.sh" }
            provisioner "remote-exec" { scripts = ["${path.module}/sources/two.sh", "sources/one.sh"] }"#,
        APPLY,
    ),
    Scenario::new(
        "a path of a script",
        Sshd::start,
        r#"
            connection {
              host        = "127.0.0.1"
              port        = PORT
              private_key = file("keys/id")
              agent       = false
              script_path = "PLACE/script.sh"
              timeout     = "20s"
            }
            provisioner "remote-exec" { inline = ["echo $0; rm $0; touch THERE/ran"] }"#,
        APPLY,
    ),
    Scenario::new(
        "destroy time",
        Sshd::start,
        r#"
            input = { port = PORT, key = file("keys/id"), there = "THERE" }
            provisioner "file" {
              content     = "made"
              destination = "${self.input.there}/made"
              connection {
                host        = "127.0.0.1"
                port        = self.input.port
                private_key = self.input.key
                agent       = false
              }
            }
            provisioner "remote-exec" {
              when   = destroy
              inline = ["mv ${self.input.there}/made ${self.input.there}/gone; echo bye"]
              connection {
                host        = "127.0.0.1"
                port        = self.input.port
                private_key = self.input.key
                agent       = false
              }
            }"#,
        AND_DESTROY,
    ),
    Scenario::new(
        "a failure taints",
        Sshd::start,
        r#"
            KEY
            provisioner "remote-exec" { inline = ["echo before; exit 3"] }
            provisioner "remote-exec" { inline = ["echo after"] }"#,
        APPLY,
    ),
    Scenario::new(
        "a failure continues",
        Sshd::start,
        r#"
            KEY
            provisioner "remote-exec" {
              inline     = ["exit 3"]
              on_failure = continue
            }
            provisioner "file" {
              source      = "nope"
              destination = "THERE/nope"
              on_failure  = continue
            }
            provisioner "remote-exec" { inline = ["echo after"] }"#,
        APPLY,
    ),
    Scenario::new(
        "a sensitive value",
        Sshd::start,
        r#"
            KEY
            provisioner "remote-exec" { inline = ["echo ${sensitive("hush")}"] }
            provisioner "file" {
              content     = sensitive("hush")
              destination = "THERE/hush"
            }"#,
        APPLY,
    ),
    Scenario::new(
        "no connection",
        Sshd::start,
        r#"
            provisioner "file" {
              content     = "x"
              destination = "THERE/x"
            }"#,
        APPLY,
    ),
    Scenario::new(
        "what cannot be run",
        Sshd::start,
        r#"
            KEY
            provisioner "remote-exec" {
              inline = [null]
              on_failure = continue
            }
            provisioner "remote-exec" {
              scripts    = [""]
              on_failure = continue
            }
            provisioner "remote-exec" { script = "nope.sh" }"#,
        APPLY,
    ),
    Scenario::new(
        "nothing to copy",
        Sshd::start,
        r#"
            provisioner "file" { destination = "/x" }"#,
        &["validate"],
    ),
    Scenario::new(
        "two things to run",
        Sshd::start,
        r#"
            provisioner "remote-exec" {
              inline = ["a"]
              script = "b"
            }"#,
        &["validate"],
    ),
];

/// Terraform or Wardian.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Wardian,
    Terraform,
}

/// Returns the result of a scenario, or `None` if the machine is not available.
fn answer(scenario: &Scenario, asked: Asked) -> Option<String> {
    let sshd = (scenario.machine)()?;
    let project =
        sshd.project(&format!("resource \"terraform_data\" \"a\" {{{}\n}}\n", scenario.configuration));
    for (path, text) in [
        ("a.txt", "a\n"),
        ("deep/er/b.txt", "b\n"),
        ("one.sh", "echo one $0\n"),
        ("two.sh", "#!/bin/bash\necho two ${0##*.}\n"),
    ] {
        project.write(&format!("sources/{path}"), text);
    }
    let mut text = format!("== {}\n", scenario.name);
    if asked == Asked::Terraform {
        run(&project, "init", asked);
    }
    for line in scenario.lines {
        let (code, transcript) = run(&project, line, asked);
        let _ = writeln!(text, "$ {line}\nexit {code}");
        shown(&sshd, &transcript, &mut text);
        if *line == "validate" {
            // Terraform does not report the block that its provisioner rejects.
            text = text
                .lines()
                .filter(|line| !line.starts_with("  at "))
                .fold(String::new(), |all, line| all + line + "\n");
        }
        if let Some(instance) = project.state()["resources"].get(0).map(|one| &one["instances"][0]) {
            let _ = writeln!(text, "state {}", instance["status"].as_str().unwrap_or("whole"));
        }
        files(&sshd.path("there"), "", &mut text);
    }
    Some(text)
}

fn run(project: &Project, line: &str, asked: Asked) -> (i32, String) {
    let mut command = match (asked, terraform()) {
        (Asked::Terraform, Some(terraform)) => terraform.command(project, line),
        _ => project.command(line),
    };
    let output = command.env("NO_COLOR", "1").output().unwrap();
    let transcript = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&transcript).into_owned())
}

/// Extracts the output of provisioners, and the errors with their positions.
fn shown(sshd: &Sshd, transcript: &str, text: &mut String) {
    static COLOR: LazyLock<Regex> = LazyLock::new(|| Regex::new("\u{1b}\\[[0-9;]*m").unwrap());
    static OF_PROVISIONERS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\S+( \((remote-exec|file)\): |: Provisioning with ')").unwrap());
    static OWN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"terraform_\d+\.sh|/dev/pts/\d+").unwrap());
    let transcript = COLOR.replace_all(transcript, "");
    for line in transcript.lines().map(|line| line.trim_start_matches(['│', ' ']).trim_end()) {
        if OF_PROVISIONERS.is_match(line) {
            // The messages about withheld output differ between Terraform and Wardian.
            let line = if line.contains("ensitive") { "remote-exec (withheld)" } else { line };
            let transcript = format!("says {}\n", OWN.replace_all(&sshd.emptied(line), "[OWN]"));
            // The message may be repeated for each line.
            if !line.contains("(withheld)") || !text.ends_with(&transcript) {
                text.push_str(&transcript);
            }
        } else if line.starts_with("Error: ") {
            let _ = writeln!(text, "{line}");
        } else if let Some(place) = line.strip_prefix("on main.tf line ") {
            let _ = writeln!(text, "  at {}", place.split([',', ':']).next().unwrap_or_default());
        }
    }
}

/// Lists all files below a directory.
fn files(directory: &Path, prefix: &str, text: &mut String) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            let _ = writeln!(text, "there {name}/ {mode:o}");
            files(&path, &format!("{name}/"), text);
        } else {
            let _ = writeln!(text, "there {name} {mode:o} {:?}", fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn remote_provisioners_match_terraform() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/remote_provisioners.txt");
    if std::env::var_os("WARDIAN_RECORD").is_some() && terraform().is_some() {
        let answers: Vec<String> =
            SCENARIOS.iter().map(|scenario| answer(scenario, Asked::Terraform).unwrap()).collect();
        fs::write(&path, answers.join("\n")).unwrap();
    }
    let recorded = fs::read_to_string(&path).unwrap();
    let mut wrong = Vec::new();
    for scenario in &SCENARIOS {
        let Some(seen) = answer(scenario, Asked::Wardian) else { continue };
        let begin = format!("== {}\n", scenario.name);
        let expected = recorded.split_once(&begin).map_or("", |(_, rest)| rest);
        let expected = begin + expected.split("\n== ").next().unwrap_or_default().trim_end();
        if seen.trim_end() != expected {
            wrong.push(format!("expected:\n{expected}\nseen:\n{seen}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
