use wardian_sdk::testing::{Action, ProviderHarness, config, json};

use crate::provider;

fn harness() -> ProviderHarness {
    ProviderHarness::new(provider())
}

#[test]
fn the_provider_is_sound() {
    wardian_sdk::assert_provider_is_sound(provider());
}

#[test]
fn an_object_gets_a_number_and_keeps_it() {
    let harness = harness();
    let state = harness.create("null_resource", json!({})).unwrap();
    let id: String = state.get("id");
    assert!(id.parse::<i64>().is_ok(), "{id}");
    let plan = harness.plan("null_resource", Some(&state), json!({})).unwrap();
    assert_eq!(plan.action, Action::NoOp);
}

#[test]
fn a_change_of_triggers_replaces_the_object() {
    let harness = harness();
    let state = harness.create("null_resource", json!({ "triggers": { "a": "1", "b": null } })).unwrap();
    let plan = harness.plan("null_resource", Some(&state), json!({ "triggers": { "a": "2" } })).unwrap();
    assert_eq!(plan.action, Action::Replace);
    assert_eq!(plan.requires_replace[0].to_string(), ".triggers");
    let replaced = harness.apply(&plan).unwrap().unwrap();
    assert_ne!(replaced.get::<String>("id"), state.get::<String>("id"));
}

#[test]
fn unknown_triggers_are_planned_as_such() {
    let harness = harness();
    let state = harness.create("null_resource", json!({ "triggers": { "a": "1" } })).unwrap();
    let plan = harness.plan("null_resource", Some(&state), config(json!({})).unknown("triggers")).unwrap();
    assert_eq!(plan.action, Action::Replace);
    assert!(plan.object.unwrap().is_unknown("triggers"));
}

#[test]
fn a_state_of_the_official_provider_is_up_to_date() {
    let harness = harness();
    let stored = json!({ "id": "5577006791947779410", "triggers": { "a": "1" } });
    let state = harness.stored("null_resource", 0, &stored).unwrap();
    let read = harness.read("null_resource", &state).unwrap().unwrap();
    let plan = harness.plan("null_resource", Some(&read), json!({ "triggers": { "a": "1" } })).unwrap();
    assert_eq!(plan.action, Action::NoOp);
}

#[test]
fn null_elements_that_old_versions_left_out_replace_nothing() {
    let harness = harness();
    for (stored, configured, action) in [
        (json!(null), json!({ "a": null }), Action::Update),
        (json!({ "a": "1" }), json!({ "a": "1", "b": null }), Action::Update),
        (json!({ "a": "1" }), json!({ "a": "1", "b": "2" }), Action::Replace),
        (json!({ "a": "1", "b": "2" }), json!({ "a": "1" }), Action::Replace),
        (json!({ "a": "1" }), json!(null), Action::Replace),
    ] {
        let state = harness.stored("null_resource", 0, &json!({ "id": "1", "triggers": stored })).unwrap();
        let plan = harness.plan("null_resource", Some(&state), json!({ "triggers": configured })).unwrap();
        assert_eq!(plan.action, action, "{stored} -> {configured}");
    }
}

#[test]
fn an_object_cannot_be_imported() {
    let failed = harness().import("null_resource", "1").unwrap_err();
    assert_eq!(failed.diagnostics.iter().next().unwrap().summary, "Resource Import Not Implemented");
}

#[test]
fn the_data_source_gives_back_what_it_is_given() {
    let read = harness().data("null_data_source", json!({ "inputs": { "a": "b" } })).unwrap();
    assert_eq!(read.value("outputs"), read.value("inputs"));
    assert_eq!(read.get::<String>("has_computed_default").unwrap(), "default");
    assert_eq!(read.get::<String>("id").unwrap(), "static");
}
