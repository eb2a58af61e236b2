use wardian_sdk::testing::{PlannedAction, config, json};

use super::{action, random};

/// Asserts the planned action if `keepers` change from the stored to the configured value.
#[track_caller]
fn check(stored: serde_json::Value, configured: serde_json::Value, expected: PlannedAction) {
    let uuid = "0af5b0f4-9a53-4b0e-8a8a-4d0f9f2f9f11";
    let state = json!({ "keepers": stored, "result": uuid, "id": uuid });
    let state = random().load_state("random_uuid", 0, &state).unwrap();
    assert_eq!(action("random_uuid", &state, json!({ "keepers": configured })), expected);
}

#[test]
fn equal_keepers_plan_no_changes() {
    check(json!(null), json!(null), PlannedAction::NoOp);
    check(json!({}), json!({}), PlannedAction::NoOp);
    check(json!({ "a": "1", "b": null }), json!({ "a": "1", "b": null }), PlannedAction::NoOp);
}

#[test]
fn changed_keepers_force_replacement() {
    check(json!({ "a": "1" }), json!({ "a": "2" }), PlannedAction::Replace);
    check(json!({ "a": "1" }), json!({ "a": "1", "b": "2" }), PlannedAction::Replace);
    check(json!({ "a": "1", "b": "2" }), json!({ "a": "1" }), PlannedAction::Replace);
    check(json!({ "a": "1" }), json!({ "a": null }), PlannedAction::Replace);
    check(json!({ "a": null }), json!({ "a": "1" }), PlannedAction::Replace);
    check(json!({ "a": "1" }), json!({}), PlannedAction::Replace);
    check(json!({ "a": "1" }), json!(null), PlannedAction::Replace);
    check(json!(null), json!({ "a": "1" }), PlannedAction::Replace);
    check(json!({}), json!({ "a": "1" }), PlannedAction::Replace);
}

#[test]
fn missing_null_keepers_update_in_place() {
    check(json!(null), json!({}), PlannedAction::Update);
    check(json!(null), json!({ "a": null }), PlannedAction::Update);
    check(json!({}), json!({ "a": null }), PlannedAction::Update);
    check(json!({ "a": "1" }), json!({ "a": "1", "b": null }), PlannedAction::Update);
}

#[test]
fn update_in_place_keeps_value() {
    let random = random();
    for (name, config) in [
        ("random_bytes", json!({ "length": 4 })),
        ("random_id", json!({ "byte_length": 4 })),
        ("random_integer", json!({ "min": 1, "max": 1_000_000 })),
        ("random_password", json!({ "length": 12 })),
        ("random_pet", json!({})),
        ("random_shuffle", json!({ "input": ["a", "b", "c"] })),
        ("random_string", json!({ "length": 12 })),
        ("random_uuid", json!({})),
    ] {
        let before = random.create(name, config.clone()).unwrap();
        let mut kept = config;
        kept["keepers"] = json!({ "a": null });
        let plan = random.plan(name, Some(&before), kept).unwrap();
        assert_eq!(plan.action, PlannedAction::Update, "{name}");
        let after = random.apply(&plan).unwrap().unwrap();
        let expected = before.object().as_value().with_attribute("keepers", after.object().value("keepers"));
        assert_eq!(*after.object().as_value(), expected, "{name}");
        random.delete(name, &after).unwrap();
    }
}

#[test]
fn unknown_keepers_force_replacement() {
    let random = random();
    let state = random.create("random_pet", json!({ "keepers": { "a": "1" } })).unwrap();
    let plan = random.plan("random_pet", Some(&state), config(json!({})).unknown("keepers")).unwrap();
    assert_eq!(plan.action, PlannedAction::Replace);
}
