//! The result of one configuration, and the table of all results.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::differences::{Difference, Differences, compare_diagnostics, compare_plans};
use super::generated_values::GeneratedValues;
use super::setup::Project;
use super::steps::{Side, StepResult};
use crate::progress::say;

/// The maximum number of differences of a configuration that are printed.
const MAX_PRINTED: usize = 20;

pub(crate) struct DirectoryResult {
    directory: PathBuf,
    /// `same`, `same error`, `DIFFERS` or `failed`.
    verdict: &'static str,
    /// The last step, and the reason why no further step was run.
    reason: String,
    differences: Vec<Difference>,
    /// Terraform's and Wardian's time in seconds and peak memory in megabytes.
    costs: [(f64, u64); 2],
    details: Value,
}

impl DirectoryResult {
    pub(crate) fn new(directory: &Path, project: &Project, theirs: &Side, ours: &Side) -> Self {
        let differences = differences(theirs, ours);
        let last = theirs.steps.last();
        let is_complete = last.is_some_and(is_successful) && theirs.steps.len() > 2;
        let verdict = match (differences.is_empty(), is_complete) {
            (true, true) => "same",
            (true, false) => "same error",
            (false, _) => "DIFFERS",
        };
        let cost = |side: &Side| (side.wall().as_secs_f64(), megabytes(side.peak_bytes()));
        let mut steps = serde_json::Map::new();
        for (name, side) in [("terraform", theirs), ("wardian", ours)] {
            let of_side = side.steps.iter().map(|step| {
                json!({
                    "step": step.name, "code": step.code, "seconds": step.wall.as_secs_f64(),
                    "megabytes": megabytes(step.peak_bytes),
                })
            });
            steps.insert(name.to_owned(), of_side.collect());
        }
        Self {
            directory: directory.to_owned(),
            verdict,
            reason: reason(theirs, &project.derived),
            differences,
            costs: [cost(theirs), cost(ours)],
            details: json!({ "derived": project.derived, "steps": steps }),
        }
    }

    /// Creates the result of a configuration that could not be compared.
    pub(crate) fn failed(directory: &Path, error: &anyhow::Error) -> Self {
        Self {
            directory: directory.to_owned(),
            verdict: "failed",
            reason: format!("{error:#}").lines().collect::<Vec<_>>().join(" "),
            differences: Vec::new(),
            costs: [(0.0, 0); 2],
            details: Value::Null,
        }
    }

    pub(crate) fn is_same(&self) -> bool {
        self.verdict.starts_with("same")
    }

