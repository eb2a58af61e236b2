//! Runs the steps of one program in a directory, and measures each of them.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;
use wait4::Wait4 as _;

use super::setup::Project;
use crate::interop::program::Program;
use crate::process;

/// Time limit of one command. Some public modules wait for a network that does not exist.
const LIMIT: Duration = Duration::from_mins(5);
/// The name of the saved plan.
const PLAN: &str = "compared.plan";
/// The name of the variable file, in the directory of the configuration.
pub(crate) const INPUTS: &str = "compared.tfvars.json";

/// The result of one command.
#[derive(Debug)]
pub(crate) struct StepResult {
    pub(crate) name: &'static str,
    /// Absent if a signal ended the program, for example because it exceeded the time limit.
    pub(crate) code: Option<i32>,
    pub(crate) wall: Duration,
    pub(crate) peak_bytes: u64,
    /// The diagnostics, for commands that print them as JSON.
    pub(crate) diagnostics: Vec<Value>,
    /// The document that the command prints, or the files that `fmt` lists.
    pub(crate) document: Value,
}

/// The results of one program.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) steps: Vec<StepResult>,
    /// The addresses, versions and constraints in the dependency lock file.
    pub(crate) locked: Value,
}

impl Side {
    pub(crate) fn step(&self, name: &str) -> Option<&StepResult> {
        self.steps.iter().find(|step| step.name == name)
    }

    pub(crate) fn wall(&self) -> Duration {
        self.steps.iter().map(|step| step.wall).sum()
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.peak_bytes).max().unwrap_or_default()
    }
}

/// Runs the steps until one of them fails. A failed format check does not end the run.
pub(crate) fn run(program: &Program, place: &Path, project: &Project, is_applying: bool) -> Result<Side> {
    let directory = project.copied(place);
    let mut side = Side::default();
    let inputs = format!("-var-file={INPUTS}");
    let out = format!("-out={PLAN}");
    let mut steps: Vec<(&'static str, Vec<&str>)> = vec![
        ("fmt", vec!["fmt", "-check", "-recursive", "-no-color"]),
        ("init", vec!["init", "-json", "-input=false"]),
        ("validate", vec!["validate", "-json"]),
        ("plan", vec!["plan", "-json", "-input=false", &inputs, &out]),
        ("show", vec!["show", "-json", PLAN]),
    ];
    if is_applying {
        steps.extend([
            ("apply", vec!["apply", "-json", "-input=false", PLAN]),
            ("state", vec!["show", "-json"]),
            ("re-plan", vec!["plan", "-json", "-input=false", "-detailed-exitcode", &inputs, &out]),
            ("re-show", vec!["show", "-json", PLAN]),
        ]);
    }
    for (name, arguments) in steps {
        let result = step(program, &directory, name, &arguments)?;
        let is_ended = match name {
            "fmt" => false,
            "re-plan" => !matches!(result.code, Some(0 | 2)),
            _ => result.code != Some(0),
        };
        side.steps.push(result);
        if name == "init" {
            let lock = fs::read_to_string(directory.join(".terraform.lock.hcl")).unwrap_or_default();
            side.locked = locked(&lock);
        }
        if is_ended {
            break;
        }
    }
    Ok(side)
}

fn step(program: &Program, directory: &Path, name: &'static str, arguments: &[&str]) -> Result<StepResult> {
    // Neither program reads hidden files. A pipe could block the program.
    let output = directory.join(".compared-output");
    let errors = directory.join(".compared-errors");
    let mut command = Command::new(&program.file);
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).process_group(0);
    command.stdout(File::create(&output)?).stderr(File::create(&errors)?);
    process::without_settings(&mut command).envs(program.environment.iter().cloned());
    let started = Instant::now();
    let child = command.spawn().with_context(|| format!("could not start `{}`", process::line(&command)))?;
    // Native plugins belong to the same process group.
    let group = format!("-{}", child.id());
    let (ended, receiver) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        // A program that ends with an internal error can leave its plugins behind, so the group is
        // killed in any case. The signal fails if the group has no processes left.
        let _ = receiver.recv_timeout(LIMIT);
        let mut kill = Command::new("kill");
        let _ = kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    });
    let result = child.wait4();
    let wall = started.elapsed();
    drop(ended);
    watchdog.join().map_err(|_| anyhow::anyhow!("the watchdog failed"))?;
    let result = result.with_context(|| format!("could not wait for `{}`", process::line(&command)))?;
    let text = String::from_utf8_lossy(&fs::read(&output)?).into_owned();
    fs::remove_file(&output)?;
    fs::remove_file(&errors)?;
    let (diagnostics, document) = parsed(name, &text);
    Ok(StepResult {
        name,
        code: result.status.code(),
        wall,
        peak_bytes: result.rusage.maxrss,
        diagnostics,
        document,
    })
}

