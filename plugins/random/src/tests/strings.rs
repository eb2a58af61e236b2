use wardian_sdk::Severity;
use wardian_sdk::testing::{Config, PlannedAction, config, hcl, json};

use super::{action, assert_rejected, assert_unchanged, random};

#[test]
fn string_has_length_and_defaults() {
    let state = random().create("random_string", hcl("length = 24")).unwrap();
    let result = state.get::<String>("result");
    assert_eq!(result.len(), 24);
    assert_eq!(state.get::<String>("id"), result);
    for name in ["upper", "lower", "number", "numeric", "special"] {
        assert!(state.get::<bool>(name), "{name}");
    }
    for name in ["min_upper", "min_lower", "min_numeric", "min_special"] {
        assert_eq!(state.get::<i64>(name), 0, "{name}");
    }
    assert!(state.object().is_null("override_special"));
    assert_eq!(action("random_string", &state, hcl("length = 24")), PlannedAction::NoOp);
}

#[test]
fn any_changed_argument_replaces_string() {
    let state = random().create("random_string", hcl("length = 24")).unwrap();
    for (name, value) in [
        ("length", json!(25)),
        ("upper", json!(false)),
        ("lower", json!(false)),
        ("number", json!(false)),
        ("numeric", json!(false)),
        ("special", json!(false)),
        ("min_upper", json!(1)),
        ("min_lower", json!(1)),
        ("min_numeric", json!(1)),
        ("min_special", json!(1)),
        ("override_special", json!("!")),
    ] {
        let mut other = json!({ "length": 24 });
        other[name] = value;
        let plan = random().plan("random_string", Some(&state), other).unwrap();
        assert_eq!(plan.action, PlannedAction::Replace, "{name}");
        assert!(plan.object.unwrap().is_unknown("result"), "{name}");
    }
}

#[test]
fn string_satisfies_its_arguments() {
    let config = json!({
        "length": 10, "upper": false, "special": false, "lower": false, "min_lower": 2, "min_special": 1,
        "override_special": "~"
    });
    let result = random().create("random_string", config).unwrap().get::<String>("result");
    assert_eq!(result.matches('~').count(), 1);
    assert_eq!(result.chars().filter(char::is_ascii_lowercase).count(), 2);
    assert_eq!(result.chars().filter(char::is_ascii_digit).count(), 7);
}

#[test]
fn number_and_numeric_are_synchronized() {
    for name in ["number", "numeric"] {
        let mut config = json!({ "length": 100 });
        config[name] = json!(false);
        let state = random().create("random_string", config.clone()).unwrap();
        assert!(!state.get::<bool>("number") && !state.get::<bool>("numeric"));
        assert!(!state.get::<String>("result").contains(|char: char| char.is_ascii_digit()));
        assert_eq!(action("random_string", &state, config), PlannedAction::NoOp);
        assert_eq!(
            action("random_string", &state, json!({ "length": 100, "numeric": false })),
            PlannedAction::NoOp
        );
        assert_eq!(action("random_string", &state, hcl("length = 100")), PlannedAction::Replace);
    }
    let both = json!({ "length": 9, "number": true, "numeric": false });
    let failed = random().plan("random_string", None, both).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("contradict"));
    let same = json!({ "length": 9, "number": false, "numeric": false });
    assert!(!random().create("random_string", same).unwrap().get::<bool>("numeric"));
}

#[test]
fn number_is_unknown_if_numeric_is_unknown() {
    let unknown = hcl("length = 9").unknown("numeric");
    let planned = random().plan("random_string", None, unknown).unwrap().object.unwrap();
    assert!(planned.is_unknown("number") && planned.is_unknown("numeric"));
    let both = config(json!({ "length": 9, "number": true })).unknown("numeric");
    assert!(random().plan("random_string", None, both).is_ok());
}

