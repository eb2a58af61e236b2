use wardian_sdk::testing::{PlannedAction, config, json};

use super::harness;

const BASE: &str = "2020-02-12T06:36:13Z";

#[test]
fn offsets_are_added() {
    let harness = harness();
    for (offsets, expected) in [
        (json!({ "offset_days": 7 }), "2020-02-19T06:36:13Z"),
        (json!({ "offset_hours": 11, "offset_days": 1 }), "2020-02-13T17:36:13Z"),
        (json!({ "offset_years": 1, "offset_months": 1 }), "2021-03-12T06:36:13Z"),
        (json!({ "offset_seconds": -13, "offset_minutes": -36 }), "2020-02-12T06:00:00Z"),
        (json!({ "offset_seconds": 0 }), BASE),
    ] {
        let mut config = offsets;
        config["base_rfc3339"] = json!(BASE);
        let state = harness.create("time_offset", config.clone()).unwrap();
        assert_eq!(state.get::<String>("rfc3339"), expected);
        assert_eq!(state.get::<String>("id"), BASE);
        assert_eq!(harness.plan("time_offset", Some(&state), config).unwrap().action, PlannedAction::NoOp);
    }
}

#[test]
fn changed_offset_keeps_base_and_plans_sum() {
    let harness = harness();
    let state = harness
        .load_state(
            "time_offset",
            0,
            &json!({
                "base_rfc3339": BASE, "day": 19, "hour": 6, "id": BASE, "minute": 36, "month": 2,
                "offset_days": 7, "offset_hours": null, "offset_minutes": null, "offset_months": null,
                "offset_seconds": null, "offset_years": null, "rfc3339": "2020-02-19T06:36:13Z", "second": 13,
                "triggers": null, "unix": 1_582_094_173, "year": 2020
            }),
        )
        .unwrap();
    assert_eq!(
        harness.plan("time_offset", Some(&state), json!({ "offset_days": 7 })).unwrap().action,
        PlannedAction::NoOp
    );
    let plan = harness.plan("time_offset", Some(&state), json!({ "offset_days": 8 })).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let planned = plan.object.as_ref().unwrap();
    assert_eq!(planned.get::<String>("rfc3339").unwrap(), "2020-02-20T06:36:13Z");
    assert_eq!(harness.apply(&plan).unwrap().unwrap().get::<String>("base_rfc3339"), BASE);
}

#[test]
fn changed_base_updates_in_place() {
    let harness = harness();
    let state = harness.create("time_offset", json!({ "base_rfc3339": BASE, "offset_days": 1 })).unwrap();
    let other = json!({ "base_rfc3339": "2021-02-12T06:36:13Z", "offset_days": 1 });
    let plan = harness.plan("time_offset", Some(&state), other).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let changed = harness.apply(&plan).unwrap().unwrap();
    assert_eq!(changed.get::<String>("rfc3339"), "2021-02-13T06:36:13Z");
}

#[test]
fn sum_is_unknown_if_offset_is_unknown() {
    let harness = harness();
    let state = harness.create("time_offset", json!({ "base_rfc3339": BASE, "offset_days": 1 })).unwrap();
    let unknown = config(json!({ "base_rfc3339": BASE })).unknown("offset_days");
    let plan = harness.plan("time_offset", Some(&state), unknown).unwrap();
    assert!(plan.object.unwrap().is_unknown("rfc3339"));
}

#[test]
fn one_offset_is_required() {
    assert!(harness().validate("time_offset", json!({})).has_errors());
    assert!(harness().validate("time_offset", json!({ "offset_days": 1.5 })).has_errors());
    assert!(!harness().validate("time_offset", json!({ "offset_years": 1 })).has_errors());
    assert!(!harness().validate("time_offset", config(json!({})).unknown("offset_years")).has_errors());
}

#[test]
fn offset_is_imported_with_base() {
    let harness = harness();
    let state = harness.import("time_offset", "2020-02-12T06:36:13Z,0,0,7,0,0,0").unwrap();
    assert_eq!(state.get::<String>("rfc3339"), "2020-02-19T06:36:13Z");
    assert_eq!(state.get::<Option<i64>>("offset_hours"), Some(0));
    let config = json!({
        "offset_years": 0, "offset_months": 0, "offset_days": 7, "offset_hours": 0, "offset_minutes": 0,
        "offset_seconds": 0
    });
    assert_eq!(harness.plan("time_offset", Some(&state), config).unwrap().action, PlannedAction::NoOp);
    let partial = harness.import("time_offset", "2020-02-12T06:36:13Z,,,7,,,").unwrap();
    assert_eq!(partial.get::<Option<i64>>("offset_hours"), None);
    for id in [
        "",
        "2020-02-12T06:36:13Z",
        "2020-02-12T06:36:13Z,,,,,,",
        "x,0,0,7,0,0,0",
        "2020-02-12T06:36:13Z,a,,,,,",
    ] {
        assert!(harness.import("time_offset", id).is_err(), "{id}");
    }
}
