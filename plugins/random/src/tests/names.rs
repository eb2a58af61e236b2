use wardian_sdk::testing::{Action, json};

use super::{action, assert_unchanged, random};

#[test]
fn a_pet_has_two_words_unless_told_otherwise() {
    let state = random().create("random_pet", json!({})).unwrap();
    assert_eq!(state.get::<i64>("length"), 2);
    assert_eq!(state.get::<String>("separator"), "-");
    assert_eq!(state.get::<String>("id").split('-').count(), 2);
    assert_eq!(action("random_pet", &state, json!({})), Action::NoOp);
    assert_eq!(action("random_pet", &state, json!({ "length": 2, "separator": "-" })), Action::NoOp);
    for other in [json!({ "length": 3 }), json!({ "separator": "_" }), json!({ "prefix": "my" })] {
        assert_eq!(action("random_pet", &state, other), Action::Replace);
    }
}

#[test]
fn a_prefix_comes_before_a_separator() {
    let config = json!({ "length": 4, "separator": "_", "prefix": "My" });
    let state = random().create("random_pet", config).unwrap();
    let id = state.get::<String>("id");
    let words: Vec<&str> = id.split('_').collect();
    assert_eq!((words.len(), words[0]), (5, "My"));
}

#[test]
fn an_empty_prefix_is_none() {
    let state = random().create("random_pet", json!({ "prefix": "" })).unwrap();
    assert_eq!(state.get::<String>("prefix"), "");
    assert_eq!(state.get::<String>("id").split('-').count(), 2);
}

#[test]
fn a_pet_of_the_official_provider_stays() {
    let stored = json!({
        "id": "web-evident-crab", "keepers": null, "length": 2, "prefix": "web", "separator": "-"
    });
    assert_unchanged("random_pet", 0, &stored, json!({ "prefix": "web" }));
}

#[test]
fn a_pet_is_not_imported() {
    let failed = random().import("random_pet", "crab").unwrap_err();
    assert!(failed.diagnostics.to_string().contains("cannot be imported"));
}