    pub(crate) fn print(&self) {
        say(&format!("    {} ({})", self.verdict, self.reason));
        for difference in self.differences.iter().take(MAX_PRINTED) {
            say(&format!("    {}", difference.describe()));
        }
        if let Some(more) = self.differences.len().checked_sub(MAX_PRINTED).filter(|more| *more > 0) {
            say(&format!("    and {more} more"));
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let cost = |(seconds, megabytes): (f64, u64)| json!({ "seconds": seconds, "megabytes": megabytes });
        json!({
            "directory": self.directory,
            "verdict": self.verdict,
            "reason": self.reason,
            "differences": self.differences.iter().map(Difference::to_json).collect::<Value>(),
            "terraform": cost(self.costs[0]),
            "wardian": cost(self.costs[1]),
            "details": self.details,
        })
    }
}

fn megabytes(bytes: u64) -> u64 {
    bytes / 1_000_000
}

fn is_successful(step: &StepResult) -> bool {
    matches!((step.name, step.code), (_, Some(0)) | ("re-plan", Some(2)))
}

/// Describes the last step that Terraform completed, and the reason why it stopped there.
fn reason(theirs: &Side, derived: &Value) -> String {
    let Some(last) = theirs.steps.last() else { return String::new() };
    if is_successful(last) {
        return "all steps".to_owned();
    }
    let summary = last
        .diagnostics
        .iter()
        .find(|diagnostic| diagnostic["severity"] == "error")
        .and_then(|diagnostic| diagnostic["summary"].as_str())
        .unwrap_or(if last.code.is_none() { "time limit" } else { "an error" });
    let remote = derived["remote_modules"].as_array().map_or(0, Vec::len);
    let remote = match remote {
        0 => String::new(),
        number => format!("; {number} module sources are not local"),
    };
    format!("{} ends with \"{summary}\"{remote}", last.name)
}

/// Compares the steps that both programs ran.
fn differences(theirs: &Side, ours: &Side) -> Vec<Difference> {
    let mut all = Vec::new();
    for step in &theirs.steps {
        let Some(own) = ours.step(step.name) else { break };
        let mut found = Differences::new(step.name);
        found.compare("exit code", &json!(step.code), &json!(own.code));
        compare_diagnostics(&mut found, "diagnostics", &step.diagnostics, &own.diagnostics);
        match step.name {
            "show" => compare_plans(&mut found, &step.document, &own.document),
            "re-show" => {
                let [left, right] = [(theirs, step), (ours, own)].map(|(side, step)| {
                    let document = |name| side.step(name).map_or(&Value::Null, |step| &step.document);
                    GeneratedValues::new(document("show"), document("state")).without(&step.document)
                });
                compare_plans(&mut found, &left, &right);
            }
            "state" => compare_states(&mut found, theirs, step, own),
            _ => found.compare("", &step.document, &own.document),
        }
        if step.name == "init" {
            found.compare("lock file", &theirs.locked, &ours.locked);
        }
        all.extend(found.into_vec());
    }
    all
}

/// Compares states. Values that were unknown in the plan are compared only by their kind, because
/// providers generate different values in each run.
fn compare_states(found: &mut Differences, theirs: &Side, step: &StepResult, own: &StepResult) {
    let plan = theirs.step("show").map_or(&Value::Null, |show| &show.document);
    let address = |resource: &Value| resource["address"].as_str().unwrap_or_default().to_owned();
    let [left, right] =
        [step, own].map(|step| Value::from(resources(&step.document["values"]["root_module"], plan)));
    found.compare_named("resources", &left, &right, address);
    let outputs = |step: &StepResult| {
        let mut outputs = step.document["values"]["outputs"].clone();
        for (name, output) in outputs.as_object_mut().into_iter().flatten() {
            let unknown = &plan["output_changes"][name.as_str()]["after_unknown"];
            if let Some(value) = output.get_mut("value") {
                crate::interop::documents::take_out(value, unknown);
            }
        }
        outputs
    };
    found.compare("outputs", &outputs(step), &outputs(own));
}

/// Returns the resources of a module and its child modules.
fn resources(module: &Value, plan: &Value) -> Vec<Value> {
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    let unknown: std::collections::BTreeMap<&str, &Value> = changes
        .filter_map(|change| Some((change["address"].as_str()?, &change["change"]["after_unknown"])))
        .collect();
    fn collect(module: &Value, unknown: &std::collections::BTreeMap<&str, &Value>, all: &mut Vec<Value>) {
        for resource in module["resources"].as_array().into_iter().flatten() {
            let mut resource = resource.clone();
            let known = resource["address"].as_str().and_then(|address| unknown.get(address)).copied();
            if let (Some(unknown), Some(values)) = (known, resource.get_mut("values")) {
                crate::interop::documents::take_out(values, unknown);
            }
            all.push(resource);
        }
        for child in module["child_modules"].as_array().into_iter().flatten() {
            collect(child, unknown, all);
        }
    }
    let mut all = Vec::new();
    collect(module, &unknown, &mut all);
    all
}

pub(crate) fn table(results: &[DirectoryResult]) -> String {
    let names: Vec<String> = results.iter().map(|result| result.directory.display().to_string()).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let mut text =
        format!("\n{:width$}  {:10}  {:>17}  {:>17}  reason", "directory", "result", "terraform", "wardian");
    for (name, result) in names.iter().zip(results) {
        let cost = |(seconds, megabytes): (f64, u64)| format!("{seconds:6.1} s {megabytes:5} MB");
        let [theirs, ours] = result.costs.map(cost);
        let _ = write!(
            text,
            "\n{name:width$}  {:10}  {theirs:>17}  {ours:>17}  {}",
            result.verdict, result.reason
        );
    }
    let count = |verdict: &str| results.iter().filter(|result| result.verdict == verdict).count();
    let _ = write!(
        text,
        "\n{} configurations: {} same, {} with the same error, {} differ, {} could not be compared",
        results.len(),
        count("same"),
        count("same error"),
        count("DIFFERS"),
        count("failed"),
    );
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn step(name: &'static str, code: i32, document: Value) -> StepResult {
        StepResult {
            name,
            code: Some(code),
            wall: Duration::from_secs(1),
            peak_bytes: 1,
            diagnostics: Vec::new(),
            document,
        }
    }

    #[test]
    fn steps_after_a_failure_are_not_compared() {
        let theirs = Side {
            steps: vec![step("init", 0, Value::Null), step("validate", 0, Value::Null)],
            ..Side::default()
        };
        let ours = Side { steps: vec![step("init", 1, Value::Null)], ..Side::default() };
        let found: Vec<String> = differences(&theirs, &ours).iter().map(Difference::describe).collect();
        assert_eq!(found, ["init exit code: terraform 0, wardian 1"]);
    }

    #[test]
    fn generated_values_of_the_same_kind_match() {
        let plan = json!({ "resource_changes": [
            { "address": "module.m.a.x", "change": { "after_unknown": { "id": true } } },
        ] });
        let side = |id: Value, name: &str| {
            let values = json!({ "id": id, "name": name });
            let module = json!({ "resources": [{ "address": "module.m.a.x", "values": values }] });
            let state = json!({ "values": { "root_module": { "child_modules": [module] } } });
            Side { steps: vec![step("show", 0, plan.clone()), step("state", 0, state)], ..Side::default() }
        };
        let count = |ours: Side| differences(&side(json!("a"), "n"), &ours).len();
        assert_eq!(count(side(json!("b"), "n")), 0);
        assert_eq!(count(side(json!(1), "n")), 1);
        assert_eq!(count(side(json!("a"), "m")), 1);
    }
}
