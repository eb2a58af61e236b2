//! Runs Terraform to record results.

use std::path::Path;
use std::process::Command;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An error that both programs report: the summary and the line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Fault {
    pub summary: String,
    pub line: Option<u64>,
}

impl Fault {
    /// Returns whether Wardian's error equals this error. If Terraform reports no line, Wardian may
    /// report one.
    pub fn is_met_by(&self, ours: &Self) -> bool {
        self.summary == ours.summary && (self.line.is_none() || self.line == ours.line)
    }
}

pub fn is_recording() -> bool {
    std::env::var_os("WARDIAN_RECORD").is_some_and(|value| value == "1")
}

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Loads recorded results.
pub fn load<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_str(&std::fs::read_to_string(data(name)).unwrap()).unwrap()
}

pub fn save<T: Serialize>(name: &str, recorded: &T) {
    std::fs::write(data(name), serde_json::to_string_pretty(recorded).unwrap() + "\n").unwrap();
}

/// Returns the standard output of a command that may fail.
pub fn ask(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("terraform")
        .args(arguments)
        .current_dir(directory)
        .env("CHECKPOINT_DISABLE", "1")
        .env("HOME", directory)
        .env_remove("TF_CLI_CONFIG_FILE")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a plan as JSON, or the errors.
pub fn plan(directory: &Path) -> Result<Value, Vec<Fault>> {
    let _ = std::fs::remove_file(directory.join("saved"));
    let told = ask(directory, &["plan", "-input=false", "-json", "-out=saved"]);
    let errors = faults(told.lines().filter_map(|line| {
        serde_json::from_str::<Value>(line).ok().and_then(|line| line.get("diagnostic").cloned())
    }));
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(serde_json::from_str(&ask(directory, &["show", "-json", "saved"])).unwrap())
}

pub fn validate(directory: &Path) -> Vec<Fault> {
    let report: Value = serde_json::from_str(&ask(directory, &["validate", "-json"])).unwrap();
    faults(report["diagnostics"].as_array().unwrap().iter().cloned())
}

fn faults(diagnostics: impl Iterator<Item = Value>) -> Vec<Fault> {
    diagnostics
        .filter(|diagnostic| diagnostic["severity"] == "error")
        .map(|diagnostic| Fault {
            summary: diagnostic["summary"].as_str().unwrap().to_owned(),
            line: diagnostic["range"]["start"]["line"].as_u64(),
        })
        .collect()
}

/// Converts Wardian's diagnostics.
pub fn ours(diagnostics: &wardian_diagnostic::Diagnostics) -> Vec<Fault> {
    diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .map(|diagnostic| Fault {
            summary: diagnostic.summary.clone(),
            line: diagnostic.subject.as_ref().map(|span| span.start_position().line as u64),
        })
        .collect()
}
