//! Plans of `terraform_data`, and the states after apply.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use wardian_engine::Plan;
use wardian_state::{State, decode_state, encode_state};

use crate::terraform::{self, Fault};
use crate::{fixture, projection};

const FILE: &str = "plans.json";

#[derive(Serialize, Deserialize)]
struct Scenario {
    name: String,
    /// All configurations except the last are applied in order; the last one is planned and then
    /// applied.
    configurations: Vec<Vec<String>>,
    #[serde(default)]
    recorded: Recorded,
}

#[derive(Default, Serialize, Deserialize)]
struct Recorded {
    /// The state before the last configuration.
    state: Json,
    outcome: Outcome,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Outcome {
    Planned { changes: Vec<Json>, outputs: Json, resources: Json, state_outputs: Json },
    Refused(Vec<Fault>),
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Refused(Vec::new())
    }
}

/// Sorts sensitive paths, whose order in a state is random.
fn with_sorted_paths(state: &mut Json) {
    for resource in state["resources"].as_array_mut().into_iter().flatten() {
        for instance in resource["instances"].as_array_mut().into_iter().flatten() {
            if let Some(paths) = instance["sensitive_attributes"].as_array_mut() {
                paths.sort_by_key(ToString::to_string);
            }
        }
    }
}

/// Replaces new identifiers, but preserves those that the previous state contains.
fn without_new_ids(state: &Json, before: &Json) -> Json {
    let before = before.to_string();
    let is_id = |text: &str| text.len() == 36 && text.matches('-').count() == 4 && !before.contains(text);
    let mut masked = state.clone();
    mask(&mut masked, &is_id);
    with_sorted_paths(&mut masked);
    masked
}

fn mask(json: &mut Json, is_id: &dyn Fn(&str) -> bool) {
    match json {
        Json::String(text) if is_id(text) => "(a new id)".clone_into(text),
        Json::Array(parts) => parts.iter_mut().for_each(|part| mask(part, is_id)),
        Json::Object(parts) => parts.values_mut().for_each(|part| mask(part, is_id)),
        _ => {}
    }
}

