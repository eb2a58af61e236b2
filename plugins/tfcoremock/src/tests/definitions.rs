//! Types that a project defines, with valid and invalid definitions.

use serde_json::Value as Json;
use wardian_sdk::Object;
use wardian_sdk::testing::{PlannedAction, json};

use super::Project;

const MADE: &str = "tfcoremock_made";

fn defining(attributes: &Json, blocks: &Json) -> Project {
    Project::defining(&json!({ MADE: { "attributes": attributes, "blocks": blocks } }))
}

#[test]
fn predefined_types_are_valid() {
    wardian_sdk::assert_valid_provider(crate::provider_in(Project::new().0.path()));
}

#[test]
fn valid_definition_produces_valid_type() {
    let project = defining(
        &json!({
            "everything": { "type": "object", "optional": true, "sensitive": true, "object": {
                "boolean": { "type": "boolean", "required": true },
                "numbers": { "type": "list", "optional": true, "list": { "type": "number" } },
                "maps": { "type": "map", "optional": true, "map": { "type": "object", "object": {
                    "float": { "type": "float", "optional": true, "replace": true },
                } } },
            } },
        }),
        &json!({ "one": { "attributes": { "a": { "type": "string", "required": true } } },
                 "two": { "mode": "set", "blocks": { "three": { "mode": "list" } } } }),
    );
    wardian_sdk::assert_valid_provider(crate::provider_in(project.0.path()));
}

