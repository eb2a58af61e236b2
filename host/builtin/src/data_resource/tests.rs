#![allow(clippy::unwrap_used, reason = "a failed assumption of a test fails the test")]

use wardian_plugin::ClientCapabilities;

use super::*;

fn move_of(type_name: &str, address: &str, text: &str) -> MoveResponse {
    move_state(&MoveRequest {
        source_provider_address: address.to_owned(),
        source_type_name: type_name.into(),
        source_schema_version: 0,
        source_state: RawState::Json(text.into()),
        target_type_name: TYPE_NAME.into(),
        source_private: PrivateBytes::default(),
        source_identity: None,
    })
}

const NULL: &str = "registry.terraform.io/hashicorp/null";

#[test]
fn null_resource_triggers_become_an_object() {
    let moved = move_of("null_resource", NULL, r#"{"id":"5","triggers":{"a":"1"}}"#);
    let expected = schema()
        .block
        .empty_value()
        .with_attribute("id", Value::string("5"))
        .with_attribute("triggers_replace", Value::object([("a", Value::string("1"))]));
    assert_eq!(moved.target_state, Some(expected));
    let moved = move_of("null_resource", NULL, r#"{"id":"5","triggers":null}"#).target_state.unwrap();
    assert!(moved.get("triggers_replace").is_some_and(Value::is_null));
}

#[test]
fn move_rejects_other_resource_types() {
    for (type_name, address) in [("null_thing", NULL), ("null_resource", "registry.terraform.io/other/thing")]
    {
        let moved = move_of(type_name, address, r#"{"id":"5"}"#);
        assert!(moved.target_state.is_none() && moved.diagnostics.len() == 1, "{type_name} {address}");
    }
    assert!(move_of("null_resource", NULL, "[").target_state.is_none());
}

#[test]
fn import_sets_only_the_id() {
    let imported = import(ImportRequest {
        type_name: TYPE_NAME.into(),
        target: ImportTarget::Id("x".into()),
        capabilities: ClientCapabilities::default(),
    });
    let expected = schema().block.empty_value().with_attribute("id", Value::string("x"));
    assert_eq!(imported.imported.first().map(|found| &found.state), Some(&expected));
}

#[test]
fn invalid_stored_object_is_an_error() {
    for raw in [RawState::Json("{\"id\":[]}".into()), RawState::Flatmap(Arc::default())] {
        let request = UpgradeStateRequest { type_name: TYPE_NAME.into(), version: 0, raw };
        let upgraded = upgrade(&request);
        assert!(upgraded.upgraded.is_none() && upgraded.diagnostics.len() == 1);
    }
}
