use std::time::{Duration, Instant};

use wardian_sdk::testing::{PlannedAction, json};

use super::harness;

#[test]
fn creation_and_destruction_wait() {
    let harness = harness();
    let start = Instant::now();
    let state = harness
        .create("time_sleep", json!({ "create_duration": "20ms", "destroy_duration": "30ms" }))
        .unwrap();
    assert!(start.elapsed() >= Duration::from_millis(20));
    let start = Instant::now();
    harness.delete("time_sleep", &state).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn changed_duration_updates_without_waiting() {
    let harness = harness();
    let state = harness.create("time_sleep", json!({ "create_duration": "1ms" })).unwrap();
    let plan = harness.plan("time_sleep", Some(&state), json!({ "create_duration": "10h" })).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let changed = harness.apply(&plan).unwrap().unwrap();
    assert_eq!(changed.get::<String>("id"), state.get::<String>("id"));
}

#[test]
fn duration_is_one_number_with_unit() {
    for (duration, is_valid) in [
        ("30s", true),
        ("1.5h", true),
        ("250ms", true),
        ("5m", true),
        ("1h30m", false),
        ("-5s", false),
        ("5", false),
        ("5d", false),
        (".5s", false),
        ("1.s", false),
        ("", false),
    ] {
        let found = harness().validate("time_sleep", json!({ "create_duration": duration }));
        assert_eq!(!found.has_errors(), is_valid, "{duration}: {found}");
    }
    assert!(harness().validate("time_sleep", json!({})).has_errors());
    assert!(!harness().validate("time_sleep", json!({ "destroy_duration": "1s" })).has_errors());
}

#[test]
fn sleep_is_imported_with_durations_and_triggers() {
    let harness = harness();
    let state = harness.import("time_sleep", "30s,,key=value").unwrap();
    assert_eq!(state.get::<Option<String>>("destroy_duration"), None);
    let config = json!({ "create_duration": "30s", "triggers": { "key": "value" } });
    assert_eq!(harness.plan("time_sleep", Some(&state), config).unwrap().action, PlannedAction::NoOp);
    for id in ["", ",", "30s", "30x,", "30s,,key", "30s,,a=b=c"] {
        assert!(harness.import("time_sleep", id).is_err(), "{id}");
    }
}
