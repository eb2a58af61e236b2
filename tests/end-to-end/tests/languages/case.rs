//! A sequence of configurations, and the results of planning and applying them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wardian_end_to_end::{Project, Seen, differences, lay_out};

use crate::provider::Provider;

pub(crate) struct Case {
    pub(crate) name: String,
    directory: PathBuf,
}

impl Case {
    pub(crate) fn all() -> Vec<Self> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages/cases");
        let entries =
            fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        entries
            .map(|entry| {
                let entry = entry.unwrap();
                Self { name: entry.file_name().to_string_lossy().into_owned(), directory: entry.path() }
            })
            .collect()
    }

    pub(crate) fn record(&self, provider: &Provider) {
        let text = serde_json::to_string_pretty(&self.results(provider)).unwrap();
        fs::write(self.directory.join("expected.json"), format!("{text}\n")).unwrap();
    }

    /// Returns the differences between the expected results and those of a provider.
    pub(crate) fn difference(&self, provider: &Provider) -> Option<String> {
        let expected = fs::read(self.directory.join("expected.json")).unwrap_or_default();
        let expected: Value = serde_json::from_slice(&expected).unwrap_or_default();
        differences(&lay_out(&expected, 0), &lay_out(&self.results(provider), 0))
            .map(|text| format!("{} with the provider in {}:\n{text}", self.name, provider.language))
    }

    fn results(&self, provider: &Provider) -> Value {
        let project = provider.project();
        if let Ok(state) = fs::read(self.directory.join("state.json")) {
            project.write("terraform.tfstate", state);
        }
        let mut steps = Vec::new();
        for number in 1.. {
            let Ok(configuration) = fs::read(self.directory.join(format!("{number}.tf"))) else { break };
            project.write("main.tf", configuration);
            steps.push(step(&project));
        }
        assert!(!steps.is_empty(), "{} has no 1.tf", self.name);
        Value::Array(steps)
    }
}

/// Plans and applies the configuration.
fn step(project: &Project) -> Value {
    let plan = project.run("plan -json -input=false -out=plan.saved");
    let mut result = json!({ "plan": diagnostics(&plan) });
    if plan.code == Some(0) {
        let shown: Value = serde_json::from_str(&project.run("show -json plan.saved").success().out).unwrap();
        result["changes"] = shown["resource_changes"].clone();
        result["outputs"] = shown["output_changes"].clone();
        let applied = project.run("apply -json -input=false plan.saved");
        result["apply"] = diagnostics(&applied);
    }
    result["state"] = project.state()["resources"].clone();
    result
}

/// Returns the exit code, and the diagnostics that a command printed.
fn diagnostics(seen: &Seen) -> Value {
    let lines = seen.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let diagnostics = lines.filter(|line| line["type"] == "diagnostic").map(|line| {
        let found = &line["diagnostic"];
        json!({
            "severity": found["severity"],
            "summary": found["summary"],
            "detail": comparable(found),
            "line": found["range"]["start"]["line"],
        })
    });
    let shown: Vec<Value> =
        diagnostics.filter(|one| one["summary"] != "Provider development overrides are in effect").collect();
    json!({ "exit code": seen.code, "diagnostics": shown })
}

/// Returns the detail of a diagnostic. Each language has other words for a state that does not fit.
fn comparable(diagnostic: &Value) -> &str {
    match diagnostic["summary"].as_str() {
        Some("Unable to read the stored state") => "…",
        _ => diagnostic["detail"].as_str().unwrap_or_default(),
    }
}
