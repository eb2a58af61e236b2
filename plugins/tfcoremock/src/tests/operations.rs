//! Operations on resources and data sources.

use wardian_sdk::testing::{PlannedAction, ProviderHarness, config, json};

use super::{COMPLEX, Project, SIMPLE};

#[test]
fn simple_resource_is_stored_as_file_until_deleted() {
    let project = Project::new();
    let provider = project.provider();
    let configured = json!({ "bool": true, "number": 1.5, "string": "a", "float": 0.25, "integer": 7 });
    let state = provider.create(SIMPLE, configured.clone()).unwrap();
    let id: String = state.get("id");
    assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4);
    assert_eq!(
        project.stored_object(&id),
        json!({
            "bool": { "boolean": true },
            "float": { "number": "0.25" },
            "id": { "string": id },
            "integer": { "number": "7" },
            "number": { "number": "1.5" },
            "string": { "string": "a" },
        })
    );
    assert_eq!(provider.read(SIMPLE, &state).unwrap().unwrap().object(), state.object());
    assert_eq!(provider.plan(SIMPLE, Some(&state), configured).unwrap().action, PlannedAction::NoOp);

    let plan = provider.plan(SIMPLE, Some(&state), json!({ "string": "b" })).unwrap();
    assert_eq!(plan.action, PlannedAction::Update);
    let state = provider.apply(&plan).unwrap().unwrap();
    assert_eq!(state.get::<String>("id"), id);
    assert_eq!(project.stored_object(&id), json!({ "id": { "string": id }, "string": { "string": "b" } }));

    provider.delete(SIMPLE, &state).unwrap();
    assert!(!project.path("resources").exists(), "the directory goes with its last file");
}

#[test]
fn changed_id_replaces_object() {
    let project = Project::new();
    let provider = project.provider();
    let state = provider.create(SIMPLE, json!({ "id": "one", "string": "a" })).unwrap();
    let plan = provider.plan(SIMPLE, Some(&state), json!({ "string": "a" })).unwrap();
    assert_eq!(plan.action, PlannedAction::NoOp);
    let plan = provider.plan(SIMPLE, Some(&state), json!({ "id": "two", "string": "a" })).unwrap();
    assert_eq!(plan.action, PlannedAction::Replace);
    assert_eq!(plan.requires_replace[0].to_string(), ".id");
    provider.apply(&plan).unwrap();
    assert!(project.path("resources/two.json").exists() && !project.path("resources/one.json").exists());
}

#[test]
fn nested_attributes_and_blocks_are_stored() {
    let project = Project::new();
    let provider = project.provider();
    let configured = json!({
        "id": "complex",
        "list": [{ "string": "zero" }, { "list": [{ "list": [{ "integer": 1 }] }] }],
        "map": { "key": { "bool": false } },
        "object": { "set": [] },
        "set": [{ "string": "b" }, { "string": "a" }],
        "list_block": [{ "integer": 0, "set_block": [{ "list_block": [{ "string": "deep" }] }] }, {}],
        "set_block": [{ "object": { "number": 1_000_000 } }],
    });
    let state = provider.create(COMPLEX, configured.clone()).unwrap();
    assert_eq!(
        project.stored_object("complex"),
        json!({
            "id": { "string": "complex" },
            "list": { "list": [
                { "object": { "string": { "string": "zero" } } },
                { "object": { "list": { "list": [{ "object": {
                    "list": { "list": [{ "object": { "integer": { "number": "1" } } }] }
                } }] } } },
            ] },
            "map": { "map": { "key": { "object": { "bool": { "boolean": false } } } } },
            "object": { "object": { "set": { "set": [] } } },
            "set": { "set": [
                { "object": { "string": { "string": "a" } } },
                { "object": { "string": { "string": "b" } } },
            ] },
            "list_block": { "list": [
                { "object": {
                    "integer": { "number": "0" },
                    "set_block": { "set": [{ "object": {
                        "list_block": { "list": [{ "object": { "string": { "string": "deep" } } }] }
                    } }] },
                } },
                { "object": {} },
            ] },
            "set_block": { "set": [
                { "object": { "object": { "object": { "number": { "number": "1e+06" } } } } },
            ] },
        })
    );
    assert_eq!(provider.read(COMPLEX, &state).unwrap().unwrap().object(), state.object());
    assert_eq!(provider.plan(COMPLEX, Some(&state), configured).unwrap().action, PlannedAction::NoOp);
    let changed = provider.update(COMPLEX, &state, json!({ "set": [{ "string": "c" }] })).unwrap();
    assert_eq!(
        project.stored_object("complex"),
        json!({
            "id": { "string": "complex" },
            "set": { "set": [{ "object": { "string": { "string": "c" } } }] },
        })
    );
    assert_eq!(provider.read(COMPLEX, &changed).unwrap().unwrap().object(), changed.object());
}