fn of_terraform(scenario: &Scenario) -> Recorded {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (last, earlier) = scenario.configurations.split_last().unwrap();
    let write =
        |lines: &[String]| std::fs::write(directory.join("main.tf"), lines.join("\n") + "\n").unwrap();
    let state = || -> Json {
        let text = std::fs::read_to_string(directory.join("terraform.tfstate")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    for configuration in earlier {
        write(configuration);
        terraform::ask(directory, &["apply", "-auto-approve"]);
    }
    let before = state();
    write(last);
    let plan = match terraform::plan(directory) {
        Ok(plan) => plan,
        Err(faults) => return Recorded { state: before, outcome: Outcome::Refused(faults) },
    };
    terraform::ask(directory, &["apply", "saved"]);
    let after = without_new_ids(&state(), &before);
    let changes = plan["resource_changes"].as_array().cloned().unwrap_or_default();
    let outcome = Outcome::Planned {
        changes: changes.iter().map(terraform_change).collect(),
        outputs: plan["output_changes"].clone(),
        resources: after["resources"].clone(),
        state_outputs: after["outputs"].clone(),
    };
    Recorded { state: before, outcome }
}

fn terraform_change(change: &Json) -> Json {
    let mut shown = change["change"].clone();
    let object = shown.as_object_mut().unwrap();
    object.insert("address".into(), change["address"].clone());
    object.insert("action_reason".into(), change.get("action_reason").cloned().unwrap_or_default());
    object.entry("replace_paths").or_insert(Json::Null);
    shown
}

fn of_ours(scenario: &Scenario) -> Outcome {
    let directory = Path::new("/srv/nowhere");
    let text = scenario.configurations.last().unwrap().join("\n") + "\n";
    let files = [("main.tf", text.as_str())];
    let before = &scenario.recorded.state;
    let state = match before {
        Json::Null => State::with_new_lineage(),
        state => decode_state(state.to_string().as_bytes()).unwrap().unwrap(),
    };
    let plan = match fixture::plan(&files, directory, state) {
        Ok(plan) => plan,
        Err(diagnostics) => return Outcome::Refused(terraform::ours(&diagnostics)),
    };
    let applied = fixture::apply(&files, directory, &plan);
    assert!(!applied.diagnostics.has_errors(), "{}: {}", scenario.name, applied.diagnostics);
    let after: Json = serde_json::from_str(&encode_state(&applied.state).unwrap()).unwrap();
    let after = without_new_ids(&after, before);
    Outcome::Planned {
        changes: changes(&plan),
        outputs: outputs(&plan),
        resources: after["resources"].clone(),
        state_outputs: after["outputs"].clone(),
    }
}

fn changes(plan: &Plan) -> Vec<Json> {
    let one = |change: &wardian_engine::ResourceChange| {
        let paths: Vec<Json> = change.required_replace.iter().map(path).collect();
        let after_unknown =
            if change.after.is_wholly_known() { json!({}) } else { projection::unknown(&change.after) };
        json!({
            "address": change.address.to_string(),
            "actions": actions(change.action),
            "action_reason": change.reason.map(|reason| reason.name()),
            "before": projection::known(&change.before),
            "after": projection::known(&change.after),
            "after_unknown": after_unknown,
            "before_sensitive": projection::sensitive(&change.before),
            "after_sensitive": projection::sensitive(&change.after),
            "replace_paths": if paths.is_empty() { Json::Null } else { paths.into() },
        })
    };
    plan.changes.iter().map(one).collect()
}

fn path(path: &wardian_value::Path) -> Json {
    use wardian_value::PathStep;
    path.steps()
        .iter()
        .map(|step| match step {
            PathStep::Attribute(name) | PathStep::Key(name) => json!(name.as_str()),
            PathStep::Index(index) => json!(index),
        })
        .collect()
}

fn actions(action: wardian_engine::Action) -> Json {
    use wardian_engine::Action;
    match action {
        Action::NoOp => json!(["no-op"]),
        Action::Create => json!(["create"]),
        Action::Read => json!(["read"]),
        Action::Update => json!(["update"]),
        Action::Delete => json!(["delete"]),
        Action::DeleteThenCreate => json!(["delete", "create"]),
        Action::CreateThenDelete => json!(["create", "delete"]),
        Action::Forget => json!(["forget"]),
    }
}

fn outputs(plan: &Plan) -> Json {
    let one = |(name, change): (&wardian_value::Str, &wardian_engine::OutputChange)| {
        let mut shown = json!({
            "actions": actions(change.action),
            "before": projection::known(&change.before),
            "after_unknown": if change.after.is_wholly_known() { json!(false) } else { projection::unknown(&change.after) },
            "before_sensitive": change.sensitive && !change.before.is_null(),
            "after_sensitive": change.sensitive,
        });
        if let Some(after) = projection::known(&change.after) {
            shown["after"] = after;
        }
        (name.to_string(), shown)
    };
    let all: serde_json::Map<String, Json> = plan.outputs.iter().map(one).collect();
    if all.is_empty() { Json::Null } else { all.into() }
}

/// Compares two outcomes. If Terraform reports no source position, Wardian may still report one.
fn is_same(recorded: &Outcome, ours: &Outcome) -> bool {
    match (recorded, ours) {
        (Outcome::Refused(recorded), Outcome::Refused(ours)) => {
            recorded.len() == ours.len()
                && recorded.iter().zip(ours).all(|(recorded, ours)| recorded.is_met_by(ours))
        }
        _ => recorded == ours,
    }
}

#[test]
fn plans_and_states_match_terraform() {
    let mut scenarios: Vec<Scenario> = terraform::load(FILE);
    if terraform::is_recording() {
        for scenario in &mut scenarios {
            scenario.recorded = of_terraform(scenario);
        }
        terraform::save(FILE, &scenarios);
    }
    assert!(scenarios.len() >= 25, "{} scenarios", scenarios.len());
    let mut different = Vec::new();
    for scenario in &scenarios {
        let ours = of_ours(scenario);
        if !is_same(&scenario.recorded.outcome, &ours) {
            let json = |outcome: &Outcome| serde_json::to_value(outcome).unwrap();
            let places = projection::differences(&json(&scenario.recorded.outcome), &json(&ours));
            different.push(format!("{}\n{places}", scenario.name));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
