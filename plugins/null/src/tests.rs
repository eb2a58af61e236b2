use wardian_sdk::testing::{PlannedAction, ProviderHarness, config, json};

use crate::provider;

fn harness() -> ProviderHarness {
    ProviderHarness::new(provider())
}

#[test]
fn provider_is_valid() {
    wardian_sdk::assert_valid_provider(provider());
}

#[test]
fn object_keeps_its_random_id() {
    let harness = harness();
    let state = harness.create("null_resource", json!({})).unwrap();
    let id: String = state.get("id");
    assert!(id.parse::<i64>().is_ok(), "{id}");
    let plan = harness.plan("null_resource", Some(&state), json!({})).unwrap();
    assert_eq!(plan.action, PlannedAction::NoOp);
}

#[test]
fn changed_triggers_force_replacement_of_object() {
    let harness = harness();
    let state = harness.create("null_resource", json!({ "triggers": { "a": "1", "b": null } })).unwrap();
    let plan = harness.plan("null_resource", Some(&state), json!({ "triggers": { "a": "2" } })).unwrap();
    assert_eq!(plan.action, PlannedAction::Replace);
    assert_eq!(plan.requires_replace[0].to_string(), ".triggers");
    let replaced = harness.apply(&plan).unwrap().unwrap();
    assert_ne!(replaced.get::<String>("id"), state.get::<String>("id"));
}

#[test]
fn unknown_triggers_are_planned_as_unknown() {
    let harness = harness();
    let state = harness.create("null_resource", json!({ "triggers": { "a": "1" } })).unwrap();
    let plan = harness.plan("null_resource", Some(&state), config(json!({})).unknown("triggers")).unwrap();
    assert_eq!(plan.action, PlannedAction::Replace);
    assert!(plan.object.unwrap().is_unknown("triggers"));
}

#[test]
fn official_provider_state_plans_no_changes() {
    let harness = harness();
    let stored = json!({ "id": "5577006791947779410", "triggers": { "a": "1" } });
    let state = harness.load_state("null_resource", 0, &stored).unwrap();
    let read = harness.read("null_resource", &state).unwrap().unwrap();
    let plan = harness.plan("null_resource", Some(&read), json!({ "triggers": { "a": "1" } })).unwrap();
    assert_eq!(plan.action, PlannedAction::NoOp);
}

#[test]
fn added_null_triggers_do_not_replace() {
    let harness = harness();
    for (stored, configured, action) in [
        (json!(null), json!({ "a": null }), PlannedAction::Update),
        (json!({ "a": "1" }), json!({ "a": "1", "b": null }), PlannedAction::Update),
        (json!({ "a": "1" }), json!({ "a": "1", "b": "2" }), PlannedAction::Replace),
        (json!({ "a": "1", "b": "2" }), json!({ "a": "1" }), PlannedAction::Replace),
        (json!({ "a": "1" }), json!(null), PlannedAction::Replace),
    ] {
        let state =
            harness.load_state("null_resource", 0, &json!({ "id": "1", "triggers": stored })).unwrap();
        let plan = harness.plan("null_resource", Some(&state), json!({ "triggers": configured })).unwrap();
        assert_eq!(plan.action, action, "{stored} -> {configured}");
    }
}

#[test]
fn import_is_not_supported() {
    let failed = harness().import("null_resource", "1").unwrap_err();
    assert_eq!(failed.diagnostics.iter().next().unwrap().summary, "Resource Import Not Implemented");
}

#[test]
fn data_source_returns_its_inputs() {
    let read = harness().read_data_source("null_data_source", json!({ "inputs": { "a": "b" } })).unwrap();
    assert_eq!(read.value("outputs"), read.value("inputs"));
    assert_eq!(read.get::<String>("has_computed_default").unwrap(), "default");
    assert_eq!(read.get::<String>("id").unwrap(), "static");
}

/// The file contains the schemas of the provider in the form in which a host receives them.
#[test]
fn schemas_are_unchanged() {
    let text = wardian_sdk::testing::schema_text(crate::provider());
    assert_eq!(text, include_str!("tests/schemas.txt"));
}