#[test]
fn external_changes_and_deletions_are_detected() {
    let project = Project::new();
    let provider = project.provider();
    let state = provider.create(SIMPLE, json!({ "id": "a", "string": "mine" })).unwrap();
    project
        .write("resources/a.json", r#"{"resource_type": "t", "values": {"string": {"string": "theirs"}}}"#);
    let read = provider.read(SIMPLE, &state).unwrap().unwrap();
    assert_eq!(read.get::<String>("string"), "theirs");
    assert_eq!(read.get::<String>("id"), "a");
    std::fs::remove_file(project.path("resources/a.json")).unwrap();
    assert!(provider.read(SIMPLE, &state).unwrap().is_none());
    let failed = provider.delete(SIMPLE, &state).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("failed to delete"), "{failed:?}");
    let failed = provider.update(SIMPLE, &state, json!({ "string": "b" })).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("failed to update"), "{failed:?}");
}

#[test]
fn object_is_imported_by_id() {
    let project = Project::new();
    project.write("resources/a.json", r#"{"values": {"id": {"string": "a"}, "integer": {"number": "3"}}}"#);
    let provider = project.provider();
    let imported = provider.import(SIMPLE, "a").unwrap();
    let read = provider.read(SIMPLE, &imported).unwrap().unwrap();
    assert_eq!((read.get::<String>("id").as_str(), read.get::<i64>("integer")), ("a", 3));
}

#[test]
fn existing_id_is_an_error_without_state() {
    let project = Project::new();
    let provider = project.provider();
    provider.create(SIMPLE, json!({ "id": "a", "string": "first" })).unwrap();
    let failed = provider.create(SIMPLE, json!({ "id": "a", "string": "second" })).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("another resource has this ID"), "{failed:?}");
    assert!(failed.state.is_none());
    assert_eq!(project.stored_object("a")["string"], json!({ "string": "first" }));
}

#[test]
fn fail_on_arguments_fail_after_the_operation() {
    let project = Project::new();
    let harmless = project.provider();
    let kept = harmless.create(SIMPLE, json!({ "id": "kept", "string": "a" })).unwrap();
    let listed = json!(["x", "kept", null]);
    let provider = project.configured(json!({
        "fail_on_create": ["new"], "fail_on_read": listed, "fail_on_update": listed, "fail_on_delete": listed,
    }));

    let failed = provider.create(SIMPLE, json!({ "id": "new" })).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("fail_on_create"), "{failed:?}");
    assert_eq!(failed.state.unwrap().get::<String>("id"), "new");
    assert!(project.path("resources/new.json").exists());

    let failed = provider.read(SIMPLE, &kept).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("fail_on_read"), "{failed:?}");

    let failed = provider.update(SIMPLE, &kept, json!({ "string": "b" })).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("fail_on_update"), "{failed:?}");
    assert_eq!(failed.state.unwrap().get::<String>("string"), "b");
    assert_eq!(project.stored_object("kept")["string"], json!({ "string": "b" }));

    let failed = provider.delete(SIMPLE, &kept).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("fail_on_delete"), "{failed:?}");
    assert!(failed.state.is_some());
    assert!(!project.path("resources/kept.json").exists());
}