/// Returns the diagnostics and the document in the output of a step.
fn parsed(name: &str, text: &str) -> (Vec<Value>, Value) {
    match name {
        "fmt" => {
            let mut files: Vec<&str> = text.lines().collect();
            files.sort_unstable();
            (Vec::new(), files.into())
        }
        "validate" => {
            let mut document: Value = serde_json::from_str(text).unwrap_or_default();
            let mut take = |name| document.as_object_mut().and_then(|members| members.remove(name));
            let diagnostics = take("diagnostics").as_ref().and_then(Value::as_array).cloned();
            // The numbers of diagnostics are ignored, because the diagnostics themselves are
            // compared.
            take("error_count");
            take("warning_count");
            let diagnostics = diagnostics.unwrap_or_default();
            (diagnostics, document)
        }
        "show" | "state" | "re-show" => (Vec::new(), serde_json::from_str(text).unwrap_or_default()),
        _ => {
            let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let diagnostics = messages.filter(|message| message["type"] == "diagnostic");
            (diagnostics.map(|message| message["diagnostic"].clone()).collect(), Value::Null)
        }
    }
}

/// Returns the lock file without hashes: the programs install different packages of embedded
/// plugins.
fn locked(text: &str) -> Value {
    let lines = text.lines().map(str::trim);
    let kept = lines
        .filter(|line| ["provider ", "version ", "constraints "].iter().any(|start| line.starts_with(start)));
    kept.map(|line| Value::from(line.split_whitespace().collect::<Vec<_>>().join(" "))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn diagnostics_are_read_from_both_formats() {
        let lines = "{\"type\":\"version\"}\n{\"type\":\"diagnostic\",\"diagnostic\":{\"summary\":\"a\"}}\n";
        assert_eq!(parsed("plan", lines), (vec![json!({ "summary": "a" })], Value::Null));
        let document = r#"{"valid":false,"diagnostics":[{"summary":"a"}]}"#;
        assert_eq!(
            parsed("validate", document),
            (vec![json!({ "summary": "a" })], json!({ "valid": false }))
        );
    }

    #[test]
    fn lock_file_hashes_are_ignored() {
        let text = "provider \"a/b/c\" {\n  version     = \"1.0.0\"\n  hashes = [\n    \"h1:x\",\n  ]\n}\n";
        assert_eq!(locked(text), json!(["provider \"a/b/c\" {", "version = \"1.0.0\""]));
    }

    #[test]
    fn step_records_result_and_peak_memory() {
        let directory = std::env::temp_dir().join(format!("xtask-steps-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let program = Program { name: "sh", file: "/bin/sh".into(), environment: Vec::new() };
        let script = "echo '{\"type\":\"diagnostic\",\"diagnostic\":1}'; exit 3";
        let result = step(&program, &directory, "plan", &["-c", script]).unwrap();
        let left = "sleep 60 & echo \"{\\\"type\\\":\\\"diagnostic\\\",\\\"diagnostic\\\":$!}\"";
        let left = step(&program, &directory, "plan", &["-c", left]).unwrap().diagnostics;
        let status = || fs::read_to_string(format!("/proc/{}/status", left[0])).unwrap_or_default();
        let deadline = Instant::now() + Duration::from_secs(30);
        while !(status().is_empty() || status().contains("State:\tZ")) {
            assert!(Instant::now() < deadline, "a process still runs: {}", status());
            std::thread::sleep(Duration::from_millis(10));
        }
        let files = fs::read_dir(&directory).unwrap().count();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!((result.code, result.diagnostics, files), (Some(3), vec![json!(1)], 0));
        assert!(result.peak_bytes > 100_000);
    }
}
