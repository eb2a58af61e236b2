use wardian_sdk::testing::{PlannedAction, State, json};

use super::harness;
use crate::timestamp::Timestamp;

/// Loads a state in the format of the official provider.
fn stored(base: &str, days: i64) -> State {
    let rotation = Timestamp::parse(base).unwrap().plus_date(0, 0, days).unwrap();
    let civil = rotation.civil();
    harness()
        .load_state("time_rotating", 0, &json!({
            "day": civil.day, "hour": civil.hour, "id": base, "minute": civil.minute, "month": civil.month,
            "rfc3339": base, "rotation_days": days, "rotation_hours": null, "rotation_minutes": null,
            "rotation_months": null, "rotation_rfc3339": rotation.to_string(), "rotation_years": null,
            "second": civil.second, "triggers": null, "unix": rotation.unix(), "year": civil.year
        }))
        .unwrap()
}

fn yesterday() -> String {
    Timestamp::now().plus_date(0, 0, -1).unwrap().to_string()
}

#[test]
fn official_provider_state_is_unchanged_until_rotation() {
    let harness = harness();
    let state = stored(&yesterday(), 2);
    let read = harness.read("time_rotating", &state).unwrap().unwrap();
    assert_eq!(read.object(), state.object());
    assert_eq!(
        harness.plan("time_rotating", Some(&read), json!({ "rotation_days": 2 })).unwrap().action,
        PlannedAction::NoOp
    );
}

#[test]
fn expired_object_is_dropped_by_read() {
    let gone = harness().read("time_rotating", &stored("2020-02-12T06:36:13Z", 30)).unwrap();
    assert_eq!(gone, None);
}

#[test]
fn changed_rotation_keeps_base() {
    let harness = harness();
    let base = yesterday();
    let plan = harness.plan("time_rotating", Some(&stored(&base, 2)), json!({ "rotation_days": 3 })).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let planned = plan.object.as_ref().unwrap();
    let expected = Timestamp::parse(&base).unwrap().plus_date(0, 0, 3).unwrap().to_string();
    assert_eq!(planned.get::<String>("rotation_rfc3339").unwrap(), expected);
    let changed = harness.apply(&plan).unwrap().unwrap();
    assert_eq!(changed.get::<String>("rfc3339"), base);
}

#[test]
fn expired_object_is_replaced_without_refresh() {
    let old = stored("2020-02-12T06:36:13Z", 30);
    let plan = harness().plan("time_rotating", Some(&old), json!({ "rotation_days": 31 })).unwrap();
    assert_eq!(plan.action, PlannedAction::Replace);
}

#[test]
fn changed_triggers_force_replacement() {
    let config = json!({ "rotation_days": 2, "triggers": { "a": "b" } });
    let plan = harness().plan("time_rotating", Some(&stored(&yesterday(), 2)), config).unwrap();
    assert_eq!(plan.action, PlannedAction::Replace);
    assert!(plan.object.unwrap().is_unknown("rfc3339"));
}

#[test]
fn rotation_timestamp_is_stored_as_configured() {
    let harness = harness();
    let config =
        json!({ "rfc3339": "2020-02-12T06:36:13Z", "rotation_rfc3339": "2999-01-01T00:00:00+02:00" });
    let state = harness.create("time_rotating", config.clone()).unwrap();
    assert_eq!(state.get::<i64>("year"), 2999);
    assert_eq!(state.get::<String>("rotation_rfc3339"), "2999-01-01T00:00:00+02:00");
    assert_eq!(harness.plan("time_rotating", Some(&state), config).unwrap().action, PlannedAction::NoOp);
}

#[test]
fn one_positive_rotation_is_required() {
    for config in [json!({}), json!({ "rotation_days": 0 }), json!({ "rotation_rfc3339": "soon" })] {
        assert!(harness().validate("time_rotating", config).has_errors());
    }
}

#[test]
fn rotating_is_imported_with_base() {
    let harness = harness();
    let base = yesterday();
    let state = harness.import("time_rotating", &format!("{base},0,0,30,0,0")).unwrap();
    assert_eq!(state.get::<i64>("rotation_days"), 30);
    let state = harness.import("time_rotating", &format!("{base},2999-01-01T00:00:00Z")).unwrap();
    assert_eq!(state.get::<i64>("year"), 2999);
    for id in
        [base.clone(), format!("{base},"), format!("{base},,,,,"), format!("{base},1,2,3"), ",,,1,,".into()]
    {
        assert!(harness.import("time_rotating", &id).is_err(), "{id}");
    }
}