#[test]
fn use_only_state_writes_no_files() {
    let project = Project::new();
    let provider = project.configured(json!({ "use_only_state": true }));
    let state = provider.create(SIMPLE, json!({ "string": "a" })).unwrap();
    let state = provider.update(SIMPLE, &state, json!({ "string": "b" })).unwrap();
    let read = provider.read(SIMPLE, &state).unwrap().unwrap();
    assert_eq!(read.get::<String>("string"), "b");
    provider.delete(SIMPLE, &read).unwrap();
    assert!(!project.path("resources").exists());
}

#[test]
fn data_sources_are_read_from_files() {
    let project = Project::new();
    project.write(
        "data/a.json",
        r#"{"values": {
            "integer": {"number": "3"}, "list": {"list": [{"object": {"bool": {"boolean": true}}}]},
            "set_block": {"set": [{"object": {"string": {"string": "in a block"}}}]}
        }}"#,
    );
    let provider = project.provider();
    let found = provider.read_data_source(COMPLEX, json!({ "id": "a" })).unwrap();
    assert_eq!(found.get::<i64>("integer").unwrap(), 3);
    assert_eq!(found.value("list").as_elements().unwrap()[0].get("bool").unwrap().as_bool(), Some(true));
    let blocks = found.value("set_block");
    assert_eq!(blocks.as_elements().unwrap()[0].get("string").unwrap().as_str(), Some("in a block"));
    assert_eq!(found.value("list_block").as_elements(), Some(&[][..]));

    let missing = provider.read_data_source(SIMPLE, json!({ "id": "b" })).unwrap_err();
    assert!(missing.diagnostics.to_string().contains("\"b.json\""), "{missing:?}");
    assert!(provider.read_data_source(SIMPLE, json!({})).is_err(), "the ID has to be given");
    assert!(provider.read_data_source(SIMPLE, json!({ "id": "a", "string": "mine" })).is_err());
}

#[test]
fn numbers_keep_all_digits_and_are_checked() {
    let project = Project::new();
    let provider = project.provider();
    let exact = serde_json::from_str::<serde_json::Value>(
        r#"{"id": "n", "number": 3.14159265358979323846264338327950288, "integer": -9223372036854775808}"#,
    )
    .unwrap();
    let state = provider.create(SIMPLE, exact).unwrap();
    assert_eq!(
        project.stored_object("n")["number"],
        json!({ "number": "3.14159265358979323846264338327950288" })
    );
    assert_eq!(project.stored_object("n")["integer"], json!({ "number": "-9.223372036854775808e+18" }));
    assert_eq!(provider.read(SIMPLE, &state).unwrap().unwrap().object(), state.object());

    let refused = |config: &str| {
        let config = serde_json::from_str::<serde_json::Value>(config).unwrap();
        provider.validate(SIMPLE, config).has_errors()
    };
    assert!(refused(r#"{"integer": 1.5}"#) && refused(r#"{"integer": 9223372036854775808}"#));
    assert!(refused(r#"{"float": 1e400}"#) && refused(r#"{"float": 1e-400}"#));
    assert!(!refused(r#"{"float": 0.1, "integer": 0, "number": 1e400}"#));
}

#[test]
fn operation_fails_only_if_it_needs_unknown_configuration() {
    let project = Project::new();
    let unknown = |name: &str, rest| {
        let provider = ProviderHarness::new(crate::provider_in(project.0.path()));
        provider.configure(config(rest).unknown(name)).unwrap();
        provider
    };
    let state = project.configured(json!({ "use_only_state": true })).create(SIMPLE, json!({})).unwrap();
    for name in ["resource_directory", "use_only_state"] {
        let provider = unknown(name, json!({}));
        assert!(provider.plan(SIMPLE, Some(&state), json!({ "string": "a" })).is_ok());
        let failed = provider.read(SIMPLE, &state).unwrap_err();
        assert!(failed.diagnostics.to_string().contains("not known yet"), "{failed:?}");
    }
    assert!(unknown("resource_directory", json!({ "use_only_state": true })).read(SIMPLE, &state).is_ok());
    let failed =
        unknown("data_directory", json!({})).read_data_source(SIMPLE, json!({ "id": "a" })).unwrap_err();
    assert!(failed.diagnostics.to_string().contains("not known yet"), "{failed:?}");
    assert!(unknown("fail_on_read", json!({ "use_only_state": true })).read(SIMPLE, &state).is_ok());
}
