use wardian_sdk::testing::{PlannedAction, json};

use super::{action, assert_unchanged, random};

#[test]
fn pet_has_two_words_by_default() {
    let state = random().create("random_pet", json!({})).unwrap();
    assert_eq!(state.get::<i64>("length"), 2);
    assert_eq!(state.get::<String>("separator"), "-");
    assert_eq!(state.get::<String>("id").split('-').count(), 2);
    assert_eq!(action("random_pet", &state, json!({})), PlannedAction::NoOp);
    assert_eq!(action("random_pet", &state, json!({ "length": 2, "separator": "-" })), PlannedAction::NoOp);
    for other in [json!({ "length": 3 }), json!({ "separator": "_" }), json!({ "prefix": "my" })] {
        assert_eq!(action("random_pet", &state, other), PlannedAction::Replace);
    }
}

#[test]
fn prefix_is_followed_by_separator() {
    let config = json!({ "length": 4, "separator": "_", "prefix": "My" });
    let state = random().create("random_pet", config).unwrap();
    let id = state.get::<String>("id");
    let words: Vec<&str> = id.split('_').collect();
    assert_eq!((words.len(), words[0]), (5, "My"));
}

#[test]
fn empty_prefix_is_ignored() {
    let state = random().create("random_pet", json!({ "prefix": "" })).unwrap();
    assert_eq!(state.get::<String>("prefix"), "");
    assert_eq!(state.get::<String>("id").split('-').count(), 2);
}

#[test]
fn official_pet_state_plans_no_changes() {
    let stored = json!({
        "id": "web-evident-crab", "keepers": null, "length": 2, "prefix": "web", "separator": "-"
    });
    assert_unchanged("random_pet", 0, &stored, json!({ "prefix": "web" }));
}

#[test]
fn pet_import_is_not_supported() {
    let failed = random().import("random_pet", "crab").unwrap_err();
    assert!(failed.diagnostics.to_string().contains("cannot be imported"));
}
