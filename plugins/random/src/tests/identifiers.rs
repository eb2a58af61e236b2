use wardian_sdk::testing::{PlannedAction, hcl, json};

use super::{action, assert_rejected, assert_unchanged, random};

#[test]
fn bytes_have_base64_and_hex_encodings() {
    let random = random();
    let state = random.create("random_bytes", hcl("length = 32")).unwrap();
    let bytes = crate::encoding::from_base64_standard(&state.get::<String>("base64")).unwrap();
    assert_eq!(bytes.len(), 32);
    assert_eq!(state.get::<String>("hex"), crate::encoding::hexadecimal(&bytes));
    assert_eq!(state.get::<String>("id"), "none");
    assert_eq!(action("random_bytes", &state, hcl("length = 32")), PlannedAction::NoOp);
    assert_eq!(action("random_bytes", &state, hcl("length = 31")), PlannedAction::Replace);
    let other = random.create("random_bytes", hcl("length = 32")).unwrap();
    assert_ne!(other.get::<String>("hex"), state.get::<String>("hex"));
}

#[test]
fn bytes_are_imported_from_base64() {
    let state = random().import("random_bytes", "hkvbcU5f8qGysTFhkI4gzf3yRWC1jXW3aRLCNQFOtNw=").unwrap();
    assert_eq!(state.get::<i64>("length"), 32);
    assert_eq!(
        state.get::<String>("hex"),
        "864bdb714e5ff2a1b2b13161908e20cdfdf24560b58d75b76912c235014eb4dc"
    );
    assert!(state.object().is_null("keepers"));
    assert_eq!(action("random_bytes", &state, hcl("length = 32")), PlannedAction::NoOp);
    assert!(random().import("random_bytes", "no base64!").is_err());
}

#[test]
fn official_bytes_state_plans_no_changes() {
    let stored = json!({
        "base64": "hkvbcU5f8qGysTFhkI4gzf3yRWC1jXW3aRLCNQFOtNw=",
        "hex": "864bdb714e5ff2a1b2b13161908e20cdfdf24560b58d75b76912c235014eb4dc",
        "id": "none", "keepers": null, "length": 32
    });
    assert_unchanged("random_bytes", 0, &stored, json!({ "length": 32 }));
    assert_rejected("random_bytes", hcl("length = 0"), "at least 1");
    assert_rejected("random_bytes", json!({}), "length");
}

#[test]
fn id_has_all_encodings_with_prefix() {
    let config = hcl(r#"
            byte_length = 8
            prefix      = "p,"
        "#);
    let state = random().create("random_id", config.clone()).unwrap();
    let id = state.get::<String>("id");
    let bytes = crate::encoding::from_base64_url(&id).unwrap();
    assert_eq!(bytes.len(), 8);
    let number = u64::from_be_bytes(bytes.clone().try_into().unwrap());
    assert_eq!(state.get::<String>("b64_url"), format!("p,{id}"));
    assert_eq!(state.get::<String>("b64_std"), format!("p,{}", crate::encoding::base64_standard(&bytes)));
    assert_eq!(state.get::<String>("hex"), format!("p,{number:016x}"));
    assert_eq!(state.get::<String>("dec"), format!("p,{number}"));

    assert_eq!(action("random_id", &state, config), PlannedAction::NoOp);
    assert_eq!(
        action("random_id", &state, json!({ "byte_length": 8, "prefix": "q" })),
        PlannedAction::Replace
    );
    assert_eq!(action("random_id", &state, hcl("byte_length = 8")), PlannedAction::Replace);
    assert_eq!(
        action("random_id", &state, json!({ "byte_length": 9, "prefix": "p," })),
        PlannedAction::Replace
    );
}

#[test]
fn id_is_imported_with_or_without_prefix() {
    let plain = random().import("random_id", "p-9hUg").unwrap();
    assert_eq!(plain.get::<String>("hex"), "a7ef6152");
    assert_eq!(plain.get::<String>("dec"), "2817483090");
    assert_eq!(plain.get::<String>("b64_std"), "p+9hUg==");
    assert_eq!(plain.get::<i64>("byte_length"), 4);
    assert_eq!(action("random_id", &plain, hcl("byte_length = 4")), PlannedAction::NoOp);

    let prefixed = random().import("random_id", "my,prefix-,p-9hUg").unwrap();
    assert_eq!(prefixed.get::<String>("prefix"), "my,prefix-");
    assert_eq!(prefixed.get::<String>("hex"), "my,prefix-a7ef6152");
    assert_eq!(prefixed.get::<String>("id"), "p-9hUg");
    let same = json!({ "byte_length": 4, "prefix": "my,prefix-" });
    assert_eq!(action("random_id", &prefixed, same), PlannedAction::NoOp);

    assert!(random().import("random_id", "p+9hUg").is_err());
}

#[test]
fn official_id_state_plans_no_changes() {
    let stored = json!({
        "b64_std": "p+9hUg==", "b64_url": "p-9hUg", "byte_length": 4, "dec": "2817483090", "hex": "a7ef6152",
        "id": "p-9hUg", "keepers": { "ami": "ami-1" }, "prefix": null
    });
    let config = json!({ "byte_length": 4, "keepers": { "ami": "ami-1" } });
    assert_unchanged("random_id", 0, &stored, config);
}

#[test]
fn byte_length_out_of_range_is_an_error() {
    let failed = random().create("random_id", json!({ "byte_length": -1 })).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("byte_length"));
}

#[test]
fn uuid_has_version_4() {
    let state = random().create("random_uuid", json!({})).unwrap();
    let uuid = state.get::<String>("result");
    assert_eq!(uuid, state.get::<String>("id"));
    assert_eq!(uuid.len(), 36);
    assert_eq!(&uuid[14..15], "4");
    assert!("89ab".contains(&uuid[19..20]));
    assert_eq!(action("random_uuid", &state, json!({})), PlannedAction::NoOp);
}

#[test]
fn uuid_is_imported_in_any_case() {
    let state = random().import("random_uuid", "AABBCCDD-EEFF-0011-2233-445566778899").unwrap();
    assert_eq!(state.get::<String>("id"), "aabbccdd-eeff-0011-2233-445566778899");
    assert_eq!(action("random_uuid", &state, json!({})), PlannedAction::NoOp);
    for invalid in
        ["", "aabbccdd", "aabbccdd-eeff-0011-2233-44556677889g", "aabbccdde-eff-0011-2233-445566778899"]
    {
        assert!(random().import("random_uuid", invalid).is_err(), "{invalid}");
    }
}
