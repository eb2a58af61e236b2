use wardian_sdk::testing::{PlannedAction, json};

use super::{action, assert_unchanged, random};

#[test]
fn integer_is_in_its_range() {
    for _ in 0..50 {
        let state = random().create("random_integer", json!({ "min": -2, "max": 2 })).unwrap();
        let result = state.get::<i64>("result");
        assert!((-2..=2).contains(&result));
        assert_eq!(state.get::<String>("id"), result.to_string());
        assert!(state.object().is_null("seed"));
    }
}

#[test]
fn seeded_integer_matches_official_provider() {
    for (seed, expected) in [("12345", 3), ("123456", 2)] {
        let config = json!({ "min": 1, "max": 3, "seed": seed });
        assert_eq!(random().create("random_integer", config).unwrap().get::<i64>("result"), expected);
    }
}

#[test]
fn large_integers_keep_all_digits() {
    let config = json!({ "min": 7_227_701_560_655_103_597_i64, "max": 7_227_701_560_655_103_598_i64, "seed": "12345" });
    let state = random().create("random_integer", config.clone()).unwrap();
    assert_eq!(state.get::<i64>("result"), 7_227_701_560_655_103_598);
    assert_eq!(action("random_integer", &state, config), PlannedAction::NoOp);

    let widest = json!({ "min": i64::MIN, "max": -2 });
    assert!(random().create("random_integer", widest).unwrap().get::<i64>("result") <= -2);
}

#[test]
fn invalid_ranges_are_errors() {
    let empty = random().create("random_integer", json!({ "min": 3, "max": 2 })).unwrap_err();
    assert!(empty.diagnostics.to_string().contains("greater than max (2)"));
    let wide = random().create("random_integer", json!({ "min": i64::MIN, "max": 0 })).unwrap_err();
    assert!(wide.diagnostics.to_string().contains("too wide"));
}

#[test]
fn any_change_forces_replacement_of_integer() {
    let state = random().create("random_integer", json!({ "min": 1, "max": 9, "seed": "s" })).unwrap();
    assert_eq!(
        action("random_integer", &state, json!({ "min": 1, "max": 9, "seed": "s" })),
        PlannedAction::NoOp
    );
    for other in [
        json!({ "min": 0, "max": 9, "seed": "s" }),
        json!({ "min": 1, "max": 8, "seed": "s" }),
        json!({ "min": 1, "max": 9, "seed": "t" }),
        json!({ "min": 1, "max": 9 }),
    ] {
        assert_eq!(action("random_integer", &state, other), PlannedAction::Replace);
    }
}

#[test]
fn integer_is_imported_with_its_range() {
    let state = random().import("random_integer", "15390,1,50000").unwrap();
    assert_eq!(state.get::<String>("id"), "15390");
    assert_eq!(action("random_integer", &state, json!({ "min": 1, "max": 50000 })), PlannedAction::NoOp);
    let seeded = random().import("random_integer", "3,1,3,12345").unwrap();
    assert_eq!(
        action("random_integer", &seeded, json!({ "min": 1, "max": 3, "seed": "12345" })),
        PlannedAction::NoOp
    );
    for invalid in ["1", "1,2", "a,1,2", "1,b,2", "1,2,c", "1,2,3,4,5"] {
        assert!(random().import("random_integer", invalid).is_err(), "{invalid}");
    }
}

#[test]
fn official_integer_state_plans_no_changes() {
    let stored = json!({
        "id": "44", "keepers": { "listener": "arn" }, "max": 100, "min": 1, "result": 44, "seed": null
    });
    let config = json!({ "min": 1, "max": 100, "keepers": { "listener": "arn" } });
    assert_unchanged("random_integer", 0, &stored, config);
}

fn shuffled(config: serde_json::Value) -> Vec<String> {
    random().create("random_shuffle", config).unwrap().get("result")
}

#[test]
fn seeded_shuffle_matches_official_provider() {
    let input = json!(["a", "b", "c", "d", "e"]);
    let order = |count: serde_json::Value| {
        shuffled(json!({ "input": input.clone(), "seed": "-", "result_count": count })).concat()
    };
    assert_eq!(order(json!(null)), "acbed");
    assert_eq!(order(json!(0)), "acbed");
    assert_eq!(order(json!(3)), "acb");
    assert_eq!(order(json!(12)), "acbedaedcbab");
}

#[test]
fn shuffle_without_seed_is_random() {
    let input: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let mut result = shuffled(json!({ "input": input }));
    assert_ne!(result, input);
    result.sort_by_key(|text| text.parse::<u32>().unwrap());
    assert_eq!(result, input);
}

#[test]
fn shuffle_of_empty_list_is_empty() {
    assert!(shuffled(json!({ "input": [], "result_count": 12 })).is_empty());
    assert_eq!(shuffled(json!({ "input": ["a"], "result_count": 3 })), ["a", "a", "a"]);
    assert!(random().create("random_shuffle", json!({ "input": ["a"], "result_count": -1 })).is_err());
}

#[test]
fn any_change_forces_replacement_of_shuffle() {
    let config = json!({ "input": ["a", "b"], "seed": "s", "result_count": 0 });
    let state = random().create("random_shuffle", config.clone()).unwrap();
    assert_eq!(state.get::<String>("id"), "-");
    assert_eq!(state.get::<i64>("result_count"), 0);
    assert_eq!(action("random_shuffle", &state, config), PlannedAction::NoOp);
    for other in [
        json!({ "input": ["a", "b", "c"], "seed": "s", "result_count": 0 }),
        json!({ "input": ["a", "b"], "seed": "t", "result_count": 0 }),
        json!({ "input": ["a", "b"], "seed": "s", "result_count": 1 }),
        json!({ "input": ["a", "b"], "seed": "s" }),
    ] {
        assert_eq!(action("random_shuffle", &state, other), PlannedAction::Replace);
    }
}

#[test]
fn official_shuffle_state_plans_no_changes() {
    let stored = json!({
        "id": "-", "input": ["a", "b", "c"], "keepers": null, "result": ["c", "a"], "result_count": 2, "seed": null
    });
    assert_unchanged("random_shuffle", 0, &stored, json!({ "input": ["a", "b", "c"], "result_count": 2 }));
}
