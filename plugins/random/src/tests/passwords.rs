use wardian_sdk::testing::{PlannedAction, hcl, json};

use super::{action, assert_unchanged, random};
use crate::password_hash;

const HASH_OF_SECRET: &str = "$2a$10$0Kn4bFLGz4bFwF2W9Y0PdOP0z3tMZy7m2j2nQHn2k8tQz8Qk1bQ1W";

#[test]
fn password_has_valid_hash() {
    let state = random().create("random_password", hcl("length = 80")).unwrap();
    let (password, hash) = (state.get::<String>("result"), state.get::<String>("bcrypt_hash"));
    assert_eq!(password.len(), 80);
    assert!(password_hash::verifies(&password, &hash));
    assert_eq!(state.get::<String>("id"), "none");
    assert_eq!(action("random_password", &state, hcl("length = 80")), PlannedAction::NoOp);
    let plan = random().plan("random_password", Some(&state), hcl("length = 81")).unwrap();
    assert_eq!(plan.action, PlannedAction::Replace);
    let planned = plan.object.unwrap();
    assert!(planned.is_unknown("result") && planned.is_unknown("bcrypt_hash"));
}

#[test]
fn password_is_imported_with_defaults() {
    let state = random().import("random_password", "securepassword").unwrap();
    assert_eq!(state.get::<String>("id"), "none");
    assert!(password_hash::verifies("securepassword", &state.get::<String>("bcrypt_hash")));
    assert_eq!(action("random_password", &state, hcl("length = 14")), PlannedAction::NoOp);
    assert_eq!(
        action("random_password", &state, json!({ "length": 14, "lower": true })),
        PlannedAction::NoOp
    );
    assert_eq!(action("random_password", &state, hcl("length = 16")), PlannedAction::Replace);
}

fn stored(hash: &str) -> serde_json::Value {
    json!({
        "bcrypt_hash": hash, "id": "none", "keepers": { "a": "1" }, "length": 6, "lower": true,
        "min_lower": 0, "min_numeric": 0, "min_special": 0, "min_upper": 0, "number": true, "numeric": true,
        "override_special": "_%@", "result": "secret", "special": true, "upper": true
    })
}

fn config() -> serde_json::Value {
    json!({ "length": 6, "keepers": { "a": "1" }, "override_special": "_%@" })
}

#[test]
fn official_password_state_plans_no_changes() {
    assert_unchanged("random_password", 3, &stored(HASH_OF_SECRET), config());
    let state = random().load_state("random_password", 3, &stored(HASH_OF_SECRET)).unwrap();
    assert_eq!(state.get::<String>("bcrypt_hash"), HASH_OF_SECRET);
}

#[test]
fn hash_of_schema_0_password_is_computed() {
    let mut old = stored("");
    let attributes = old.as_object_mut().unwrap();
    attributes.retain(|name, _| name != "bcrypt_hash" && name != "numeric");
    let state = random().load_state("random_password", 0, &old).unwrap();
    assert!(password_hash::verifies("secret", &state.get::<String>("bcrypt_hash")));
    assert!(state.get::<bool>("numeric"));
    assert_eq!(action("random_password", &state, config()), PlannedAction::NoOp);
}

#[test]
fn password_of_schema_1_keeps_hash() {
    let mut old = stored(HASH_OF_SECRET);
    old.as_object_mut().unwrap().remove("numeric");
    let state = random().load_state("random_password", 1, &old).unwrap();
    assert_eq!(state.get::<String>("bcrypt_hash"), HASH_OF_SECRET);
    assert_eq!(action("random_password", &state, config()), PlannedAction::NoOp);
}

#[test]
fn password_of_schema_2_keeps_only_valid_hash() {
    let right = password_hash::hash("secret").unwrap();
    let state = random().load_state("random_password", 2, &stored(&right)).unwrap();
    assert_eq!(state.get::<String>("bcrypt_hash"), right);

    let wrong = password_hash::hash("another").unwrap();
    let state = random().load_state("random_password", 2, &stored(&wrong)).unwrap();
    assert!(password_hash::verifies("secret", &state.get::<String>("bcrypt_hash")));
    assert_eq!(action("random_password", &state, config()), PlannedAction::NoOp);
}

#[test]
fn null_string_attributes_become_defaults() {
    let old = json!({ "id": "none", "result": "secret" });
    for version in [0, 1, 2] {
        assert_unchanged("random_password", version, &old, hcl("length = 6"));
    }
}

#[test]
fn ephemeral_password_has_all_attributes() {
    let opened = random()
        .open_ephemeral("random_password", json!({ "length": 9, "upper": false, "min_numeric": 9 }))
        .unwrap();
    let password = opened.get::<String>("result").unwrap();
    assert!(password.len() == 9 && password.bytes().all(|byte| byte.is_ascii_digit()));
    assert!(password_hash::verifies(&password, &opened.get::<String>("bcrypt_hash").unwrap()));
    assert!(!opened.get::<bool>("upper").unwrap());
    assert!(opened.get::<bool>("lower").unwrap());
    assert_eq!(opened.get::<i64>("min_lower").unwrap(), 0);
    assert!(opened.is_null("override_special"));
}

#[test]
fn invalid_ephemeral_password_is_an_error() {
    assert!(random().open_ephemeral("random_password", hcl("length = 0")).is_err());
    assert!(random().open_ephemeral("random_password", json!({ "length": 1, "min_upper": 2 })).is_err());
    let off = json!({ "length": 3, "upper": false, "lower": false, "special": false, "numeric": false });
    assert!(random().open_ephemeral("random_password", off).is_err());
}
