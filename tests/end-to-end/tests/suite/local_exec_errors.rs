//! Errors of `local-exec` commands, compared with the tables in `docs/provisioners.md`.
//! `WARDIAN_RECORD=1` writes the results to the page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use regex::Regex;
use wardian_end_to_end::Project;

/// The maximum memory use. A program that buffers all output would exceed it.
const MAX_MEMORY: u64 = 100 << 20;
const MUCH_OUTPUT: u64 = 256 << 20;

const POLICY: &str = "otherwise = \"defer\"\n\nplugin \"terraform.io/builtin/local-exec\" {\n  deny process {\n    program \
                      = \"env\"\n    reason  = \"it prints secrets\"\n  }\n}\n";

/// The visible result of a run.
struct Row {
    told: String,
    code: String,
    object: String,
    left: usize,
}

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/provisioners.md")
}

/// Compares the section of the documentation page between two marker comments with the result.
fn assert_page(part: &str, seen: &str) {
    let text = fs::read_to_string(page()).unwrap();
    let (begin, end) = (format!("<!-- {part}: begin -->\n"), format!("<!-- {part}: end -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("the page has no {begin}"));
    let (told, after) = rest.split_once(&end).unwrap_or_else(|| panic!("the page has no {end}"));
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        fs::write(page(), format!("{before}{begin}{seen}{end}{after}")).unwrap();
        return;
    }
    assert!(told == seen, "the page says:\n{told}\nand seen was:\n{seen}");
}

fn project(block: &str) -> Project {
    let main = format!(
        "resource \"terraform_data\" \"a\" {{\n  provisioner \"local-exec\" {{\n    {block}\n  }}\n}}\n"
    );
    Project::new(&[("main.tf", &main), ("wardian.policy.hcl", POLICY)])
}

/// Returns the processes that the run left behind. They are identified by its home directory.
fn left(project: &Project) -> Vec<i32> {
    let home = format!("HOME={}\0", project.path("home").display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(&home) {
            found.push(id);
        }
    }
    found
}

fn row(project: &Project, code: Option<i32>, errors: &str) -> Row {
    let lines = errors.lines().map(|line| line.trim_start_matches(['│', ' ']).trim_end());
    let block: Vec<&str> = lines.skip_while(|line| !line.starts_with("Error: local-exec")).collect();
    let detail = block.iter().position(|line| line.starts_with("The ") || line.starts_with("Policy "));
    let detail = detail.and_then(|at| block.get(at..)).unwrap_or_default();
    let end = detail.iter().position(|line| line.is_empty() || *line == "╵").unwrap_or(detail.len());
    let told = detail.get(..end).unwrap_or_default().join(" ");
    let state = project.state();
    let object = match &state["resources"][0]["instances"][0] {
        serde_json::Value::Null => "none".to_owned(),
        object => object["status"].as_str().unwrap_or("made").to_owned(),
    };
    // A process that was killed may not have exited yet.
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut left = left(project);
    while !left.is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
        left = self::left(project);
    }
    Row { told, code: code.map_or("-".to_owned(), |code| code.to_string()), object, left: left.len() }
}

fn run(block: &str) -> Row {
    let project = project(block);
    let seen = project.run("apply -auto-approve");
    let row = row(&project, seen.code, &seen.errors);
    end(&project);
    row
}

fn end(project: &Project) {
    for id in left(project) {
        if let Some(id) = rustix::process::Pid::from_raw(id) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
    }
}

fn interrupted(block: &str, times: usize) -> Row {
    let project = project(block);
    let mut apply = project.start("apply -auto-approve");
    apply.wait_for("(local-exec): begun");
    for _ in 0..times {
        apply.interrupt();
        std::thread::sleep(Duration::from_secs(1));
    }
    let (status, seen) = apply.finish(Duration::from_mins(1));
    row(&project, status.code(), &seen)
}

#[test]
fn local_exec_errors_match_the_documentation() {
    let rows = [
        ("continues and is interrupted", interrupted("command = \"echo begun; exec sleep 300\"", 1)),
        (
            "ignores an interrupt, and a second one follows",
            interrupted("command = \"trap '' INT; echo begun; sleep 300; sleep 300\"", 2),
        ),
        ("writes bytes that are not text", run("command = \"printf '\\\\377\\\\033[31m\\\\000x\\\\n'\"")),
        ("leaves a process behind that holds its output open", run("command = \"sleep 300 & echo begun\"")),
        ("exits with a code", run("command = \"echo why; exit 3\"")),
        ("kills itself", run("command = \"kill -KILL $$\"")),
        ("names a program that does not exist (127)", run("command = \"no-such-program 2>/dev/null\"")),
        ("names a file that is not a program (126)", run("command = \"./main.tf 2>/dev/null\"")),
        (
            "has an interpreter that does not exist",
            run("command = \"x\"\n    interpreter = [\"/no/such/shell\"]"),
        ),
        (
            "has a directory that does not exist",
            run("command = \"true\"\n    working_dir = \"no-such-directory\""),
        ),
        ("is denied by policy", run("command = \"x\"\n    interpreter = [\"env\"]")),
    ];
    let mut table =
        "| Command | Message | Exit code | Object | Remaining processes |\n|---|---|---|---|---|\n"
            .to_owned();
    for (what, Row { told, code, object, left }) in rows {
        let told = if told.is_empty() { "nothing".to_owned() } else { told.replace('|', "\\|") };
        let _ = writeln!(table, "| {what} | {told} | {code} | {object} | {left} |");
    }
    assert_page("faults of local-exec", &table);
}

#[test]
fn local_exec_streams_output_in_constant_memory() {
    let command = format!(
        "command = \"yes 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde | head -c {MUCH_OUTPUT}\""
    );
    let project = project(&command);
    let child = project.command("apply -auto-approve").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut child = child.unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    let code = loop {
        let memory = fs::read_to_string(&status).unwrap_or_default();
        let line = memory.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) << 10);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    println!("peak memory: {} MiB", peak >> 20);
    assert_eq!(code, Some(0));
    assert!(peak > 0 && peak < MAX_MEMORY, "{} MiB", peak >> 20);
}

#[test]
fn audit_log_matches_the_documentation() {
    let configuration = "resource \"terraform_data\" \"granted\" {\n  provisioner \"local-exec\" {\n    command = \"echo \
                         done\"\n  }\n}\n\nresource \"terraform_data\" \"denied\" {\n  depends_on = \
                         [terraform_data.granted]\n  provisioner \"local-exec\" {\n    command     = \"x\"\n    \
                         interpreter = [\"env\"]\n  }\n}\n";
    let project = Project::new(&[("main.tf", configuration), ("wardian.policy.hcl", POLICY)]);
    project.run_with("apply -auto-approve", "", &[("WARDIAN_AUDIT", "audit.log")]).ended_with(1);
    let mut log = "```json\n".to_owned();
    let never_twice = Regex::new(r#""(time|sha256)":"[^"]*""#).unwrap();
    let durations = Regex::new(r#""microseconds":\d+"#).unwrap();
    for line in project.filtered(&project.read("audit.log")).lines() {
        let line = never_twice.replace_all(line, "\"$1\":\"…\"");
        let _ = writeln!(log, "{}", durations.replace_all(&line, "\"microseconds\":0"));
    }
    log.push_str("```\n");
    assert!(log.contains("\"allowed\"") && log.contains("\"denied\""), "{log}");
    assert_page("audit of local-exec", &log);
}