#[test]
fn invalid_arguments_are_rejected() {
    for name in ["random_string", "random_password"] {
        assert_rejected(name, hcl("length = 0"), "at least 1");
        assert_rejected(name, json!({ "length": 1.5 }), "whole");
        assert_rejected(name, json!({ "length": 3, "min_upper": 2, "min_lower": 2 }), "which is 4");
        let off = json!({ "length": 3, "upper": false, "lower": false, "special": false, "numeric": false });
        assert_rejected(name, off, "At least one");
        let off = json!({ "length": 3, "upper": false, "lower": false, "special": false, "number": false });
        assert_rejected(name, off, "At least one");
        let rest = json!({ "length": 3, "upper": false, "lower": false, "special": false });
        assert!(!random().validate(name, rest).has_errors());
    }
    let unknown: Config = config(json!({ "length": 3, "min_upper": 3 })).unknown("min_lower");
    assert!(!random().validate("random_string", unknown).has_errors());
}

#[test]
fn string_is_imported_with_defaults() {
    let state = random().import("random_string", "imported-text").unwrap();
    assert_eq!(state.get::<String>("id"), "imported-text");
    assert_eq!(state.get::<String>("result"), "imported-text");
    assert_eq!(action("random_string", &state, hcl("length = 13")), PlannedAction::NoOp);
    assert_eq!(
        action("random_string", &state, json!({ "length": 13, "lower": false })),
        PlannedAction::Replace
    );
}

#[test]
fn official_string_state_plans_no_changes() {
    let stored = json!({
        "id": "vG6xJ", "keepers": null, "length": 5, "lower": true, "min_lower": 0, "min_numeric": 0,
        "min_special": 0, "min_upper": 0, "number": true, "numeric": true, "override_special": null,
        "result": "vG6xJ", "special": false, "upper": true
    });
    assert_unchanged("random_string", 2, &stored, json!({ "length": 5, "special": false }));
}

#[test]
fn empty_override_special_is_removed_in_place() {
    let stored = json!({
        "id": "vG6xJ", "keepers": null, "length": 5, "lower": true, "min_lower": 0, "min_numeric": 0,
        "min_special": 0, "min_upper": 0, "number": true, "numeric": true, "override_special": "",
        "result": "vG6xJ", "special": true, "upper": true
    });
    let random = random();
    let state = random.load_state("random_string", 2, &stored).unwrap();
    let plan = random.plan("random_string", Some(&state), hcl("length = 5")).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let state = random.apply(&plan).unwrap().unwrap();
    assert_eq!(state.get::<String>("result"), "vG6xJ");
    assert!(state.object().is_null("override_special"));
    let other = json!({ "length": 5, "override_special": "!" });
    assert_eq!(action("random_string", &state, other), PlannedAction::Replace);
}

#[test]
fn string_of_schema_1_is_upgraded() {
    let stored = json!({
        "id": "none", "keepers": null, "length": 5, "lower": true, "min_lower": 0, "min_numeric": 0,
        "min_special": 0, "min_upper": 0, "number": false, "override_special": null, "result": "vGaxJ",
        "special": true, "upper": true
    });
    assert_unchanged("random_string", 1, &stored, json!({ "length": 5, "numeric": false }));
}

#[test]
fn null_string_attributes_become_defaults() {
    let stored = json!({ "id": "none", "result": "vGaxJ" });
    for version in [0, 1] {
        assert_unchanged("random_string", version, &stored, json!({ "length": 5 }));
    }
}

#[test]
fn object_with_nulls_can_be_destroyed() {
    let random = random();
    let state = random.load_state("random_string", 2, &json!({ "id": "x", "result": "x" })).unwrap();
    random.delete("random_string", &state).unwrap();
}

#[test]
fn defaults_cause_no_warnings() {
    let warnings = random().plan("random_string", None, hcl("length = 5")).unwrap().warnings;
    assert!(warnings.iter().all(|diagnostic| diagnostic.severity != Severity::Warning));
}
