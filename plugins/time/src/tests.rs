use wardian_sdk::testing::{PlannedAction, ProviderHarness, config, json};
use wardian_sdk::{Severity, Value};

use crate::provider;
use crate::timestamp::Timestamp;

mod functions;
mod offset;
mod rotating;
mod sleep;

fn harness() -> ProviderHarness {
    ProviderHarness::new(provider())
}

#[test]
fn provider_is_valid() {
    wardian_sdk::assert_valid_provider(provider());
}

#[test]
fn static_timestamp_is_creation_time() {
    let harness = harness();
    let plan = harness.plan("time_static", None, json!({})).unwrap();
    assert!(plan.object.as_ref().unwrap().is_unknown("rfc3339"));
    let state = harness.apply(&plan).unwrap().unwrap();
    let moment = Timestamp::parse(&state.get::<String>("rfc3339")).unwrap();
    assert!(Timestamp::now().unix() - moment.unix() < 60);
    assert_eq!(state.get::<i64>("unix"), moment.unix());
    assert_eq!(harness.plan("time_static", Some(&state), json!({})).unwrap().action, PlannedAction::NoOp);
}

#[test]
fn configured_timestamp_is_known_in_plan() {
    let harness = harness();
    let plan = harness.plan("time_static", None, json!({ "rfc3339": "2020-02-12T06:36:13Z" })).unwrap();
    let planned = plan.object.as_ref().unwrap();
    assert_eq!(planned.get::<i64>("unix").unwrap(), 1_581_489_373);
    assert_eq!(planned.get::<String>("id").unwrap(), "2020-02-12T06:36:13Z");
    harness.apply(&plan).unwrap();
}

#[test]
fn changed_triggers_or_timestamp_force_replacement() {
    let harness = harness();
    let state = harness.create("time_static", json!({ "triggers": { "a": "1" } })).unwrap();
    for config in [json!({ "triggers": { "a": "2" } }), json!({ "rfc3339": "2020-02-12T06:36:13Z" })] {
        assert_eq!(harness.plan("time_static", Some(&state), config).unwrap().action, PlannedAction::Replace);
    }
}

#[test]
fn official_provider_state_plans_no_changes() {
    let harness = harness();
    let stored = json!({
        "day": 12, "hour": 6, "id": "2020-02-12T06:36:13Z", "minute": 36, "month": 2,
        "rfc3339": "2020-02-12T06:36:13Z", "second": 13, "triggers": null, "unix": 1_581_489_373, "year": 2020
    });
    let state = harness.load_state("time_static", 0, &stored).unwrap();
    let read = harness.read("time_static", &state).unwrap().unwrap();
    assert_eq!(harness.plan("time_static", Some(&read), json!({})).unwrap().action, PlannedAction::NoOp);
}

#[test]
fn static_timestamp_is_imported() {
    let harness = harness();
    let state = harness.import("time_static", "2020-02-12T06:36:13Z").unwrap();
    assert_eq!(state.get::<i64>("second"), 13);
    assert!(harness.import("time_static", "yesterday").is_err());
}

#[test]
fn invalid_timestamp_is_an_error_at_attribute() {
    let found = harness().validate("time_static", json!({ "rfc3339": "yesterday" }));
    let found: Vec<_> = found.iter().collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Error);
    assert_eq!(found[0].path.as_ref().unwrap().to_string(), ".rfc3339");
    assert!(harness().validate("time_static", config(json!({})).unknown("rfc3339")).is_empty());
}

/// Returns an attribute of an object as text.
fn part(value: &Value, name: &str) -> String {
    let part = value.get(name).unwrap();
    part.as_str().map_or_else(|| format!("{part:?}"), str::to_owned)
}

/// The file contains the schemas of the provider in the form in which a host receives them.
#[test]
fn schemas_are_unchanged() {
    let text = wardian_sdk::testing::schema_text(crate::provider());
    assert_eq!(text, include_str!("tests/schemas.txt"));
}