#[test]
fn defined_type_is_resource_and_data_source() {
    let project = defining(&json!({ "my_value": { "type": "integer", "required": true } }), &json!({}));
    let provider = project.provider();
    assert!(provider.validate(MADE, json!({})).has_errors());
    provider.create(MADE, json!({ "id": "a", "my_value": 1 })).unwrap();
    assert_eq!(project.stored_object("a"), json!({ "id": { "string": "a" }, "my_value": { "number": "1" } }));
    project.write("data/b.json", r#"{"values": {"my_value": {"number": "2"}}}"#);
    assert_eq!(
        provider.read_data_source(MADE, json!({ "id": "b" })).unwrap().get::<i64>("my_value").unwrap(),
        2
    );
}

#[test]
fn computed_attributes_get_their_value_or_null() {
    let project = defining(
        &json!({
            "none": { "type": "string", "computed": true },
            "some": { "type": "string", "computed": true, "optional": true, "value": { "string": "made" } },
            "object": { "type": "object", "computed": true, "value": { "object": {} }, "object": {
                "inner": { "type": "number", "computed": true, "value": { "number": "5" } },
                "given": { "type": "string", "optional": true },
            } },
            "set": { "type": "set", "optional": true, "set": { "type": "object", "object": {
                "key": { "type": "string", "required": true },
                "found": { "type": "string", "computed": true, "value": { "string": "in a set" } },
            } } },
        }),
        &json!({ "block": { "attributes": {
            "id": { "type": "string", "computed": true, "value": { "string": "in a block" } },
        } } }),
    );
    let provider = project.provider();
    let config = json!({ "id": "a", "set": [{ "key": "x" }], "block": [{}] });
    let plan = provider.plan(MADE, None, config.clone()).unwrap();
    let planned = plan.object.as_ref().unwrap();
    assert!(["none", "some", "object"].iter().all(|name| planned.is_unknown(name)));
    let state = provider.apply(&plan).unwrap().unwrap();
    assert_eq!(
        project.stored_object("a"),
        json!({
            "id": { "string": "a" },
            "some": { "string": "made" },
            "object": { "object": { "inner": { "number": "5" } } },
            "set": { "set": [{ "object": {
                "key": { "string": "x" }, "found": { "string": "in a set" } } }] },
            "block": { "list": [{ "object": { "id": { "string": "in a block" } } }] },
        })
    );
    assert_eq!(provider.plan(MADE, Some(&state), config).unwrap().action, PlannedAction::NoOp);
    let given = provider.update(MADE, &state, json!({ "some": "mine" })).unwrap();
    assert_eq!(given.get::<String>("some"), "mine");
    let kept = |object: &Object| object.value("object").get("inner").unwrap().as_number().unwrap().as_i64();
    assert_eq!(kept(given.object()), Some(5));
}

#[test]
fn change_to_replace_attribute_replaces_object() {
    let project = defining(
        &json!({
            "whole": { "type": "string", "optional": true, "replace": true },
            "list": { "type": "list", "optional": true, "list": { "type": "object", "object": {
                "key": { "type": "string", "optional": true, "replace": true },
                "value": { "type": "string", "optional": true },
            } } },
        }),
        &json!({ "block": { "attributes": { "in": { "type": "string", "optional": true, "replace": true } } } }),
    );
    let provider = project.provider();
    let config = json!({
        "whole": "a", "list": [{ "key": "one", "value": "first" }], "block": [{ "in": "x" }] });
    let state = provider.create(MADE, config).unwrap();
    let plan = |config: Json| {
        let plan = provider.plan(MADE, Some(&state), config).unwrap();
        (plan.action, plan.requires_replace.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let list = json!([{ "key": "one", "value": "second" }]);
    let block = json!([{ "in": "x" }]);
    assert_eq!(plan(json!({ "whole": "a", "list": list, "block": block })), (PlannedAction::Update, vec![]));
    assert_eq!(
        plan(json!({ "whole": "b", "list": [{ "key": "two" }], "block": [{ "in": "y" }] })),
        (PlannedAction::Replace, vec![".block[0].in".into(), ".list[0].key".into(), ".whole".into()])
    );
}

#[test]
fn skip_nested_metadata_produces_plain_type() {
    let object =
        json!({ "type": "object", "object": { "a": { "type": "string" }, "b": { "type": "number" } } });
    let project = defining(
        &json!({ "plain": { "type": "list", "optional": true, "list": object, "skip_nested_metadata": true } }),
        &json!({}),
    );
    let provider = project.provider();
    let state = provider.create(MADE, json!({ "id": "a", "plain": [{ "a": "x", "b": null }] })).unwrap();
    assert_eq!(
        project.stored_object("a")["plain"],
        json!({ "list": [{ "object": { "a": { "string": "x" } } }] })
    );
    assert_eq!(provider.read(MADE, &state).unwrap().unwrap().object(), state.object());
}

/// Returns the problems in a definition file.
#[track_caller]
fn problems(content: &str) -> Vec<String> {
    let project = Project::new();
    project.write(crate::DEFINITION_FILE, content);
    let problems = wardian_sdk::definition_errors(crate::provider_in(project.0.path()));
    assert!(!problems.is_empty(), "{content} passes");
    problems
}

#[track_caller]
fn check(definitions: &Json, expected: &str) {
    let found = problems(&definitions.to_string());
    let expected = format!("provider: Invalid type definitions: In dynamic_resources.json: {expected}.");
    assert!(found.contains(&expected), "{found:#?}");
}

#[test]
fn definition_errors_have_locations() {
    let attribute = |attribute: Json| json!({ "t_x": { "attributes": { "a": attribute } } });
    check(
        &attribute(json!({ "type": "text", "optional": true })),
        "t_x.a: unknown type \"text\": use boolean, float, integer, number, string, list, map, object \
         or set",
    );
    check(&attribute(json!({ "optional": true })), "t_x.a: the type is missing");
    check(
        &attribute(json!({ "type": "string" })),
        "t_x.a: one of \"required\", \"optional\" and \"computed\" must be true",
    );
    check(
        &attribute(json!({ "type": "string", "required": true, "computed": true })),
        "t_x.a: \"required\" excludes \"optional\" and \"computed\"",
    );
    check(
        &attribute(json!({ "type": "list", "optional": true })),
        "t_x.a: the element type is missing in \"list\"",
    );
    check(
        &attribute(
            json!({ "type": "set", "optional": true, "set": { "type": "map", "map": { "type": "x" } } }),
        ),
        "t_x.a.set.map: unknown type \"x\": use boolean, float, integer, number, string, list, map, \
         object or set",
    );
    check(
        &attribute(json!({ "type": "object", "optional": true })),
        "t_x.a: an object must have attributes, in \"object\"",
    );
    check(
        &attribute(json!({ "type": "string", "optional": true, "value": { "string": "x" } })),
        "t_x.a: only a computed attribute can have a value",
    );
    check(
        &attribute(json!({ "type": "list", "computed": true, "list": { "type": "string" },
                           "value": { "list": [{ "string": "x" }, { "boolean": true }] } })),
        "t_x.a: the value does not match the type: [1]: string is required, not a boolean",
    );
    check(
        &attribute(json!({ "type": "number", "computed": true, "value": { "number": "many" } })),
        "t_x.a: the value does not match the type: value: \"many\": a number is required",
    );
    check(
        &json!({ "t_x": { "attributes": { "id": { "type": "string", "optional": true } } } }),
        "t_x: \"id\" cannot be defined: every type has it",
    );
    check(&json!({ "t_x": { "blocks": { "count": {} } } }), "t_x: Terraform reserves the name \"count\"");
    check(
        &json!({ "t_x": { "attributes": { "a": { "type": "string", "optional": true } }, "blocks": { "a": {} } } }),
        "t_x.a: an attribute and a block cannot have the same name",
    );
    check(
        &json!({ "t_x": { "blocks": { "a": { "blocks": { "b": { "mode": "map" } } } } } }),
        "t_x.a.b: the mode must be \"list\" or \"set\", not \"map\"",
    );
    check(
        &json!({ "t_x": { "attributes": { "A-b": { "type": "string", "optional": true } } } }),
        "t_x.A-b: a name must consist of lower-case letters, digits and underscores",
    );
    check(
        &json!({ "tfcoremock_simple_resource": {} }),
        "tfcoremock_simple_resource: the provider already has this type",
    );
}

#[test]
fn malformed_definition_file_is_an_error() {
    for content in ["", "{", "[]", "{\"t_x\": 1}", "{\"t_x\": {\"atributes\": {}}}", "\u{0}", "nul"] {
        let problems = problems(content);
        assert!(problems[0].starts_with("provider: Invalid type definitions: In dynamic_resources.json:"));
    }
    let project = Project::new();
    std::fs::create_dir(project.path(crate::DEFINITION_FILE)).unwrap();
    let problems = wardian_sdk::definition_errors(crate::provider_in(project.0.path()));
    assert!(problems[0].contains("failed to read"), "{problems:?}");
}

#[test]
fn definitions_have_a_maximum_depth() {
    let mut attribute = json!({ "type": "string", "optional": true });
    for _ in 0..40 {
        attribute = json!({ "type": "object", "optional": true, "object": { "a": attribute } });
    }
    let definitions = json!({ "t_x": { "attributes": { "a": attribute } } });
    let found = problems(&definitions.to_string());
    assert!(found[0].contains("too many levels"), "{found:?}");
    let endless = "{\"t_x\":{\"attributes\":".to_owned() + &"{\"a\":{\"object\":".repeat(100_000);
    assert!(problems(&endless)[0].contains("recursion limit"));
}
